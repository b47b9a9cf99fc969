"""The verbs of a memory: each makes a request of its arguments and hands it to the engine."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, cast, overload

from memorist.engine.base import Engine
from memorist.operations import requests
from memorist.operations.answers import Context, Derived, Provenance, Receipt, ReplacementPage
from memorist.operations.arguments import UNSET, Unset, draft_of
from memorist.operations.calls import Call
from memorist.operations.lines import Lines, LoadReport, header, line_of, load_records
from memorist.operations.requests import Id, IfExists, Mode, Narrowing, Request
from memorist.records.origins import AuthorLike, Door, TrustRules
from memorist.records.record import Change, Draft, Fields, Hit, Kind, Order, Page, Record
from memorist.records.scope import Scope
from memorist.records.times import Clock, TimeLike
from memorist.records.zones import ZoneLike, zone_of
from memorist.secrets import Policy
from memorist.system.aside import aside

if TYPE_CHECKING:
    from memorist.context import CountTokens

T = TypeVar("T")
R = TypeVar("R", bound=Request[Any])
_PAGE = 1000
_LINES = 100
"""Records of an export that become lines at once."""


async def pages(
    ask: Callable[[requests.Browse], Awaitable[Page]], asked: requests.Browse
) -> AsyncIterator[list[Record]]:
    """Yield the records that a request finds, page by page, to the last one."""
    request: requests.Browse | None = asked
    while request is not None:
        found = await ask(request)
        yield found.records
        request = None if found.next is None else replace(request, cursor=found.next)


def made(kind: type[R], given: Mapping[str, Any]) -> R:
    """Return the request that a verb's arguments make: its `locals()`, with those of ``**narrowing`` among them."""
    named = {name: value for name, value in given.items() if name not in ("self", "narrowing")}
    return kind.of({**named, **given.get("narrowing", {})})


