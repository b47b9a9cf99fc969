# Written by tools/make_sync_stub.py; do not edit.
# ruff: noqa
# fmt: off
"""The verbs that are one request each, as `memorist.operations.requests` declares them."""

from collections.abc import Callable, Iterable, Mapping
from memorist.audit.log import AuditEntry
from memorist.operations.answers import Context, Derived, Exposed, Proposal, Provenance, Receipt, ReplacementPage, TidyReport, TracePage
from memorist.operations.arguments import UNSET, Unset
from memorist.operations.lines import LoadReport
from memorist.operations.options import Narrowing
from memorist.operations.request import Id
from memorist.operations.requests import Mode
from memorist.records.origins import AuthorLike
from memorist.records.record import Change, Hit, Kind, Order, Page, Record
from memorist.records.retention import RetentionReport, Rule, RuleLike
from memorist.records.times import TimeLike
from memorist.verbs.making import Asking
from typing import Any, Literal, Unpack

class MemoryVerbs(Asking):
    """What one asks of a memory."""

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
            id: the id of the record.
            content: the text to keep.
            cue: the text that recall matches instead of the content.
            metadata: the caller's own fields, JSON.
            payload: the kind's own fields, JSON.
            verified: whether someone has checked it.
            happened_at: when it happened.
            expires_at: when it stops being remembered: a point in time, a span as "90d", or (a number) seconds from now.
            source: who or what says so, kept in the history.
            author: who has a hand in the new text, by name. The old authors stay, so no record gains trust by it.
            proposed: as in `remember`.

        Raises:
            NotFoundError: there is no such record in this scope.
            InvalidInputError: a field is wrong, or none is given.
            ScopeError: the author may not be named through this door.
            WaitingError: as in `remember`.
        """

    async def rate(self, id: Id, rating: float | None, *, source: str | None = None) -> Record:
        """Give a record feedback from -1 (bad) to 1 (good), or take it back (None).

        Among records of like similarity the well-rated rank first; similarity itself never changes.

        Args:
            id: the id of the record.
            rating: from -1 (wrong or misleading) over 0 to 1 (right and useful).
            source: who or what says so, kept in the history.

        Raises:
            NotFoundError: there is no such record in this scope.
            InvalidInputError: the rating is out of range.
        """

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
            *ids: ids of records. Unknown ids are ignored.
            source: who or what says so, kept in the history.
            derived: also forget what was drawn from these records alone. What rests on other records, too, stays, and
                its `origin.lost` counts what it lost. `derived` says before what this would touch.
            proposed: as in `remember`.
            **narrowing: which records; see `Narrowing`.

        Returns:
            How many records are gone.

        Raises:
            WaitingError: as in `remember`.
            InvalidInputError: neither ids nor a filter is given; `purge` deletes a whole scope.
        """

    async def relabel(
        self,
        *ids: Id,
        to: str | Unset | None = UNSET,
        undo: bool = False,
        limit: int | None = None,
        source: str | None = None,
        **narrowing: Unpack[Narrowing],
    ) -> int:
        """Give the records named, or all that pass the filter, superseded ones included, another label `agent`.

        The label says which agent's, or which project's, a record is. The history notes the label before.

        Args:
            *ids: ids of records, or the records. Unknown ids are ignored.
            to: the label; None takes the label away.
            undo: in the place of `to`: give each record the label back that it had before it was changed last.
            limit: how many at most; the next call goes on with what is left.
            source: who or what says so, kept in the history.
            **narrowing: which records; see `Narrowing`.

        Returns:
            How many records have another label now.

        Raises:
            InvalidInputError: neither ids nor a filter is given, or not one of `to` and `undo`.
            ScopeError: the scope has a label itself, and sees no other.
            ConflictError: others changed a record each time it was to be changed; those before it have the label.
        """

    async def purge(self, *, user: str | None = None, shared: bool = False, dry_run: bool = False) -> Receipt:
        """Delete everything of a user, history, name and tokens included, and leave no byte of it in the store.

        Args:
            user: whose; by default the scope's own user.
            shared: delete the tenant's shared records instead, which belong to no user.
            dry_run: delete nothing, and tell what would be deleted and searched, and which copies hold it now.

        Returns:
            A receipt: how many records are gone, where the user's texts were searched for afterwards, and which copies
            may still hold them; signed with the installation's key if the extra ``signed`` is installed.

        Raises:
            InvalidInputError: neither a user nor `shared` is given, or both are.
            ScopeError: another user than the scope's, or the scope has a label.
            StoreBusyError: the records are gone, but another process kept old pages in use; call again.
            SignatureError: the installation's key cannot be read or made; nothing is gone.
        """

    async def restore(self, records: Iterable[Record]) -> LoadReport:
        """Store whole records as they are, each under its own user; records whose id is there are left alone.

        Returns:
            How many were added and were there before, and those that could not be stored, numbered from 1.

        Raises:
            ScopeError: a record of another user than this scope's.
        """

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
        mode: Mode = 'hybrid',
        explain: bool = False,
        vector: Any = None,
        **narrowing: Unpack[Narrowing],
    ) -> list[Hit]:
        """Find the records that matter to a query, by meaning and by words.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most.
            as_of: answer as of this time, with what was known and not yet superseded then.
            now: the time the question is asked at, for "last week" and the like; by default the present.
            shared: also look into the tenant's shared records.
            min_score: only hits with at least this score.
            min_similarity: only hits with at least this similarity.
            mode: "hybrid", "dense" (by vectors alone, in the order of similarity) or "lexical" (by words).
            explain: show what each signal contributed to the score, in the hit's `signals`.
            vector: the query's embedding, where the caller has it.
            **narrowing: which records; see `Narrowing`. Without `kind` all but topics and guidelines, which
                have exact keys.

        Returns:
            Hits, best first; none where the limit is 0.

        Raises:
            InvalidInputError: an argument is wrong.
            EmbedderError: the query could not be embedded.
        """

    async def context(
        self,
        query: str,
        *,
        tokens: int = 600,
        count_tokens: Callable[[str], int] | None = None,
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
            known: ids or whole texts to leave out, because the prompt holds them already. A text matches whatever its
                case and white space. What `topics` or `pinned` name is told all the same.
            as_of: answer as of this time, with what was known and not yet superseded then.
            now: the time the question is asked at, for "last week" and the like; by default the present.
            shared: also the tenant's shared records.
            **narrowing: which records are recalled; see `Narrowing`.

        Returns:
            The text, "" where there is nothing to tell, how likely the memory holds the answer, and the records shown.

        Raises:
            InvalidInputError: an argument is wrong.
            EmbedderError: the query could not be embedded.
        """

    async def recent(self, limit: int = 10, *, shared: bool = False, **narrowing: Unpack[Narrowing]) -> list[Record]:
        """Return the newest records by when they happened (or were stored), newest first.

        Args:
            limit: how many at most.
            shared: also the tenant's shared records.
            **narrowing: which records; see `Narrowing`.
        """

    async def lookup(self, key: str, *, kind: Kind | str = Kind.TOPIC, shared: bool = False) -> Record | None:
        """Return the current record with exactly this key, or None. Never guesses.

        Args:
            key: the key, to the letter.
            kind: the kind of record.
            shared: where the user has no such record, look among the tenant's shared ones.
        """

    async def get(self, id: Id) -> Record | None:
        """Return the record with this id in this scope, superseded or not, or None.

        Args:
            id: the id of the record.
        """

    async def find(self, ids: Iterable[Id] | Id, *, everyone: bool = False) -> list[Record]:
        """Return the records with these ids, superseded or not. Unknown ids are ignored.

        Args:
            ids: ids of records. One id may be that of several users' records.
            everyone: of all users of the tenant; only where the scope has no user.

        Raises:
            ScopeError: `everyone` behind a user's wall.
        """

    async def browse(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        shared: bool = False,
        everyone: bool = False,
        order: Order = 'newest',
        limit: int = 50,
        cursor: str | None = None,
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

    async def vectors(self, ids: Iterable[Id] | Id) -> dict[str, Any]:
        """Return the stored embeddings of records by id: unit vectors, float32, of the embedder's dimensions.

        Args:
            ids: ids of records. Those that do not exist here, and records that have no embedding, are left out.
        """

    async def history(self, id: Id) -> list[Change]:
        """Return every change of a record: what, when, by which source; oldest first.

        A forgotten record's texts are gone, its changes are not. [] for one that never was.

        Args:
            id: the id of the record.
        """

    async def changes(
        self,
        *,
        min_score: float = 0.5,
        limit: int = 20,
        cursor: str | None = None,
        **narrowing: Unpack[Narrowing],
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

    async def why(self, id: Id) -> Provenance:
        """Return where a record comes from: itself, what it was derived from, and so on to the first message.

        It is empty where there is no such record.

        Args:
            id: the id of the record.
        """

    async def derived(self, *ids: Id, **narrowing: Unpack[Narrowing]) -> Derived:
        """Return what was derived from the records named, or from all that pass the filter.

        This is what `forget` with `derived=True` would forget with them, and what it would mark.

        Args:
            *ids: ids of records. Unknown ids are ignored.
            **narrowing: which records; see `Narrowing`.

        Raises:
            InvalidInputError: neither ids nor a filter is given.
        """


class AdminVerbs(Asking):
    """What a user or an operator asks of a whole memory."""

    async def users(self, *, waiting: bool = False) -> dict[str | None, int]:
        """Return how many current memories each user of the tenant has; None stands for the shared ones.

        State, which a framework keeps for itself, does not count; a user who has nothing else has 0.

        Args:
            waiting: count what waits in the inbox of each user instead, and leave out those with nothing.

        Raises:
            ScopeError: behind a user's wall.
        """

    async def traces(
        self,
        ids: Iterable[Id] | Id = (),
        *,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        door: str | None = None,
        empty: bool | None = None,
        limit: int = 50,
        cursor: str | None = None,
        everyone: bool = False,
    ) -> TracePage:
        """Return one page of the traces of calls of `recall` and `context`, newest first.

        Traces are kept where the memory was opened with `keep_traces`, and for so long. One that quotes a record goes
        with it: when the record is forgotten, expires or is purged.

        Args:
            ids: only those with these ids.
            since: only of calls at this time or later.
            until: only of calls earlier than this.
            door: only of calls through this door: "python", "rest", "mcp", "cli" or an adapter's name.
            empty: only of calls that gave nothing (true), or only of the others (false).
            limit: how many on a page.
            cursor: the `next` of the page before.
            everyone: of all users of the tenant; only where the scope has no user.

        Raises:
            ScopeError: `everyone` behind a user's wall.
        """

    async def inbox(self) -> list[Proposal]:
        """Return what agents have asked for and the user has not decided yet, oldest first.

        Where the memory was opened with `confirm`, a proposal waits for 90 days. Until the user approves it, no verb
        recalls, tells, lists, counts or exports it, and it changes no record. An inbox holds 100; more are refused.
        """

    async def approve(self, id: str, content: str | None = None) -> list[Record]:
        """Do what an agent asks for, and return the records that it stored or changed; [] if it forgot some.

        What is remembered so is `verified`, and has the agent as its author and the time at which it asked.

        Args:
            id: the proposal's.
            content: the user's words, in the place of the agent's; who changes them is an author, too.

        Raises:
            NotFoundError: nothing with this id waits.
            ScopeError: an agent calls this.
            InvalidInputError: there is not exactly one text to change, or what would be stored has expired.
            MemoristError: as the verb that was asked for; it still waits.
        """

    async def reject(self, id: str, *, undo: bool = False) -> Proposal:
        """Refuse what an agent asks for, and return it: for 90 days, the same is refused without asking the user.

        Args:
            id: the proposal's.
            undo: let it wait again, within two minutes after it was rejected. Then its text is deleted.

        Raises:
            NotFoundError: nothing with this id waits, or was rejected.
            ScopeError: an agent calls this.
            ConflictError: it is being approved.
        """

    async def tidy(
        self,
        *,
        what: Literal['duplicate', 'contradiction', 'unused', 'junk'] | None = None,
        limit: int = 50,
    ) -> TidyReport:
        """Return what may be taken out of this memory; nothing is changed. `archive` does it, and takes it back.

        These are "duplicate" (notes, facts or experiences that say the same), "contradiction" (a note or a fact whose
        state a later one replaces, see `changes`), "unused" (what no call has recalled since traces are kept, where they
        go back 30 days) and "junk" (what imports brought along: programs' notices, and texts that come ten times).

        The time it takes grows with the number of records: of 100,000 it takes seconds. What it reads is bounded: the
        20,000 newest traces, and the 100,000 newest imported records. Duplicates and contradictions need all records of
        the user in memory.

        Args:
            what: only one of these.
            limit: how many of each at most.
        """

    async def archive(self, *ids: Id, by: Id | None = None, undo: bool = False, source: str | None = None) -> int:
        """Take records out of all that is recalled, told, listed and counted, without deleting them; all or none.

        They are superseded from now on: `superseded=True` shows them, and their history.

        Args:
            *ids: ids of records, or the records. Unknown ids, and what is superseded already, are ignored.
            by: the record that stands in their place, as the one of several that say the same. It gets their origins:
                their authors, and what they were derived from.
            undo: make them current again.
            source: who or what says so, kept in the history.

        Returns:
            How many records were changed.

        Raises:
            NotFoundError: there is no record `by` in this scope.
            InvalidInputError: no ids are given, or the record `by` is superseded itself.
            ConflictError: another record has the key of one that is to be current again.
        """

    async def audit(self, *, after: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        """Return entries of the audit log, oldest first: those about this memory's user, or all of the store.

        The log holds no text, no id and no user's name. It is off until `Settings.audit` switches it on.

        Args:
            after: the number of the entry after which to begin; by default with the first.
            limit: at most so many entries.

        Raises:
            InvalidInputError: the store keeps no log.
        """

    async def checkpoint(self) -> dict[str, Any]:
        """Return the number and the hash of the last entry of the audit log, signed with the installation's key.

        Kept elsewhere, it shows later whether the log was changed or cut; see `verify_audit`. Without the extra
        ``signed``, "signature" is None and "unsigned" says so.

        Raises:
            ScopeError: behind a user's wall.
            InvalidInputError: the store keeps no log.
            SignatureError: the key cannot be read or made.
        """

    async def retain(self, rules: Iterable[RuleLike]) -> list[Rule]:
        """Set how long the tenant's records are kept, in place of the rules before, and return the rules.

        The rules are kept in the store. Every process that writes deletes what is too old, when it opens the store and
        then once an hour. A rule with "forever" is not overridden by any other.

        Args:
            rules: each a `Rule`, or a mapping such as ``{"kind": "message", "keep": "90d"}``; none keep everything.

        Raises:
            InvalidInputError: a rule is wrong.
            ScopeError: behind a user's wall.
        """

    async def retention(self, rules: Iterable[RuleLike] | None = None) -> RetentionReport:
        """Return the tenant's rules and how many records of each kind are too old by them now. Nothing is deleted.

        Args:
            rules: try these; by default those that are set.

        Raises:
            InvalidInputError: a rule is wrong.
            ScopeError: behind a user's wall.
        """

    async def sweep(self) -> int:
        """Delete at once what of the tenant's has expired or is too old by its rules, and return how many records.

        If it raises, some may be gone already; the others go with the next sweep.

        Raises:
            ScopeError: behind a user's wall.
        """

    async def secrets(self, *, redact: bool = False) -> list[Exposed]:
        """Return what holds a secret of a known form, of every user of the tenant, without the secret itself.

        Args:
            redact: mask each secret: in the record and in every index. The record's earlier versions go, and so do
                traces with a secret and all that quotes the record; old pages of the store are removed. A framework's
                own state is listed only.

        Raises:
            ConflictError: others changed a record each time it was to be masked; the rest is masked.
            ScopeError: behind a user's wall.
        """

    async def check(self) -> list[str]:
        """Read the whole store and return what is damaged, in sentences; [] where all is sound.

        Raises:
            ScopeError: behind a user's wall.
        """

    async def reindex(self, progress: Callable[[int, int], None] | None = None, *, missing: bool = False) -> int:
        """Embed every record anew with the embedder this memory was opened with.

        Searches use the old vectors until the last new one is ready. A run that was killed is resumed.

        Args:
            progress: called with (done, total) after every batch.
            missing: embed only what was stored to be embedded later, which recall finds by its words until then.

        Returns:
            How many records were embedded by this call.
        """
