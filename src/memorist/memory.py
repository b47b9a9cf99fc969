"""Memory: the verbs. The only door to what is below."""

from collections.abc import AsyncIterator, Callable, Generator, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from memorist import pages, writing
from memorist.config import Settings
from memorist.embedders import EmbedderSpec
from memorist.engine import Engine
from memorist.errors import InvalidInputError, ScopeError
from memorist.filters import Filter, make_filter
from memorist.recall import Mode, Query
from memorist.records import Action, Change, Draft, Fields, Hit, Kind, Page, Record, parse_kind
from memorist.scope import DEFAULT_TENANT, Scope
from memorist.stores.base import Order, Remove
from memorist.times import TimeLike, now, parse_time
from memorist.writing import IfExists, draft_of

if TYPE_CHECKING:
    from memorist import transfer
    from memorist.context import Context, CountTokens
    from memorist.kinds import Conversation, Episodes, Experiences, Facts, Notes, Tools, Topics

__all__ = ["IfExists", "Memory"]

Kinds = Kind | str | Iterable[Kind | str]
Where = Mapping[str, Any]
_View = TypeVar("_View")

MAX_LIMIT = 10_000
_SWEEP_EVERY = timedelta(minutes=1)


class Memory:
    """Long-term memory, seen from one scope.

    ```python
    async with Memory.open("agent.db") as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("Prefers homestays when she travels")
        for hit in await alice.recall("where does she like to stay?", limit=5):
            print(f"{hit.score:.2f}  {hit.record.content}")
    ```

    Every verb sees exactly one tenant's one user: without a user the tenant's shared records, never
    everyone's. The labels `agent` and `session` narrow further where the scope has them. A verb may be
    called from any thread and event loop. All raise `ClosedError` when the memory is not open and
    `StoreError` when the store fails; a verb that raises has changed nothing.
    """

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine = engine
        self._scope = scope
        self._views: dict[type, Any] = {}

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        embedder: EmbedderSpec = None,
        settings: Settings | None = None,
    ) -> "Memory":
        """Return a memory; ``async with`` or ``await`` opens it. The blocking twin's is open already.

        Args:
            url: a file, ``sqlite:PATH``, ``:memory:``, or another store's URL; by default what
                MEMORIST_DB says, else ``memorist.db`` in the user's data folder.
            tenant: the first wall.
            user: the second wall; none means the tenant's shared records.
            agent: a label.
            session: a label.
            embedder: see `memorist.embedders.open_embedder`; by default the bundled model.
            settings: everything else; by default read from the environment.

        Raises (on entering):
            StoreUnavailableError, StoreCorruptError, SchemaError: the store cannot be used.
            EmbedderMismatchError: it holds vectors of another embedder.
        """
        settings = (settings or Settings.load()).with_given(url=url, embedder=embedder)
        return cls(Engine(settings), Scope(tenant, user, agent, session))

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        token: str | None = None,
        tenant: str = DEFAULT_TENANT,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        timeout: float = 60.0,
    ) -> "Memory":
        """Return a memory at a server of ``memorist serve``; everything else is as after `open`.

        Args:
            url: the server's, as ``http://127.0.0.1:8765``.
            token: what lets one in; a server on this machine may need none.
            tenant: for an operator's token: which. Any other token says itself.
            user: the second wall, where the token is not bound to a user.
            agent: a label.
            session: a label.
            timeout: seconds to wait for an answer.

        Raises (on entering):
            StoreUnavailableError: there is no server there.
            ScopeError: the token does not hold, or is of another tenant or user.
        """
        from memorist.remote import RemoteMemory
        from memorist.remote.connection import Connection

        return RemoteMemory(Connection(url, token, timeout), Scope(tenant, user, agent, session))

    async def __aenter__(self) -> "Memory":
        await self._engine.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, "Memory"]:
        return self.__aenter__().__await__()

    async def close(self) -> None:
        """Close the store, for every scope of this memory. A second call does nothing."""
        await self._engine.close()

    def __repr__(self) -> str:
        names = {label: getattr(self._scope, label) for label in ("tenant", "user", "agent", "session")}
        given = ", ".join(f"{label}={name!r}" for label, name in names.items() if name is not None)
        return f"Memory({given})"  # not the URL, which may hold a password

    # --- scope -------------------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """What this memory sees and where it writes."""
        return self._scope

    def scoped(
        self,
        *,
        user: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> "Memory":
        """Return the same memory seen from a narrower scope. Costs nothing.

        Raises:
            ScopeError: another user or tenant than the one already set: a scoped memory cannot climb out.
        """
        return Memory(self._engine, self._scope.narrowed(tenant=tenant, user=user, agent=agent, session=session))

    def unlabelled(self) -> "Memory":
        """Return the same memory without the labels `agent` and `session`; the walls stay."""
        return Memory(self._engine, Scope(self._scope.tenant, self._scope.user))

    # --- kinds -------------------------------------------------------------------------------------

    def conversation(self, session: str | None = None) -> "Conversation":
        """Return the messages of one session; by default the scope's."""
        from memorist.kinds import Conversation

        return Conversation(self if session is None else self.scoped(session=session))

    @property
    def notes(self) -> "Notes":
        """Free texts, found by meaning."""
        from memorist.kinds import Notes

        return self._view(Notes)

    @property
    def topics(self) -> "Topics":
        """Standing values under exact keys."""
        from memorist.kinds import Topics

        return self._view(Topics)

    @property
    def episodes(self) -> "Episodes":
        """What happened: a question and its answer, or a task and how it went."""
        from memorist.kinds import Episodes

        return self._view(Episodes)

    @property
    def facts(self) -> "Facts":
        """Statements that hold until another takes their place."""
        from memorist.kinds import Facts

        return self._view(Facts)

    @property
    def experiences(self) -> "Experiences":
        """Lessons, found by when to use them."""
        from memorist.kinds import Experiences

        return self._view(Experiences)

    @property
    def tools(self) -> "Tools":
        """Tool calls that worked, guidelines and statistics."""
        from memorist.kinds import Tools

        return self._view(Tools)

    def _view(self, view: Callable[["Memory"], _View]) -> _View:
        return self._views.setdefault(view, view(self))  # type: ignore[call-overload, no-any-return]

    # --- writing -----------------------------------------------------------------------------------

    @overload
    async def remember(  # type: ignore[overload-overlap]  # a text is one text, not an iterable of letters
        self,
        content: str | Draft,
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[str] = ...,
        **fields: Unpack[Fields],
    ) -> Record: ...

    @overload
    async def remember(
        self,
        content: Iterable[str | Draft],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[str] = ...,
        **fields: Unpack[Fields],
    ) -> list[Record]: ...

    async def remember(
        self,
        content: str | Draft | Iterable[str | Draft],
        *,
        if_exists: IfExists = "error",
        forgetting: Iterable[str] = (),
        **fields: Unpack[Fields],
    ) -> Record | list[Record]:
        """Store one record, or many at once: all of them or none. On disk when it returns.

        Args:
            content: a text, a `Draft`, or several of these.
            if_exists: what to do where the id, or the key in this kind, is taken: raise ("error"), put the
                new record in the old one's place, keeping its id and history ("replace"), or leave the
                old one and return it ("ignore").
            forgetting: ids of records to forget in the same step, before; ids of none are passed over.
            **fields: the fields of `Draft`, for texts given as such: kind, id, cue, key, metadata, payload,
                source, verified, rating, happened_at, expires_at, supersedes, agent, session, vector.

        Returns:
            The record stored, or a list of them in the order given.

        Raises:
            InvalidInputError: a field is wrong.
            ConflictError: an id or key is taken and `if_exists` is "error".
            NotFoundError: the record to be superseded does not exist.
            EmbedderError: the text could not be embedded; nothing is stored.
        """
        engine = self._engine.opened()
        await engine.sweep_if_due(_SWEEP_EVERY)
        gone = list(forgetting)
        if isinstance(content, str | Draft):
            [record] = await writing.remember(engine, self._scope, [draft_of(content, fields)], if_exists, gone)
            return record
        if isinstance(content, Mapping) or not isinstance(content, Iterable):
            raise InvalidInputError(
                f"remember takes a text, a Draft, or several of these, not a {type(content).__name__}"
            )
        drafts = [draft_of(each, fields) for each in content]
        return await writing.remember(engine, self._scope, drafts, if_exists, gone) if drafts or gone else []

    async def revise(
        self,
        id: str,
        *,
        content: str | None = None,
        cue: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        payload: Mapping[str, Any] | None = None,
        verified: bool | None = None,
        happened_at: TimeLike | None = None,
        expires_at: TimeLike | None = None,
        source: str | None = None,
    ) -> Record:
        """Change the fields given; the record as it was stays in its history.

        `metadata` and `payload` take the old ones' place whole. Concurrent revisions all take effect.

        Raises:
            NotFoundError: there is no such record in this scope.
            InvalidInputError: a field is wrong, or none is given.
        """
        given = {
            "content": content,
            "cue": cue,
            "metadata": metadata,
            "payload": payload,
            "verified": verified,
        }
        changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if not changes and happened_at is None and expires_at is None:
            raise InvalidInputError("name a field to revise")

        def change(record: Record) -> Record:
            if happened_at is not None:
                changes["happened_at"] = parse_time(happened_at)
            if expires_at is not None:
                changes["expires_at"] = self._engine.expiry(expires_at)
            return replace(record, **changes, source=source or record.source)

        return await writing.change(self._engine.opened(), self._scope, id, Action.REVISED, change, source)

    async def rate(self, id: str, rating: float | None, *, source: str | None = None) -> Record:
        """Give a record feedback from -1 (bad) to 1 (good), or take it back (None).

        Among records of like similarity the well-rated rank first; similarity itself never changes.

        Raises:
            NotFoundError: there is no such record in this scope.
            InvalidInputError: the rating is out of range.
        """
        return await writing.change(
            self._engine.opened(),
            self._scope,
            id,
            Action.RATED,
            lambda record: replace(record, rating=rating),
            source,
        )

    async def forget(
        self,
        *ids: str,
        kind: Kinds | None = None,
        where: Where | None = None,
        payload: Where | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: str | None = None,
        session: str | None = None,
        key: str | None = None,
        key_prefix: str | None = None,
        source: str | None = None,
    ) -> int:
        """Delete the records named, or all that pass the filter, superseded ones included.

        Their texts leave the history too; that they were forgotten, when and by whom, stays.

        Returns:
            How many records are gone. Ids that do not exist are passed over.

        Raises:
            InvalidInputError: neither ids nor a filter is given; `purge` deletes a whole scope.
        """
        given = (kind, where, payload, since, until, agent, session, key, key_prefix)
        if not ids and all(each is None for each in given):
            raise InvalidInputError("name ids or a filter; to delete everything of a scope there is purge")
        for each in ids:
            _check_handle(each)
        chosen = self._filter(
            ids=ids or None, kind=kind, where=where, payload=payload, since=since, until=until, agent=agent,
            session=session, key=key, key_prefix=key_prefix, superseded=True,
        )  # fmt: skip
        engine, wall, gone = self._engine.opened(), self._scope.wall, 0
        while found := await engine.store.select(self._scope.reach(), chosen, order="oldest", limit=1000):
            writes = [Remove(each.id, Action.FORGOTTEN, now(), source) for each in found]
            gone += sum(await engine.store.write(wall, writes))
        return gone

    async def purge(self, *, user: str | None = None) -> int:
        """Delete everything of a user, history and name included, and leave no byte of it in the store.

        Args:
            user: whose; by default the scope's own user. Without either, the tenant's shared records.

        Returns:
            How many records are gone.

        Raises:
            ScopeError: another user than the scope's.
            StoreBusyError: the records are gone, but another process kept old pages in use; call again.
        """
        wall = self._scope.narrowed(user=user).wall
        if self._scope.agent is not None or self._scope.session is not None:
            raise ScopeError("purge deletes a whole user; forget(session=...) deletes what has a label")
        return await self._engine.opened().purge(wall)

    # --- reading -----------------------------------------------------------------------------------

    async def recall(
        self,
        query: str,
        *,
        limit: int = 5,
        kind: Kinds | None = None,
        where: Where | None = None,
        payload: Where | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: str | None = None,
        session: str | None = None,
        verified: bool | None = None,
        as_of: TimeLike | None = None,
        now: TimeLike | None = None,
        shared: bool = False,
        min_score: float = 0.0,
        min_similarity: float = 0.0,
        mode: Mode = "hybrid",
        explain: bool = False,
        vector: Any = None,
    ) -> list[Hit]:
        """Find the records that matter to a query, by meaning and by words.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most; 0 gives none.
            kind: only these kinds; by default all but topics and guidelines, which have exact keys.
            where: a condition on the metadata; see `memorist.filters.parse_where`.
            payload: the same on the kind's own fields.
            since: only what happened (or was stored) at this time or later.
            until: only what happened earlier than this.
            agent: only with this label.
            session: only with this label.
            verified: only (un)verified ones.
            as_of: answer as of this time, with what was known and not yet superseded then.
            now: the time the question is asked at, for "last week" and the like; by default the present.
            shared: also look into the tenant's shared records.
            min_score: only hits with at least this score.
            min_similarity: only hits with at least this similarity.
            mode: "hybrid", "dense" (by vectors alone, in the order of similarity) or "lexical" (by words).
            explain: fill in each hit's `signals`.
            vector: the query's embedding, where the caller has it.

        Returns:
            Hits, best first.

        Raises:
            InvalidInputError: an argument is wrong.
            EmbedderError: the query could not be embedded.
        """
        chosen = self._filter(
            kind=kind, where=where, payload=payload, since=since, until=until, agent=agent, session=session,
            verified=verified, as_of=as_of,
        )  # fmt: skip
        asked = Query(
            text=query,
            limit=_check_limit(limit),
            filter=chosen,
            mode=mode,
            now=None if now is None else parse_time(now),
            min_score=min_score,
            min_similarity=min_similarity,
            explain=explain,
            vector=vector,
        )
        return await self._engine.opened().recaller.recall(self._scope.reach(shared=shared).walls(), asked)

    async def context(
        self,
        query: str,
        *,
        tokens: int = 600,
        count_tokens: "CountTokens | None" = None,
        min_confidence: float | None = None,
        standing: bool = True,
        topics: Iterable[str] = (),
        pinned: Iterable[str] = (),
        kind: Kinds | None = None,
        where: Where | None = None,
        payload: Where | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: str | None = None,
        session: str | None = None,
        verified: bool | None = None,
        as_of: TimeLike | None = None,
        now: TimeLike | None = None,
        shared: bool = False,
    ) -> "Context":
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
            now: the time the question is asked at; by default the present.
            kind, where, payload, since, until, agent, session, verified, as_of, shared: as in `recall`.

        Returns:
            The text, "" where there is nothing to tell, how likely the memory holds the answer, and the records shown.

        Raises:
            InvalidInputError: an argument is wrong.
            EmbedderError: the query could not be embedded.
        """
        from memorist.context import MIN_CONFIDENCE, tell

        return await tell(
            self, query, tokens=tokens, count_tokens=count_tokens,
            min_confidence=MIN_CONFIDENCE if min_confidence is None else min_confidence,
            standing=standing, topics=topics, pinned=pinned, now=now, shared=shared,
            kind=kind, where=where, payload=payload, since=since, until=until, agent=agent, session=session,
            verified=verified, as_of=as_of,
        )  # fmt: skip

    async def recent(
        self,
        limit: int = 10,
        *,
        kind: Kinds | None = None,
        where: Where | None = None,
        payload: Where | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: str | None = None,
        session: str | None = None,
        shared: bool = False,
    ) -> list[Record]:
        """Return the newest records by when they happened (or were stored), newest first."""
        chosen = self._filter(
            kind=kind, where=where, payload=payload, since=since, until=until, agent=agent, session=session
        )
        return await self._engine.opened().store.select(
            self._scope.reach(shared=shared), chosen, order="newest", limit=_check_limit(limit)
        )

    async def lookup(self, key: str, *, kind: Kind | str = Kind.TOPIC, shared: bool = False) -> Record | None:
        """Return the current record with exactly this key, or None. Never guesses.

        With `shared`, the user's own record goes before the tenant's shared one.
        """
        chosen = make_filter(kind=parse_kind(kind), key=_check_handle(key))
        for wall in self._scope.reach(shared=shared).walls():
            reach = self._scope.reach() if wall == self._scope.wall else Scope(wall.tenant).reach()
            found = await self._engine.opened().store.select(reach, chosen, order="newest", limit=1)
            if found:
                return found[0]
        return None

    async def get(self, id: str) -> Record | None:
        """Return the record with this id in this scope, superseded or not, or None."""
        found = await self._engine.opened().store.get(self._scope.wall, [_check_handle(id)])
        return found[0] if found and self._scope.sees(found[0].scope) else None

    async def browse(
        self,
        *,
        kind: Kinds | None = None,
        where: Where | None = None,
        payload: Where | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: str | None = None,
        session: str | None = None,
        key_prefix: str | None = None,
        verified: bool | None = None,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        order: Order = "newest",
        limit: int = 50,
        cursor: str | None = None,
        shared: bool = False,
        everyone: bool = False,
    ) -> Page:
        """Return one page of the records that pass the filter.

        Args:
            order: "newest" or "oldest" (by when they happened or were stored), or "key" (only records
                that have one).
            limit: how many on a page, at least 1.
            cursor: the `next` of the page before.
            superseded: also those whose place another took.
            shared: also the tenant's shared records.
            everyone: all users of the tenant; only where the scope has no user.

        Raises:
            InvalidInputError: an argument is wrong, or the cursor is of another order.
            ScopeError: `everyone` behind a user's wall.
        """
        chosen = self._filter(
            kind=kind, where=where, payload=payload, since=since, until=until, agent=agent, session=session,
            key_prefix=key_prefix, verified=verified, as_of=as_of, superseded=superseded,
        )  # fmt: skip
        reach = self._scope.reach(shared=shared, everyone=everyone)
        size = _check_limit(limit)
        found = await self._engine.opened().store.select(
            reach, chosen, order=pages.check_order(order), limit=size + 1, after=pages.decode(cursor, order)
        )
        return pages.make_page(found, size, order)

    async def count(
        self,
        *,
        kind: Kinds | None = None,
        where: Where | None = None,
        payload: Where | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        agent: str | None = None,
        session: str | None = None,
        key_prefix: str | None = None,
        verified: bool | None = None,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        shared: bool = False,
        everyone: bool = False,
    ) -> int:
        """Return how many records pass the filter."""
        chosen = self._filter(
            kind=kind, where=where, payload=payload, since=since, until=until, agent=agent, session=session,
            key_prefix=key_prefix, verified=verified, as_of=as_of, superseded=superseded,
        )  # fmt: skip
        reach = self._scope.reach(shared=shared, everyone=everyone)
        return await self._engine.opened().store.count(reach, chosen)

    async def users(self) -> dict[str | None, int]:
        """Return how many current records each user of the tenant has; None stands for the shared ones.

        Raises:
            ScopeError: behind a user's wall.
        """
        self._scope.reach(everyone=True)
        return await self._engine.opened().store.users(self._scope.tenant)

    async def vectors(self, ids: Iterable[str]) -> dict[str, Any]:
        """Return the stored embeddings of records by id: unit vectors, float32, of the embedder's dimensions.

        Ids that do not exist here, and records that have no embedding, are left out.
        """
        store, wall = self._engine.opened().store, self._scope.wall
        chosen = self._filter(ids=[_check_handle(each) for each in ids], superseded=True)
        numbers = (await store.matching(wall, chosen)).tolist()
        records, found = await store.fetch(wall, numbers), await store.vectors(wall, numbers)
        return {records[number].id: vector for number, vector in found.items() if number in records}

    async def history(self, id: str) -> list[Change]:
        """Return every change of a record: what, when, by which source; oldest first.

        A forgotten record's texts are gone, its changes are not. [] for one that never was.
        """
        changes = await self._engine.opened().store.history(self._scope.wall, _check_handle(id))
        return changes if all(each.record is None or self._scope.sees(each.record.scope) for each in changes) else []

    # --- the whole -----------------------------------------------------------------------------------

    async def export(self, *, everyone: bool = False) -> AsyncIterator[str]:
        """Yield every record of the scope, superseded ones too, as lines of JSON; the first names the format.

        `load` of the lines gives the same records. `everyone` exports all users of the tenant.
        """
        from memorist import transfer

        async for line in transfer.export_lines(self, everyone=everyone):
            yield line

    async def load(self, lines: Iterable[str | bytes] | AsyncIterator[str | bytes]) -> "transfer.LoadReport":
        """Store what `export` wrote, each record under its own user; records already there are left alone.

        Returns:
            How many were added and were there before, and the lines that could not be read, by number.

        Raises:
            FormatError: the first line is not that of an export, or of a newer version.
            ScopeError: a record of another user than this scope's.
        """
        from memorist import transfer

        return await transfer.load_lines(self, lines)

    async def backup(self, target: str | PathLike[str]) -> Path:
        """Copy the whole store, consistently and while in use, and open the copy to verify it.

        Raises:
            InvalidInputError: the target exists.
            ScopeError: behind a user's wall: a backup holds everyone's records.
        """
        self._scope.reach(everyone=True)
        return await self._engine.opened().backup(Path(target))

    async def check(self) -> list[str]:
        """Read the whole store and return what is damaged, in sentences; [] where all is sound.

        Raises:
            ScopeError: behind a user's wall.
        """
        self._scope.reach(everyone=True)
        return await self._engine.opened().store.check()

    async def reindex(self, progress: Callable[[int, int], None] | None = None) -> int:
        """Embed every record anew with the embedder this memory was opened with.

        Searches go on with the old vectors until the last is ready. A run that was killed is resumed.

        Args:
            progress: called with (done, total) after every batch.

        Returns:
            How many records were embedded by this call.
        """
        self._scope.reach(everyone=True)
        return await self._engine.opened().reindex(progress)

    # --- below the verbs -------------------------------------------------------------------------------

    def _filter(self, *, agent: str | None = None, session: str | None = None, **rest: Any) -> Filter:
        scope = self._scope.narrowed(agent=agent, session=session)
        return make_filter(agent=scope.agent, session=scope.session, **rest)


def _check_handle(id: str) -> str:
    if not isinstance(id, str):
        raise InvalidInputError(f"an id or a key is a string, not {id!r}")
    return id


def _check_limit(limit: int) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise InvalidInputError(f"limit must be a whole number, not {limit!r}")
    if limit > MAX_LIMIT:
        raise InvalidInputError(f"limit is {MAX_LIMIT:,} at most; browse goes on page by page")
    return max(limit, 0)