class Verbs:
    """What one can ask of a memory in one scope; `memorist.Memory` is this and how it is opened.

    Args:
        engine: what answers.
        call: who asks: in which scope, and through which door.
    """

    def __init__(self, engine: Engine, call: Call) -> None:
        self._engine = engine
        self._call = call

    async def ask(self, request: Request[T]) -> T:
        """Return what the engine answers to a request in this scope; every verb is one call of this."""
        return await self._engine.answer(self._call, request)

    async def prepare(self, request: Request[Any]) -> None:
        """Let the engine embed the texts of a request that will come soon. Nothing is stored."""
        await self._engine.prepare(self._call, request)

    # --- scope -------------------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """What this memory sees and where it writes."""
        return self._call.scope

    @property
    def clock(self) -> Clock:
        """Returns the present, in UTC. See `Settings.clock`."""
        return self._engine.clock

    @property
    def zone(self) -> tzinfo:
        """Whose days are asked for and told, and that of times which name none. See `scoped`."""
        return self._engine.zone if self._call.zone is None else self._call.zone

    @property
    def trust(self) -> TrustRules:
        """How far each author is trusted: `Settings.trust`; at a server, the server's rules."""
        return self._engine.trust

    @property
    def secrets(self) -> Policy | None:
        """What is done with secrets in texts, if the settings say: `Settings.secrets`; None at a server."""
        return self._engine.secrets

    @property
    def door(self) -> Door:
        """Where calls of this memory come in."""
        return self._call.door

    def scoped(
        self,
        *,
        user: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        zone: ZoneLike | None = None,
    ) -> Self:
        """Return the same memory seen from a narrower scope. Costs nothing.

        Args:
            user: the second wall.
            tenant: the first wall.
            agent: a label.
            session: a label.
            zone: the user's zone, such as Europe/Lisbon: whose days are asked for and told, and that of times which
                name none. By default that of this memory.

        Raises:
            ScopeError: another user or tenant than the one already set: a scoped memory cannot climb out.
            InvalidInputError: there is no such zone.
        """
        call = self._call.at(self.scope.narrowed(tenant=tenant, user=user, agent=agent, session=session))
        return type(self)(self._engine, call if zone is None else replace(call, zone=zone_of(zone)))

    def unlabelled(self) -> Self:
        """Return the same memory without the labels `agent` and `session`; the walls stay."""
        return self._at(Scope(self.scope.tenant, self.scope.user))

    def _at(self, scope: Scope) -> Self:
        return type(self)(self._engine, self._call.at(scope))

    # --- writing -----------------------------------------------------------------------------------

    @overload
    async def remember(  # type: ignore[overload-overlap]  # a text is one text, not an iterable of letters
        self,
        content: str | Draft | Mapping[str, Any],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[Id] | Id = ...,
        proposed: bool = ...,
        **fields: Unpack[Fields],
    ) -> Record: ...

    @overload
    async def remember(
        self,
        content: Iterable[str | Draft | Mapping[str, Any]],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[Id] | Id = ...,
        proposed: bool = ...,
        **fields: Unpack[Fields],
    ) -> list[Record]: ...

    async def remember(
        self,
        content: str | Draft | Mapping[str, Any] | Iterable[str | Draft | Mapping[str, Any]],
        *,
        if_exists: IfExists = "error",
        forgetting: Iterable[Id] | Id = (),
        proposed: bool = False,
        **fields: Unpack[Fields],
    ) -> Record | list[Record]:
        """Store one record, or many at once: all of them or none. On disk when it returns.

        Args:
            content: a text, a `Draft`, a mapping of the fields of one, or several of these.
            if_exists: what to do where the id, or the key in this kind, is taken: raise ("error"), put the
                new record in the old one's place, keeping its id and history ("replace"), or leave the
                old one and return it ("ignore").
            forgetting: ids of records to forget in the same step, before; unknown ids are ignored.
            proposed: an agent asks for it: where the memory was opened with `confirm`, it waits for the user's yes.
            **fields: the fields of `Draft`, for texts given as such: kind, id, cue, key, metadata, payload,
                source, verified, rating, happened_at, expires_at, supersedes, author, derived_from, agent, session,
                vector.

        Returns:
            The record stored, or a list of them in the order given.

        Raises:
            InvalidInputError: a field is wrong.
            ConflictError: an id or key is taken and `if_exists` is "error", or the id is that of a record of
                another agent or session than this memory's.
            NotFoundError: the record to be superseded, or one that another is derived from, does not exist.
            ScopeError: an author is named that may not be named through this door.
            WaitingError: it waits for the user's yes; see `Admin.inbox`.
            EmbedderError: the text could not be embedded; nothing is stored.
        """
        single = isinstance(content, str | Draft | Mapping)
        drafts: Any = content
        if fields and (single or isinstance(content, Iterable)):
            drafts = [draft_of(each, fields) for each in ([content] if single else cast(Iterable[Any], content))]
        stored = await self.ask(
            requests.Remember(records=drafts, if_exists=if_exists, forgetting=cast(Any, forgetting), proposed=proposed)
        )
        return stored[0] if single else stored

    async def revise(
        self,
        id: Id,
        *,
        content: str | Unset = UNSET,
        cue: str | Unset | None = UNSET,
        metadata: Mapping[str, Any] | Unset | None = UNSET,
        payload: Mapping[str, Any] | Unset | None = UNSET,
        verified: bool | Unset = UNSET,
        happened_at: TimeLike | Unset | None = UNSET,
        expires_at: TimeLike | Unset | None = UNSET,
        source: str | Unset | None = UNSET,
        author: AuthorLike | None = None,
        proposed: bool = False,
    ) -> Record:
        """Change the fields given; the record as it was stays in its history.

        A field that is left out stays as it is; None clears it, where a record can be without it. `metadata` and
        `payload` replace the old ones whole. Concurrent revisions all take effect.

        Args:
            id: the record's id, or the record.
            content: the text to keep.
            cue: the text that recall matches instead of the content.
            metadata: the caller's own fields, JSON.
            payload: the kind's own fields, JSON.
            verified: whether someone has checked it.
            happened_at: when it happened.
            expires_at: when it stops being remembered: a point in time, or seconds from now.
            source: who or what says so, kept in the history.
            author: who has a hand in the new text, by name. The old authors stay, so no record gains trust by it.
            proposed: as in `remember`.

        Raises:
            NotFoundError: there is no such record in this scope.
            InvalidInputError: a field is wrong, or none is given.
            ScopeError: the author may not be named through this door.
            WaitingError: as in `remember`.
        """
        return await self.ask(made(requests.Revise, locals()))

    async def rate(self, id: Id, rating: float | None, *, source: str | None = None) -> Record:
        """Give a record feedback from -1 (bad) to 1 (good), or take it back (None).

        Among records of like similarity the well-rated rank first; similarity itself never changes.

        Raises:
            NotFoundError: there is no such record in this scope.
            InvalidInputError: the rating is out of range.
        """
        return await self.ask(made(requests.Rate, locals()))

    async def forget(
        self,
        *ids: Id,
        source: str | None = None,
        derived: bool = False,
        proposed: bool = False,
        **narrowing: Unpack[Narrowing],
    ) -> int:
        """Delete the records named, or all that pass the filter, superseded ones included.

        Their texts leave the history too; that they were forgotten, when and by whom, stays. What waits in the inbox to
        be remembered is deleted where it passes.

        Args:
            *ids: ids of records, or the records. Unknown ids are ignored.
            source: who or what says so, kept in the history.
            derived: also forget what was drawn from these records alone. What rests on other records, too, stays, and
                its `origin.lost` counts what it lost. `Memory.derived` says before what this would touch.
            proposed: as in `remember`.
            **narrowing: which records; see `Narrowing`.

        Returns:
            How many records are gone.

        Raises:
            WaitingError: as in `remember`.
            InvalidInputError: neither ids nor a filter is given; `purge` deletes a whole scope.
        """
        return await self.ask(made(requests.Forget, locals()))

    async def purge(self, *, user: str | None = None, shared: bool = False, dry_run: bool = False) -> Receipt:
        """Delete everything of a user, history, name and tokens included, and leave no byte of it in the store.

        Args:
            user: whose; by default the scope's own user.
            shared: delete the tenant's shared records instead, which belong to no user.
            dry_run: delete nothing, and return what would be deleted and searched, and which copies hold it now.

        Returns:
            A receipt: how many records are gone, where the user's texts were searched for afterwards, and which copies
            may still hold them; signed with the installation's key if the extra ``signed`` is installed.

        Raises:
            InvalidInputError: neither a user nor `shared` is given, or both are.
            ScopeError: another user than the scope's, or the scope has a label.
            StoreBusyError: the records are gone, but another process kept old pages in use; call again.
            SignatureError: the installation's key cannot be read or made; nothing is gone.
        """
        return await self.ask(made(requests.Purge, locals()))

    async def restore(self, records: Iterable[Record]) -> LoadReport:
        """Store whole records as they are, each under its own user; records whose id is there are left alone.

        Returns:
            How many were added and were there before, and those that could not be stored, numbered from 1.

        Raises:
            ScopeError: a record of another user than this scope's.
        """
        return await self.ask(made(requests.Restore, locals()))

    # --- reading -----------------------------------------------------------------------------------

    async def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        as_of: TimeLike | None = None,
        now: TimeLike | None = None,
        shared: bool = False,
        min_score: float = 0.0,
        min_similarity: float = 0.0,
        mode: Mode = "hybrid",
        explain: bool = False,
        vector: Any = None,
        **narrowing: Unpack[Narrowing],
    ) -> list[Hit]:
        """Find the records that matter to a query, by meaning and by words.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most; 0 gives none.
            as_of: answer as of this time, with what was known and not yet superseded then.
            now: the time the question is asked at, for "last week" and the like; by default the present.
            shared: also look into the tenant's shared records.
            min_score: only hits with at least this score.
            min_similarity: only hits with at least this similarity.
            mode: "hybrid", "dense" (by vectors alone, in the order of similarity) or "lexical" (by words).
            explain: fill in each hit's `signals`.
            vector: the query's embedding, where the caller has it.
            **narrowing: which records; see `Narrowing`. Without `kind` all but topics and guidelines, which
                have exact keys.

        Returns:
            Hits, best first.

        Raises:
            InvalidInputError: an argument is wrong.
            EmbedderError: the query could not be embedded.
        """
        return await self.ask(made(requests.Recall, locals()))

    async def context(
        self,
        query: str,
        *,
        tokens: int = 600,
        count_tokens: "CountTokens | None" = None,
        min_confidence: float | None = None,
        standing: bool = True,
        topics: Iterable[str] = (),
        pinned: Iterable[Id] = (),
        known: Iterable[Id] = (),
        as_of: TimeLike | None = None,
        now: TimeLike | None = None,
        shared: bool = False,
        **narrowing: Unpack[Narrowing],
    ) -> Context:
        """Return what to put into an agent's prompt for a question, within a budget of tokens.

        Args:
            query: a question or any text. For a blank one, only what always holds is told.
            tokens: the most the text may take, at least 32.
            count_tokens: counts the tokens of a text; by default four characters are one, rounded up.
            min_confidence: below it, only what always holds is told; 0 tells whatever is found. By default
                `memorist.context.MIN_CONFIDENCE`.
            standing: whether standing instructions and preferences are told, whatever is asked.
            topics: names of topics to tell in any case; ``user.*`` stands for all that begin with ``user.``.
            pinned: ids of records to tell in any case.
            known: what the prompt holds already, as ids of records or as whole texts. A record with such an id, or
                with such a text whatever its case and white space, is not told, unless by `topics` or `pinned`.
            as_of: answer as of this time, as in `recall`.
            now: the time the question is asked at; by default the present.
            shared: also the tenant's shared records.
            **narrowing: which records are recalled; see `Narrowing`.

        Returns:
            The text, "" where there is nothing to tell, how likely the memory holds the answer, and the records shown.

        Raises:
            InvalidInputError: an argument is wrong.
            EmbedderError: the query could not be embedded.
        """
        return await self.ask(made(requests.Context, locals()))

    async def recent(self, limit: int = 10, *, shared: bool = False, **narrowing: Unpack[Narrowing]) -> list[Record]:
        """Return the newest records by when they happened (or were stored), newest first.

        Args:
            limit: how many at most.
            shared: also the tenant's shared records.
            **narrowing: which records; see `Narrowing`.
        """
        return await self.ask(made(requests.Recent, locals()))

    async def lookup(self, key: str, *, kind: Kind | str = Kind.TOPIC, shared: bool = False) -> Record | None:
        """Return the current record with exactly this key, or None. Never guesses.

        With `shared`, the user's own record goes before the tenant's shared one.
        """
        return await self.ask(made(requests.Lookup, locals()))

    async def get(self, id: Id) -> Record | None:
        """Return the record with this id in this scope, superseded or not, or None."""
        return await self.ask(made(requests.Get, locals()))

    async def find(self, ids: Iterable[Id] | Id, *, everyone: bool = False) -> list[Record]:
        """Return the records with these ids, superseded or not. Unknown ids are ignored.

        Args:
            ids: ids of records. One id may be that of several users' records.
            everyone: of all users of the tenant; only where the scope has no user.

        Raises:
            ScopeError: `everyone` behind a user's wall.
        """
        return await self.ask(made(requests.Find, locals()))

    async def browse(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        order: Order = "newest",
        limit: int = 50,
        cursor: str | None = None,
        shared: bool = False,
        everyone: bool = False,
        **narrowing: Unpack[Narrowing],
    ) -> Page:
        """Return one page of the records that pass the filter; `iterate` goes on from page to page.

        Args:
            as_of: the records that were current at this time.
            superseded: also those whose place another took.
            order: "newest" or "oldest" (by when they happened or were stored), or "key" (only records
                that have one).
            limit: how many on a page, at least 1.
            cursor: the `next` of the page before.
            shared: also the tenant's shared records.
            everyone: all users of the tenant; only where the scope has no user.
            **narrowing: which records; see `Narrowing`.

        Raises:
            InvalidInputError: an argument is wrong, or the cursor is of another order.
            ScopeError: `everyone` behind a user's wall.
        """
        return await self.ask(made(requests.Browse, locals()))

    async def iterate(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        order: Order = "oldest",
        shared: bool = False,
        everyone: bool = False,
        page: int = _PAGE,
        **narrowing: Unpack[Narrowing],
    ) -> AsyncIterator[Record]:
        """Yield every record that passes the filter, in order, read page by page.

        Args:
            as_of: the records that were current at this time.
            superseded: also those whose place another took.
            order: as in `browse`.
            shared: also the tenant's shared records.
            everyone: all users of the tenant; only where the scope has no user.
            page: how many are read at a time.
            **narrowing: which records; see `Narrowing`.
        """
        given = locals() | {"limit": page}
        del given["page"]
        async for records in pages(self.ask, made(requests.Browse, given)):
            for record in records:
                yield record

    async def count(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        shared: bool = False,
        everyone: bool = False,
        **narrowing: Unpack[Narrowing],
    ) -> int:
        """Return how many records pass the filter; the arguments are those of `browse`."""
        return await self.ask(made(requests.Count, locals()))

    async def vectors(self, ids: Iterable[Id] | Id) -> dict[str, Any]:
        """Return the stored embeddings of records by id: unit vectors, float32, of the embedder's dimensions.

        Ids that do not exist here, and records that have no embedding, are left out.
        """
        return await self.ask(made(requests.Vectors, locals()))

    async def history(self, id: Id) -> list[Change]:
        """Return every change of a record: what, when, by which source; oldest first.

        A forgotten record's texts are gone, its changes are not. [] for one that never was.
        """
        return await self.ask(made(requests.History, locals()))

    async def changes(
        self, *, min_score: float = 0.5, limit: int = 20, cursor: str | None = None, **narrowing: Unpack[Narrowing]
    ) -> ReplacementPage:
        """Return what changed, newest first: which records tell another state of the same than earlier ones.

        That is certain where a program said so with `supersedes`, and else found by what the texts say, and scored;
        what was found is stored nowhere, and nothing is deleted by it. A record stands in one change at most, with the
        latest state before it. Changes of one record, as of a topic's value, are in its `history`.

        Args:
            min_score: only changes at least so likely.
            limit: how many on a page. The page has fewer, and a `next`, where many records tell no more.
            cursor: the `next` of the page before.
            **narrowing: which later records; see `Narrowing`. `since` and `until` say when it changed.

        Raises:
            InvalidInputError: an argument is wrong, or the scope has more records than are held in memory.
        """
        return await self.ask(made(requests.Changes, locals()))

    async def why(self, id: Id) -> Provenance:
        """Return where a record comes from: itself, what it was derived from, and so on to the first message.

        It is empty where there is no such record.
        """
        return await self.ask(made(requests.Why, locals()))

    async def derived(self, *ids: Id, **narrowing: Unpack[Narrowing]) -> Derived:
        """Return what was derived from the records named, or from all that pass the filter.

        This is what `forget` with `derived=True` would forget with them, and what it would mark.

        Args:
            *ids: ids of records, or the records. Unknown ids are ignored.
            **narrowing: which records; see `Narrowing`.

        Raises:
            InvalidInputError: neither ids nor a filter is given.
        """
        return await self.ask(made(requests.Derived, locals()))

    # --- export and load -----------------------------------------------------------------------------------

    async def export(self, *, everyone: bool = False) -> AsyncIterator[str]:
        """Yield every record of the scope, superseded ones too, as lines of JSON; the first names the format.

        `load` of the lines gives the same records. `everyone` exports all users of the tenant.
        """
        yield header()
        asked = requests.Browse.of(
            {"kind": tuple(Kind), "superseded": True, "everyone": everyone, "order": "oldest", "limit": _LINES}
        )
        async for records in pages(self.ask, asked):
            for line in await aside(partial(list[str], map(line_of, records)), records):
                yield line

    async def load(self, lines: Lines) -> LoadReport:
        """Store what `export` wrote, each record under its own user; records already there are left alone.

        Returns:
            How many were added and were there before, and the lines that could not be read, by number.

        Raises:
            FormatError: the first line is not that of an export, or of a newer version.
            ScopeError: a record of another user than this scope's.
        """
        return await load_records(lines, self.restore)
