# Written by tools/make_sync_stub.py; do not edit.
# ruff: noqa
# fmt: off
"""The blocking client of `Memory` and its views."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from memorist.audit.log import AuditEntry
from memorist.config import Settings
from memorist.embedders import EmbedderSpec
from memorist.engine.traced import Telemetry, Watch
from memorist.indexes import Index
from memorist.kinds.common import RecordFields
from memorist.kinds.message import Message
from memorist.kinds.options import SearchOptions
from memorist.kinds.tools import ToolStatistics
from memorist.operations.answers import Context, Derived, Exposed, Proposal, Provenance, Receipt, ReplacementPage, TidyReport, TracePage
from memorist.operations.arguments import Unset
from memorist.operations.lines import Lines, LoadReport
from memorist.operations.options import Narrowing
from memorist.operations.request import Id
from memorist.operations.requests import Id, IfExists, Mode, Narrowing, Request
from memorist.records.origins import AuthorLike, Door, TrustRules
from memorist.records.record import Change, Draft, Fields, Hit, Kind, Order, Page, Record, Sources
from memorist.records.retention import RetentionReport, Rule, RuleLike
from memorist.records.scope import Scope
from memorist.records.times import Clock, TimeLike
from memorist.records.zones import ZoneLike
from memorist.secrets import Policy
from memorist.verbs import T
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload
from memorist import memory as asynchronous
from memorist.blocking_client import BlockingClient

__all__ = ["Admin", "Conversation", "Episodes", "Experiences", "Facts", "Memory", "Notes", "Tools", "Topics"]

class Admin(BlockingClient):
    """What a user or an operator does: the inbox, users, traces, audit, retention, checks, copies; see `Memory.admin`.

    Args:
        memory: the memory in whose scope this works.
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def backup(self, target: str | PathLike[str], *, keep: int | None = None) -> Path:
        """Copy the whole store, consistently and while in use, and open the copy to verify it.

        Args:
            target: a new file, or a folder: the copy is then named after the time in UTC, as in
                ``memorist-20260131T020000Z.db``.
            keep: with a folder: how many copies with such names to keep in it, the new one included. Older ones are
                removed after the new one is verified. By default all are kept.

        Returns:
            The path of the copy.

        Raises:
            InvalidInputError: the target exists, or `keep` is below 1 or given without a folder.
            ScopeError: behind a user's wall: a backup holds everyone's records.
            StoreUnavailableError: the copy cannot be written, or an older one cannot be removed.
        """

    def audit_entries(self) -> Iterator[AuditEntry]:
        """Yield the entries of `audit`, all of them."""

    def verify_audit(self, *checkpoints: Mapping[str, Any]) -> list[str]:
        """Read the whole audit log and return what is wrong with it, in sentences; [] where its chain is unbroken.

        Args:
            *checkpoints: what `checkpoint` returned earlier. Their signatures are for `memorist.audit.signing.check`.

        Raises:
            ScopeError: behind a user's wall.
            InvalidInputError: the store keeps no log.
        """

    def users(self, *, waiting: bool = False) -> dict[str | None, int]:
        """Return how many current memories each user of the tenant has; None stands for the shared ones.

        State, which a framework keeps for itself, does not count; a user who has nothing else has 0.

        Args:
            waiting: count what waits in the inbox of each user instead, and leave out those with nothing.

        Raises:
            ScopeError: behind a user's wall.
        """

    def traces(
        self,
        ids: Iterable[Id] | Id = ...,
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

    def inbox(self) -> list[Proposal]:
        """Return what agents have asked for and the user has not decided yet, oldest first.

        Where the memory was opened with `confirm`, a proposal waits for 90 days. Until the user approves it, no verb
        recalls, tells, lists, counts or exports it, and it changes no record. An inbox holds 100; more are refused.
        """

    def approve(self, id: str, content: str | None = None) -> list[Record]:
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

    def reject(self, id: str, *, undo: bool = False) -> Proposal:
        """Refuse what an agent asks for, and return it: for 90 days, the same is refused without asking the user.

        Args:
            id: the proposal's.
            undo: let it wait again, within two minutes after it was rejected. Then its text is deleted.

        Raises:
            NotFoundError: nothing with this id waits, or was rejected.
            ScopeError: an agent calls this.
            ConflictError: it is being approved.
        """

    def tidy(
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

    def archive(self, *ids: Id, by: Id | None = None, undo: bool = False, source: str | None = None) -> int:
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

    def audit(self, *, after: int | None = None, limit: int = 1000) -> list[AuditEntry]:
        """Return entries of the audit log, oldest first: those about this memory's user, or all of the store.

        The log holds no text, no id and no user's name. It is off until `Settings.audit` switches it on.

        Args:
            after: the number of the entry after which to begin; by default with the first.
            limit: at most so many entries.

        Raises:
            InvalidInputError: the store keeps no log.
        """

    def checkpoint(self) -> dict[str, Any]:
        """Return the number and the hash of the last entry of the audit log, signed with the installation's key.

        Kept elsewhere, it shows later whether the log was changed or cut; see `verify_audit`. Without the extra
        ``signed``, "signature" is None and "unsigned" says so.

        Raises:
            ScopeError: behind a user's wall.
            InvalidInputError: the store keeps no log.
            SignatureError: the key cannot be read or made.
        """

    def retain(self, rules: Iterable[RuleLike]) -> list[Rule]:
        """Set how long the tenant's records are kept, in place of the rules before, and return the rules.

        The rules are kept in the store. Every process that writes deletes what is too old, when it opens the store and
        then once an hour. A rule with "forever" is not overridden by any other.

        Args:
            rules: each a `Rule`, or a mapping such as ``{"kind": "message", "keep": "90d"}``; none keep everything.

        Raises:
            InvalidInputError: a rule is wrong.
            ScopeError: behind a user's wall.
        """

    def retention(self, rules: Iterable[RuleLike] | None = None) -> RetentionReport:
        """Return the tenant's rules and how many records of each kind are too old by them now. Nothing is deleted.

        Args:
            rules: try these; by default those that are set.

        Raises:
            InvalidInputError: a rule is wrong.
            ScopeError: behind a user's wall.
        """

    def sweep(self) -> int:
        """Delete at once what of the tenant's has expired or is too old by its rules, and return how many records.

        If it raises, some may be gone already; the others go with the next sweep.

        Raises:
            ScopeError: behind a user's wall.
        """

    def secrets(self, *, redact: bool = False) -> list[Exposed]:
        """Return what holds a secret of a known form, of every user of the tenant, without the secret itself.

        Args:
            redact: mask each secret: in the record and in every index. The record's earlier versions go, and so do
                traces with a secret and all that quotes the record; old pages of the store are removed. A framework's
                own state is listed only.

        Raises:
            ConflictError: others changed a record each time it was to be masked; the rest is masked.
            ScopeError: behind a user's wall.
        """

    def check(self) -> list[str]:
        """Read the whole store and return what is damaged, in sentences; [] where all is sound.

        Raises:
            ScopeError: behind a user's wall.
        """

    def reindex(self, progress: Callable[[int, int], None] | None = None, *, missing: bool = False) -> int:
        """Embed every record anew with the embedder this memory was opened with.

        Searches use the old vectors until the last new one is ready. A run that was killed is resumed.

        Args:
            progress: called with (done, total) after every batch.
            missing: embed only what was stored to be embedded later, which recall finds by its words until then.

        Returns:
            How many records were embedded by this call.
        """


class Conversation(BlockingClient):
    """The messages of one session, in exactly the order in which they were appended.

    An id given by the caller is unique among what a role says in the session: a message whose id is there already is
    not appended again; where it says something else, it is revised, and its history keeps what it said before. If a
    message happened before the last one, its record gets a time just after the last record's, so that records keep
    this order; the message itself keeps the time it was given.

    ```python
    talk = memory.conversation("monday")
    talk.append("Where was I last week?")
    talk.append("In Oslo.", role="assistant")
    for message in talk.window(tokens=2000):
        print(f"{message.role}: {message.content}")
    ```

    Raises:
        InvalidInputError: the memory's scope has no session.
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    @overload
    def append(  # type: ignore[overload-overlap]
        self,
        message: str | Message | Mapping[str, Any],
        *,
        role: str | None = ...,
        name: str | None = ...,
        id: str | None = ...,
        happened_at: TimeLike | None = ...,
        metadata: Mapping[str, Any] | None = ...,
        data: Mapping[str, Any] | None = ...,
        allow_duplicates: bool = ...,
    ) -> Message:
        """Add one message, or several in order: all of them or none. On disk when it returns.

        Args:
            message: a text, a `Message`, a mapping of its fields such as ``{"role": "user", "content": …}``,
                or several of these.
            role: who speaks, for a text: "user" if left out.
            name: the speaker's name, for a text.
            id: the caller's own id, for a text.
            happened_at: when it was said, for a text; by default now.
            metadata: the caller's own fields, for a text.
            data: what else belongs to the message, JSON, for a text.
            allow_duplicates: add a message again whose id the conversation has already.

        Of more than 32 messages at once recall finds the words at first, and the meaning a little later.

        Returns:
            For each message given, the one stored: where the id was there before, that one, as it is now.

        Raises:
            InvalidInputError: a field is missing, unknown or wrong.
        """

    @overload
    def append(
        self,
        message: Iterable[str | Message | Mapping[str, Any]],
        *,
        allow_duplicates: bool = ...,
    ) -> list[Message]: ...

    def window(
        self,
        count: int | None = None,
        tokens: int | None = None,
        *,
        count_tokens: Callable[[str], int] = ...,
    ) -> list[Message]:
        """Return the newest messages that fit, oldest first: an unbroken run up to the last one.

        Args:
            count: how many at most.
            tokens: how many tokens at most, all contents together.
            count_tokens: returns how many tokens a text has; by default a quarter of its characters, rounded up.

        Raises:
            InvalidInputError: a number is not whole or is negative.
        """

    def all(self) -> list[Message]:
        """Return every message in order."""

    def __iter__(self) -> Iterator[Message]:
        """Yield every message in order, read page by page."""

    def size(self) -> int:
        """Return how many messages there are."""

    def get(self, id: str) -> Message | None:
        """Return the message with this id (the caller's id or the record's), or None."""

    def delete(self, *ids: str) -> int:
        """Delete the messages with these ids, and return how many existed. Unknown ids are ignored.

        A caller's id deletes every message that has it; a record's id deletes that record.
        """

    def clear(self) -> int:
        """Delete every message, and return how many there were."""

    def state(self) -> dict[str, Any]:
        """Return the whole conversation as plain JSON values, for `restore`."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Replace all messages with those of a `state`, in one step: all or nothing.

        Raises:
            InvalidInputError: it is not what `state` returns; nothing was changed.
        """


class Episodes(BlockingClient):
    """The episodes of one scope. A record's `content` is `Episode.text`, its parts are in the payload.

    ```python
    memory.episodes.add(question="What is the capital of Australia?", answer="Canberra.")
    memory.episodes.add(task="Book a flight to Oslo", rollout="searched, …", result="Booked SK 802")
    [hit] = memory.episodes.search("Australian geography", limit=1)
    Episode.of(hit.record).answer  # "Canberra."
    ```
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def add(
        self,
        *,
        question: str | None = None,
        answer: str | None = None,
        task: str | None = None,
        rollout: str | None = None,
        result: str | None = None,
        error: str | None = None,
        cue: str | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Keep an episode, and return its record.

        Args:
            question: what was asked; needs an answer.
            answer: what was answered.
            task: what was to be done, in place of question and answer.
            rollout: what was done on the way, step by step.
            result: the result.
            error: why there is no result.
            cue: the text that a search matches; by default all parts but the rollout.
            **fields: what any record can have, as in `Memory.remember`.

        Raises:
            InvalidInputError: the parts make no episode, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """

    def recent(
        self,
        limit: int = 10,
        *,
        where: Mapping[str, Any] | None = None,
        since: TimeLike | None = None,
        until: TimeLike | None = None,
        shared: bool = False,
    ) -> list[Record]:
        """Return the newest episodes by when they happened, newest first; arguments as in `Memory.recent`."""

    def update(
        self,
        id: str,
        *,
        question: str | None = None,
        answer: str | None = None,
        task: str | None = None,
        rollout: str | None = None,
        result: str | None = None,
        error: str | None = None,
        cue: str | Unset | None = ...,
        metadata: Mapping[str, Any] | Unset | None = ...,
        source: str | Unset | None = ...,
    ) -> Record:
        """Change the parts given, and return the record; it keeps its id, and its history has the old version.

        `metadata` replaces the old metadata whole.

        Raises:
            NotFoundError: there is no such episode.
            InvalidInputError: the parts make no episode, or nothing is given.
        """

    def search(self, query: str, *, limit: int = 5, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Find the records of this kind that matter to a query, best first.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most.
            **options: as in `Memory.recall`: where, since, as_of, min_similarity, shared, …

        Raises:
            InvalidInputError: an argument is wrong.
        """

    def get(self, id: str) -> Record | None:
        """Return the record with this id if it is of this kind, superseded or not; else None."""

    def delete(self, *ids: str) -> int:
        """Delete the records named that are of this kind, and return how many existed. Unknown ids are ignored."""


class Experiences(BlockingClient):
    """The experiences of one scope.

    The record's `content` is the lesson, its `cue` says when to use it and is what a search matches; the
    score is in the payload.

    ```python
    memory.experiences.add(
        "A SQL query fails with an ambiguous column", "Qualify every column with its table", score=0.9
    )
    [hit] = memory.experiences.search("error: ambiguous column name: id", limit=1)
    ```
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def add(self, when_to_use: str, experience: str, *, score: float = 1.0, **fields: Unpack[RecordFields]) -> Record:
        """Keep a lesson, and return its record.

        Args:
            when_to_use: the situation it is for.
            experience: what to do, or not to do, then.
            score: the worth that the caller gives it, by convention 0 to 1. It does not change the order of a search;
                `Memory.rate` does.
            **fields: what any record can have, as in `Memory.remember`.

        Raises:
            InvalidInputError: a text is blank, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """

    def search(
        self,
        situation: str,
        *,
        limit: int = 5,
        at_least: float | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Find the experiences made for a situation like this one, best first.

        Args:
            situation: what one is about to do. A blank one finds nothing.
            limit: how many hits at most.
            at_least: only those whose score, as given to `add`, is this or more.
            **options: as in `Memory.recall`.

        Raises:
            InvalidInputError: an argument is wrong.
        """

    def get(self, id: str) -> Record | None:
        """Return the record with this id if it is of this kind, superseded or not; else None."""

    def delete(self, *ids: str) -> int:
        """Delete the records named that are of this kind, and return how many existed. Unknown ids are ignored."""


class Facts(BlockingClient):
    """The facts of one scope. A fact that no longer holds is superseded, not lost.

    ```python
    lives = memory.facts.add("Alice lives in Oslo", happened_at="2023-05-01")
    memory.facts.supersede(lives.id, "Alice lives in Bergen", happened_at="2024-02-01")
    memory.facts.search("where does Alice live?")                          # Bergen
    memory.facts.search("where does Alice live?", as_of="2023-12-31")      # Oslo
    ```
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def add(self, statement: str, *, supersedes: str | None = None, **fields: Unpack[RecordFields]) -> Record:
        """Keep a statement, and return its record.

        Args:
            statement: a sentence that can be understood alone.
            supersedes: the id of the fact whose place it takes.
            **fields: what any record can have, as in `Memory.remember`; `happened_at` is since when it holds.

        Raises:
            InvalidInputError: the statement is blank, or a field is wrong.
            NotFoundError: there is no fact `supersedes`.
            ConflictError: the id is taken and `if_exists` is "error".
        """

    def supersede(self, old_id: str, statement: str, **fields: Unpack[RecordFields]) -> Record:
        """Replace the fact `old_id` with a new statement, in one step, and return the new record.

        Raises:
            NotFoundError: there is no such fact.
            InvalidInputError: the statement is blank, or a field is wrong.
        """

    def all(self, *, as_of: TimeLike | None = None, where: Mapping[str, Any] | None = None) -> list[Record]:
        """Return every fact that holds, or that held `as_of` a time, newest first."""

    def current(self, id: str) -> Record | None:
        """Return the current fact in the place of the fact `id`: itself, or the last one that superseded it.

        None where there is no such fact, or where the last has been deleted.
        """

    def history(self, id: str) -> list[Record]:
        """Return the fact `id` with all it superseded and all that superseded it, oldest first.

        A deleted one ends the chain. [] where there is no such fact.
        """

    def search(self, query: str, *, limit: int = 5, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Find the records of this kind that matter to a query, best first.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most.
            **options: as in `Memory.recall`: where, since, as_of, min_similarity, shared, …

        Raises:
            InvalidInputError: an argument is wrong.
        """

    def get(self, id: str) -> Record | None:
        """Return the record with this id if it is of this kind, superseded or not; else None."""

    def delete(self, *ids: str) -> int:
        """Delete the records named that are of this kind, and return how many existed. Unknown ids are ignored."""


class Memory(BlockingClient):
    """Long-term memory, seen from one scope.

    ```python
    with Memory.open("agent.db") as memory:
        alice = memory.scoped(user="alice")
        alice.remember("Prefers homestays when she travels")
        for hit in alice.recall("where does she like to stay?", limit=5):
            print(f"{hit.score:.2f}  {hit.record.content}")
    ```

    Every verb sees exactly one tenant's one user: without a user the tenant's shared records, never
    everyone's. The labels `agent` and `session` narrow further where the scope has them. A verb may be
    called from any thread and event loop. All raise `ClosedError` when the memory is not open and
    `StoreError` when the store fails. A verb that raises has changed nothing, but for `purge`, `load` and, of
    `admin`, `sweep` and `reindex`, which take several steps: called again, they do those that are left.
    """

    def __init__(self, memory: asynchronous.Memory) -> None: ...

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        tenant: str = ...,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        embedder: EmbedderSpec = None,
        index: str | Index | None = None,
        keep_traces: str | float | None = None,
        key_from: str | None = None,
        confirm: bool | None = None,
        zone: ZoneLike | None = None,
        settings: Settings | None = None,
    ) -> Memory:
        """Return a memory; ``async with`` or ``await`` opens it. The blocking client's is open already.

        Args:
            url: a file, ``sqlite:PATH``, ``:memory:``, or another store's URL; by default what
                MEMORIST_DB says, else ``memorist.db`` in the user's data folder.
            tenant: the first wall.
            user: the second wall; none means the tenant's shared records.
            agent: a label.
            session: a label.
            embedder: see `memorist.embedders.open_embedder`; by default the bundled model.
            index: the URL of a vector database (or an `Index`) that finds candidates in walls too large to be read, as
                ``qdrant://host`` or ``chroma:folder``; see `memorist.indexes.open_index`. None needs none.
            keep_traces: how long a trace of each `recall` and `context` is kept, as ``"7d"`` or in seconds; by default
                what MEMORIST_KEEP_TRACES says, else none is kept. `Admin.traces` returns them.
            key_from: where the key is kept that encrypts a SQLite file: ``file:PATH``, ``env:NAME``,
                ``command:COMMAND`` or ``keyring:SERVICE/NAME``; by default what MEMORIST_KEY_FROM says.
                Without a key the file is plain.
            confirm: whether what an agent asks for by its own tools waits in the inbox, `Admin.inbox`, for the user's
                yes; by default what MEMORIST_CONFIRM says, else nothing waits.
            zone: the zone of whoever the memory is about, such as Europe/Lisbon: "yesterday" is a day of it, and so are
                the days that a context tells; a time that names no zone is one of it. By default what MEMORIST_ZONE
                says, else this machine's. `scoped` sets it for a user.
            settings: everything else; by default read from the environment.

        Raises (on entering):
            StoreUnavailableError, StoreCorruptError, SchemaError: the store cannot be used.
            StoreKeyError: the key cannot be read, or does not fit the file.
            EmbedderMismatchError: it holds vectors of another embedder.
        """

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        token: str | None = None,
        tenant: str = ...,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        zone: ZoneLike | None = None,
        timeout: float = 60.0,
    ) -> Memory:
        """Return a memory at a server of ``memorist serve``; every verb answers as after `open`.

        Args:
            url: the server's, as ``http://127.0.0.1:8765``.
            token: the secret that grants access; a server on this machine may need none.
            tenant: for an operator's token: which. Any other token is bound to its own.
            user: the second wall, where the token is not bound to a user.
            agent: a label.
            session: a label.
            zone: as for `open`, an IANA name; by default the server's.
            timeout: seconds to wait for an answer.

        Raises (on entering):
            StoreUnavailableError: there is no server there.
            ScopeError: the token is not valid, or is of another tenant or user.
        """

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def close(self) -> None:
        """Close the store, for every scope of this memory. A second call does nothing."""

    def traced(self, watch: Watch | Telemetry | None = None) -> Memory:
        """Return the same memory with a span and a measure for each request, its views' included.

        Args:
            watch: what is told of each request; by default OpenTelemetry, with the program's providers.

        Raises:
            MissingExtraError: OpenTelemetry's API is not installed.
        """

    def through(self, door: str | Door, *, token: str | None = None) -> Memory:
        """Return the same memory; what comes through it has `door` as its door, in origins, traces and the audit log.

        The adapters name themselves so. At a server, the door stays that of the server.

        Args:
            door: its name, or a `Door`. It lies inside the door of this memory: it lets nothing in that this one does
                not.
            token: the id of the token that the caller brought, for the audit log.

        Raises:
            InvalidInputError: `door` is not a text.
        """

    @property
    def admin(self) -> Admin:
        """What an operator does in this scope: users, traces, audit, retention, checks and backups."""

    def conversation(self, session: str | None = None) -> Conversation:
        """Return the messages of one session; by default the scope's."""

    @property
    def notes(self) -> Notes:
        """Free texts, found by meaning."""

    @property
    def topics(self) -> Topics:
        """Standing values under exact keys."""

    @property
    def episodes(self) -> Episodes:
        """What happened: a question and its answer, or a task and how it went."""

    @property
    def facts(self) -> Facts:
        """Statements that hold until another takes their place."""

    @property
    def experiences(self) -> Experiences:
        """Lessons, found by when to use them."""

    @property
    def tools(self) -> Tools:
        """Tool calls that worked, guidelines and statistics."""

    def ask(self, request: Request[T]) -> T:
        """Return what the engine answers to a request in this scope; every verb is one call of this."""

    def prepare(self, request: Request[Any]) -> None:
        """Let the engine embed the texts of a request that will come soon. Nothing is stored."""

    @property
    def scope(self) -> Scope:
        """What this memory sees and where it writes."""

    @property
    def clock(self) -> Clock:
        """Returns the present, in UTC. See `Settings.clock`."""

    @property
    def zone(self) -> tzinfo:
        """Whose days are asked for and told, and that of times which name none. See `scoped`."""

    @property
    def trust(self) -> TrustRules:
        """How far each author is trusted: `Settings.trust`; at a server, the server's rules."""

    @property
    def secrets(self) -> Policy | None:
        """What is done with secrets in texts, if the settings say: `Settings.secrets`; None at a server."""

    @property
    def door(self) -> Door:
        """Where calls of this memory come in."""

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

    def unlabelled(self) -> Self:
        """Return the same memory without the labels `agent` and `session`; the walls stay."""

    @overload
    def remember(  # type: ignore[overload-overlap]
        self,
        content: str | Draft | Mapping[str, Any],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[Id] | Id = ...,
        proposed: bool = ...,
        **fields: Unpack[Fields],
    ) -> Record:
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

    @overload
    def remember(
        self,
        content: Iterable[str | Draft | Mapping[str, Any]],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[Id] | Id = ...,
        proposed: bool = ...,
        **fields: Unpack[Fields],
    ) -> list[Record]: ...

    def iterate(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        order: Order = 'oldest',
        shared: bool = False,
        everyone: bool = False,
        page: int = ...,
        **narrowing: Unpack[Narrowing],
    ) -> Iterator[Record]:
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

    def export(self, *, everyone: bool = False) -> Iterator[str]:
        """Yield every record of the scope, superseded ones too, as lines of JSON; the first names the format.

        `load` of the lines gives the same records. `everyone` exports all users of the tenant.
        """

    def load(self, lines: Lines) -> LoadReport:
        """Store what `export` wrote, each record under its own user; records already there are left alone.

        Returns:
            How many were added and were there before, and the lines that could not be read, by number.

        Raises:
            FormatError: the first line is not that of an export, or of a newer version.
            ScopeError: a record of another user than this scope's.
        """

    def revise(
        self,
        id: Id,
        *,
        content: str | Unset = ...,
        cue: str | Unset | None = ...,
        metadata: Mapping[str, Any] | Unset | None = ...,
        payload: Mapping[str, Any] | Unset | None = ...,
        verified: bool | Unset = ...,
        happened_at: TimeLike | Unset | None = ...,
        expires_at: TimeLike | Unset | None = ...,
        source: str | Unset | None = ...,
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

    def rate(self, id: Id, rating: float | None, *, source: str | None = None) -> Record:
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

    def forget(
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

    def relabel(
        self,
        *ids: Id,
        to: str | Unset | None = ...,
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

    def purge(self, *, user: str | None = None, shared: bool = False, dry_run: bool = False) -> Receipt:
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

    def restore(self, records: Iterable[Record]) -> LoadReport:
        """Store whole records as they are, each under its own user; records whose id is there are left alone.

        Returns:
            How many were added and were there before, and those that could not be stored, numbered from 1.

        Raises:
            ScopeError: a record of another user than this scope's.
        """

    def recall(
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

    def context(
        self,
        query: str,
        *,
        tokens: int = 600,
        count_tokens: Callable[[str], int] | None = None,
        min_confidence: float | None = None,
        standing: bool = True,
        topics: Iterable[str] = ...,
        pinned: Iterable[Id] = ...,
        known: Iterable[Id] = ...,
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

    def recent(self, limit: int = 10, *, shared: bool = False, **narrowing: Unpack[Narrowing]) -> list[Record]:
        """Return the newest records by when they happened (or were stored), newest first.

        Args:
            limit: how many at most.
            shared: also the tenant's shared records.
            **narrowing: which records; see `Narrowing`.
        """

    def lookup(self, key: str, *, kind: Kind | str = ..., shared: bool = False) -> Record | None:
        """Return the current record with exactly this key, or None. Never guesses.

        Args:
            key: the key, to the letter.
            kind: the kind of record.
            shared: where the user has no such record, look among the tenant's shared ones.
        """

    def get(self, id: Id) -> Record | None:
        """Return the record with this id in this scope, superseded or not, or None.

        Args:
            id: the id of the record.
        """

    def find(self, ids: Iterable[Id] | Id, *, everyone: bool = False) -> list[Record]:
        """Return the records with these ids, superseded or not. Unknown ids are ignored.

        Args:
            ids: ids of records. One id may be that of several users' records.
            everyone: of all users of the tenant; only where the scope has no user.

        Raises:
            ScopeError: `everyone` behind a user's wall.
        """

    def browse(
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

    def count(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        shared: bool = False,
        everyone: bool = False,
        **narrowing: Unpack[Narrowing],
    ) -> int:
        """Return how many records pass the filter; the arguments are those of `browse`."""

    def vectors(self, ids: Iterable[Id] | Id) -> dict[str, Any]:
        """Return the stored embeddings of records by id: unit vectors, float32, of the embedder's dimensions.

        Args:
            ids: ids of records. Those that do not exist here, and records that have no embedding, are left out.
        """

    def history(self, id: Id) -> list[Change]:
        """Return every change of a record: what, when, by which source; oldest first.

        A forgotten record's texts are gone, its changes are not. [] for one that never was.

        Args:
            id: the id of the record.
        """

    def changes(
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

    def why(self, id: Id) -> Provenance:
        """Return where a record comes from: itself, what it was derived from, and so on to the first message.

        It is empty where there is no such record.

        Args:
            id: the id of the record.
        """

    def derived(self, *ids: Id, **narrowing: Unpack[Narrowing]) -> Derived:
        """Return what was derived from the records named, or from all that pass the filter.

        This is what `forget` with `derived=True` would forget with them, and what it would mark.

        Args:
            *ids: ids of records. Unknown ids are ignored.
            **narrowing: which records; see `Narrowing`.

        Raises:
            InvalidInputError: neither ids nor a filter is given.
        """


class Notes(BlockingClient):
    """The notes of one scope: anything worth keeping, in plain words.

    ```python
    memory.notes.add("The staging database is wiped every Sunday night")
    [hit] = memory.notes.search("when is staging wiped?", limit=1)
    ```
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def add(self, text: str, **fields: Unpack[RecordFields]) -> Record:
        """Keep a text, and return its record.

        Args:
            text: the note.
            **fields: what any record can have, as in `Memory.remember`: id, metadata, source, expires_at, …

        Raises:
            InvalidInputError: the text is blank, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """

    def search(self, query: str, *, limit: int = 5, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Find the records of this kind that matter to a query, best first.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most.
            **options: as in `Memory.recall`: where, since, as_of, min_similarity, shared, …

        Raises:
            InvalidInputError: an argument is wrong.
        """

    def get(self, id: str) -> Record | None:
        """Return the record with this id if it is of this kind, superseded or not; else None."""

    def delete(self, *ids: str) -> int:
        """Delete the records named that are of this kind, and return how many existed. Unknown ids are ignored."""


class Tools(BlockingClient):
    """The tool memory of one scope.

    A tool use is found by its question (the record's `cue`), a guideline by the tool's exact name; for a
    guideline the labels `agent` and `session` do not matter.

    ```python
    memory.tools.record("Flights to Oslo?", "search_flights", {"to": "OSL"}, "3 flights", seconds=0.8)
    [hit] = memory.tools.search("are there flights to Norway's capital?", limit=1)
    ToolUse.of(hit.record).arguments  # {"to": "OSL"}
    (memory.tools.statistics("search_flights")).success_rate  # 1.0
    ```
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def record(
        self,
        question: str | None,
        tool: str,
        arguments: Mapping[str, Any],
        result: Any = '',
        *,
        success: bool = True,
        seconds: float | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        score: float | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Keep a call of a tool, and return its record.

        Args:
            question: what it was called for: what a search matches. None: the call itself is matched.
            tool: the tool's name.
            arguments: what it was called with, JSON.
            result: what it returned, or a summary of that: a text, or any JSON.
            success: whether it did what it should.
            seconds: how long it took.
            tokens: how many tokens it cost.
            cost: how much money, in the caller's currency.
            score: how good the outcome was, in the caller's judgement.
            **fields: what any record can have, as in `Memory.remember`; `verified` makes it an example.

        Raises:
            InvalidInputError: the arguments or the result are not JSON, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """

    def search(
        self,
        question: str,
        *,
        limit: int = 5,
        tool: str | None = None,
        success: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Find the calls made for questions like this one, best first.

        Args:
            question: what one is about to do. A blank one finds nothing.
            limit: how many hits at most.
            tool: only calls of this tool.
            success: only calls that did, or did not, succeed.
            **options: as in `Memory.recall`; `verified` asks for examples (True) or for the others (False).

        Raises:
            InvalidInputError: an argument is wrong.
        """

    def examples(
        self,
        question: str,
        *,
        limit: int = 5,
        tool: str | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Find the verified calls for questions like this one, best first: as `search` with `verified`."""

    def uses(self, tool: str, *, limit: int = 100) -> list[Record]:
        """Return the newest calls of a tool, newest first.

        Raises:
            InvalidInputError: the limit is not a whole number, or over 10,000.
        """

    def trim(self, tool: str, keep: int) -> int:
        """Forget all calls of a tool but the newest `keep`, and return how many are gone."""

    def tools(self) -> list[str]:
        """Return the names of all tools that have a call or a guideline, sorted."""

    def statistics(self, tool: str) -> ToolStatistics:
        """Return how the stored calls of a tool went, counted exactly.

        Raises:
            InvalidInputError: the name is blank.
        """

    def guideline(self, tool: str, *, shared: bool = False) -> str | None:
        """Return the guideline of a tool, by its exact name, or None.

        Args:
            tool: the tool's name.
            shared: where the user has none, look at the tenant's shared ones.

        Raises:
            InvalidInputError: the name is blank.
        """

    def set_guideline(
        self,
        tool: str,
        guideline: str,
        *,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Record:
        """Say how to use a tool, and return the record; what was said before is in its history.

        Raises:
            InvalidInputError: a text is blank, or a field is wrong.
        """

    def delete_guideline(self, tool: str) -> bool:
        """Forget the guideline of a tool, and tell whether there was one."""

    def get(self, id: str) -> Record | None:
        """Return the record with this id if it is of this kind, superseded or not; else None."""

    def delete(self, *ids: str) -> int:
        """Delete the records named that are of this kind, and return how many existed. Unknown ids are ignored."""


class Topics(BlockingClient):
    """The topics of one scope: each has one value, replaced in place.

    Names are matched exactly, to the letter and the space. Nothing is embedded, nothing is guessed, and
    `recall` never finds a topic. The labels `agent` and `session` do not matter: what is set in one session
    stands in the next.

    ```python
    memory.topics.set("user.language_preference", "Elixir")
    memory.topics.get("user.language_preference")  # "Elixir"
    ```
    """

    def __init__(self, memory: Memory | asynchronous.Memory) -> None: ...

    def set(
        self,
        topic: str,
        value: str,
        *,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: TimeLike | None = None,
        author: AuthorLike | None = None,
        derived_from: Sources = ...,
    ) -> Record:
        """Set the value of a topic, and return its record.

        An old value is replaced: the id stays, and `Memory.history` has the old value.

        Args:
            topic: the name.
            value: a text.
            source: who or what says so.
            metadata: the caller's own fields; they replace the old ones.
            expires_at: when it stops being remembered: a point in time, or seconds from now.
            author: as in `Draft`.
            derived_from: as in `Draft`.

        Raises:
            InvalidInputError: the topic or the value is blank, or a field is wrong.
        """

    def get(self, topic: str, *, shared: bool = False) -> str | None:
        """Return the topic's value, or None.

        Args:
            topic: the name, exactly.
            shared: where the user has no such topic, look at the tenant's shared ones.

        Raises:
            InvalidInputError: the topic is blank.
        """

    def record(self, topic: str, *, shared: bool = False) -> Record | None:
        """Return the topic's record, with its id, times and source, or None; otherwise as `get`."""

    def list(self, prefix: str = '') -> dict[str, str]:
        """Return every topic that begins with `prefix` and its value, in the order of the names."""

    def delete(self, topic: str) -> bool:
        """Forget a topic, and tell whether there was one.

        Raises:
            InvalidInputError: the topic is blank.
        """
