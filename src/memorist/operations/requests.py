"""Requests: one frozen, checked type for each verb. Every door makes them, every engine answers them.

A verb is declared here and nowhere else: its arguments with their types, defaults and limits are the fields, its texts
the docstring. `Memory`, its blocking client, `Admin`, the views, MCP's tools, REST's description are made from it. All
rules about arguments are here and in `arguments`. A request made from a Python call, a JSON body, a tool call or a
command line passes the same constructor, so that no door is laxer than another:

```python
Recall(query="where does she like to stay?", limit=5, since="2024-01-01")
Recall.of({"query": "where does she like to stay?", "k": 5})  # InvalidInputError: … did you mean 'limit'?
```
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args

from memorist.audit.log import AuditEntry
from memorist.errors import InvalidInputError, ScopeError, path_taken, shown
from memorist.operations import answers as results
from memorist.operations import arguments as read
from memorist.operations.arguments import UNSET, Unset
from memorist.operations.lines import LoadReport
from memorist.operations.options import Bounds, Narrowing
from memorist.operations.request import Id, Kinds, Listed, Named, Narrowed, Request, Takes, Timed, Where, declared
from memorist.records.filters import Filter, make_filter
from memorist.records.origins import AuthorLike
from memorist.records.record import VALUES, Change, Draft, Hit, Kind, Order, Page, Record
from memorist.records.retention import RetentionReport, Rule, RuleLike, parse_rules
from memorist.records.scope import Scope
from memorist.records.times import TimeLike

__all__ = [
    "Approve",
    "Archive",
    "Audit",
    "Backup",
    "Bounds",
    "Browse",
    "Changes",
    "Check",
    "Checkpoint",
    "Context",
    "Count",
    "Derived",
    "Find",
    "Forget",
    "Get",
    "History",
    "Id",
    "IfExists",
    "Inbox",
    "Kinds",
    "Lookup",
    "Mode",
    "Narrowing",
    "Purge",
    "Rate",
    "Recall",
    "Recent",
    "Reindex",
    "Reject",
    "Relabel",
    "Remember",
    "Request",
    "Restore",
    "Retain",
    "Retention",
    "Revise",
    "Secrets",
    "Sweep",
    "Tidy",
    "Traces",
    "Users",
    "Values",
    "Vectors",
    "Where",
    "Why",
]

IfExists: TypeAlias = Literal["error", "replace", "ignore"]
Mode: TypeAlias = Literal["hybrid", "dense", "lexical"]


# --- writing -------------------------------------------------------------------------------------------


MOST_WAITED_FOR = 32
"""The most records of a conversation whose embedding a caller waits for: a turn has a few, a conversation that is
brought along has thousands."""


@declared
class Remember(Request[list[Record]]):
    """Store records, all or none; see `Memory.remember`."""

    writes = True
    records: Annotated[tuple[Draft, ...], read.drafts]
    if_exists: Annotated[IfExists, read.one_of(*get_args(IfExists))] = "error"
    forgetting: Annotated[tuple[str, ...], read.handles] = ()
    embed: Annotated[Literal["now", "later", "behind"], read.one_of("now", "later", "behind")] = "now"
    """"later": they are found by their words alone until `Admin.reindex` gives them vectors; "behind": until the
    engine does so, which begins at once."""
    proposed: Annotated[bool, read.flag] = False


@declared
class Revise(Request[Record]):
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

    writes = True
    id: Annotated[Id, read.handle]
    content: Annotated[str | Unset, read.text] = UNSET
    cue: Annotated[str | Unset | None, read.optional(read.text)] = UNSET
    metadata: Annotated[Mapping[str, Any] | Unset | None, read.optional(read.mapping)] = UNSET
    payload: Annotated[Mapping[str, Any] | Unset | None, read.optional(read.mapping)] = UNSET
    verified: Annotated[bool | Unset, read.flag] = UNSET
    happened_at: Annotated[TimeLike | Unset | None, read.optional(read.time)] = UNSET
    expires_at: Annotated[TimeLike | Unset | None, read.optional(read.expiry)] = UNSET
    source: Annotated[str | Unset | None, read.optional(read.handle)] = UNSET
    author: Annotated[AuthorLike | None, read.authors] = None
    proposed: Annotated[bool, read.flag] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        changes = self.changes()
        if not changes or (changes.keys() == {"source"} and self.source is not None):
            raise InvalidInputError("name a field to revise")

    def changes(self) -> dict[str, Any]:
        """Return the fields to change, and their new values; None where there is to be none."""
        names = [name for name in self.arguments() if name not in ("id", "author", "proposed")]
        given = {name: value for name in names if (value := getattr(self, name)) is not UNSET}
        return {
            name: {} if value is None and name in ("metadata", "payload") else value for name, value in given.items()
        }


@declared
class Rate(Request[Record]):
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

    writes = True
    id: Annotated[Id, read.handle]
    rating: Annotated[float | None, read.optional(read.rating)]
    source: Annotated[str | None, read.handle] = None


@declared
class Forget(Named[int]):
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

    writes = True
    _else = "; to delete everything of a scope, use purge"
    source: Annotated[str | None, read.handle] = None
    derived: Annotated[bool, read.flag] = False
    proposed: Annotated[bool, read.flag] = False


@declared
class Relabel(Named[int]):
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

    writes = True
    to: Annotated[str | Unset | None, read.optional(read.label)] = UNSET
    undo: Annotated[bool, read.flag] = False
    limit: Annotated[int | None, read.limit] = None
    source: Annotated[str | None, read.handle] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.to is UNSET) != self.undo:
            raise InvalidInputError("name the label as `to`, or pass undo=True in its place")


@declared
class Purge(Request[results.Receipt]):
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

    user: Annotated[str | None, read.label] = None
    shared: Annotated[bool, read.flag] = False
    dry_run: Annotated[bool, read.flag] = False

    @property
    def writes(self) -> bool:  # type: ignore[override]
        """Whether anything is deleted."""
        return not self.dry_run

    def wall_of(self, scope: Scope) -> Scope:
        """Return the scope to purge.

        Raises:
            ScopeError: another user than the scope's, or the scope has a label.
            InvalidInputError: no user is named and `shared` is not given, or both are.
        """
        narrowed = scope.narrowed(user=self.user)
        if scope.agent is not None or scope.session is not None:
            raise ScopeError("purge deletes everything of a user; to delete by a label, use forget(session=...)")
        if narrowed.user is None and not self.shared:
            raise InvalidInputError("name the user to purge; to purge the tenant's shared records, pass shared=True")
        if narrowed.user is not None and self.shared:
            raise InvalidInputError(f"shared=True purges the shared records; this would purge user {narrowed.user!r}")
        return narrowed


@declared
class Restore(Request[LoadReport]):
    """Store whole records as they are, each under its own user; records whose id is there are left alone.

    Returns:
        How many were added and were there before, and those that could not be stored, numbered from 1.

    Raises:
        ScopeError: a record of another user than this scope's.
    """

    writes = True
    records: Annotated[tuple[Record, ...], read.records, Takes(Iterable[Record])]


# --- reading -------------------------------------------------------------------------------------------


@declared
class Recall(Narrowed[list[Hit]]):
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

    query: Annotated[str, read.text]
    limit: Annotated[int, read.limit] = 5
    as_of: Annotated[TimeLike | None, read.bound] = None
    now: Annotated[TimeLike | None, read.time] = None
    shared: Annotated[bool, read.flag] = False
    min_score: Annotated[float, read.number] = 0.0
    min_similarity: Annotated[float, read.number] = 0.0
    mode: Annotated[Mode, read.one_of(*get_args(Mode))] = "hybrid"
    explain: Annotated[bool, read.flag] = False
    vector: Annotated[Any, read.vector] = field(default=None, compare=False)

    def _more(self) -> dict[str, Any]:
        return {"as_of": self.as_of}


@declared
class Context(Narrowed[results.Context]):
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

    query: Annotated[str, read.text]
    tokens: Annotated[int, read.tokens] = 600
    count_tokens: Callable[[str], int] | None = None
    min_confidence: Annotated[float | None, read.probability] = None
    standing: Annotated[bool, read.flag] = True
    topics: Annotated[tuple[str, ...], read.handles, Takes(Iterable[str])] = ()
    pinned: Annotated[tuple[str, ...], read.handles, Takes(Iterable[Id])] = ()
    known: Annotated[tuple[str, ...], read.handles_or_words, Takes(Iterable[Id])] = ()
    as_of: Annotated[TimeLike | None, read.bound] = None
    now: Annotated[TimeLike | None, read.time] = None
    shared: Annotated[bool, read.flag] = False


@declared
class Recent(Listed[list[Record]]):
    """Return the newest records by when they happened (or were stored), newest first.

    Args:
        limit: how many at most.
        shared: also the tenant's shared records.
        **narrowing: which records; see `Narrowing`.
    """

    limit: Annotated[int, read.limit, Takes(by="place")] = 10
    shared: Annotated[bool, read.flag] = False


@declared
class Lookup(Request[Record | None]):
    """Return the current record with exactly this key, or None. Never guesses.

    Args:
        key: the key, to the letter.
        kind: the kind of record.
        shared: where the user has no such record, look among the tenant's shared ones.
    """

    key: Annotated[str, read.handle]
    kind: Annotated[Kind | str, read.kind] = Kind.TOPIC
    shared: Annotated[bool, read.flag] = False


@declared
class Get(Request[Record | None]):
    """Return the record with this id in this scope, superseded or not, or None.

    Args:
        id: the id of the record.
    """

    id: Annotated[Id, read.handle]


@declared
class Find(Request[list[Record]]):
    """Return the records with these ids, superseded or not. Unknown ids are ignored.

    Args:
        ids: ids of records. One id may be that of several users' records.
        everyone: of all users of the tenant; only where the scope has no user.

    Raises:
        ScopeError: `everyone` behind a user's wall.
    """

    ids: Annotated[tuple[str, ...], read.handles, Takes(Iterable[Id] | Id)]
    everyone: Annotated[bool, read.flag] = False


@declared
class Browse(Timed[Page]):
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

    order: Annotated[Order, read.one_of(*get_args(Order))] = "newest"
    limit: Annotated[int, read.limit] = 50
    cursor: Annotated[str | None, read.text] = None


@declared
class Count(Timed[int]):
    """Return how many records pass the filter; the arguments are those of `browse`."""


@declared
class Values(Timed[list[tuple[Any, ...]]]):
    """Return a few fields of every record that passes the filter, as tuples: its kind, then the fields named, in order.

    For what is read whole and often, such as a conversation that a framework reads in each turn: a whole record costs
    several times as much as the texts in it. No door has a verb for it.

    Args:
        fields: which, of `VALUES`.
        order: as in `browse`.
        limit: how many records at most; by default all.
        **narrowing: which records; see `Narrowing`.
    """

    fields: Annotated[tuple[str, ...], read.several_of(*VALUES)]
    order: Annotated[Order, read.one_of(*get_args(Order))] = "oldest"
    limit: Annotated[int | None, read.whole] = None


@declared
class Changes(Listed[results.ReplacementPage]):
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

    min_score: Annotated[float, read.number] = 0.5
    limit: Annotated[int, read.limit] = 20
    cursor: Annotated[str | None, read.text] = None

    def _more(self) -> dict[str, Any]:
        return {**super()._more(), "superseded": True}


@declared
class History(Request[list[Change]]):
    """Return every change of a record: what, when, by which source; oldest first.

    A forgotten record's texts are gone, its changes are not. [] for one that never was.

    Args:
        id: the id of the record.
    """

    id: Annotated[Id, read.handle]


@declared
class Why(Request[results.Provenance]):
    """Return where a record comes from: itself, what it was derived from, and so on to the first message.

    It is empty where there is no such record.

    Args:
        id: the id of the record.
    """

    id: Annotated[Id, read.handle]


@declared
class Derived(Named[results.Derived]):
    """Return what was derived from the records named, or from all that pass the filter.

    This is what `forget` with `derived=True` would forget with them, and what it would mark.

    Args:
        *ids: ids of records. Unknown ids are ignored.
        **narrowing: which records; see `Narrowing`.

    Raises:
        InvalidInputError: neither ids nor a filter is given.
    """


@declared
class Vectors(Request[dict[str, Any]]):
    """Return the stored embeddings of records by id: unit vectors, float32, of the embedder's dimensions.

    Args:
        ids: ids of records. Those that do not exist here, and records that have no embedding, are left out.
    """

    ids: Annotated[tuple[str, ...], read.handles, Takes(Iterable[Id] | Id)]


@declared
class Traces(Request[results.TracePage]):
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

    ids: Annotated[tuple[str, ...], read.handles, Takes(Iterable[Id] | Id, by="place")] = ()
    since: Annotated[TimeLike | None, read.bound] = None
    until: Annotated[TimeLike | None, read.bound] = None
    door: Annotated[str | None, read.text] = None
    empty: Annotated[bool | None, read.flag] = None
    limit: Annotated[int, read.limit] = 50
    cursor: Annotated[str | None, read.text] = None
    everyone: Annotated[bool, read.flag] = False

    def filter(self, scope: Scope, now: datetime, zone: tzinfo = UTC) -> Filter:
        """Return which traces this request is about, asked in `scope` at this time; `zone` as in `Narrowed.filter`."""
        fields = {name: value for name in ("door", "empty") if (value := getattr(self, name)) is not None}
        return make_filter(
            ids=self.ids or None, agent=scope.agent, session=scope.session, since=self.since, until=self.until,
            payload={**fields, "verb": {"$exists": True}}, now=now, zone=zone,
        )  # fmt: skip


@declared
class Users(Request[dict[str | None, int]]):
    """Return how many current memories each user of the tenant has; None stands for the shared ones.

    State, which a framework keeps for itself, does not count; a user who has nothing else has 0.

    Args:
        waiting: count what waits in the inbox of each user instead, and leave out those with nothing.

    Raises:
        ScopeError: behind a user's wall.
    """

    waiting: Annotated[bool, read.flag] = False


# --- the inbox -----------------------------------------------------------------------------------------


@declared
class Inbox(Request[list[results.Proposal]]):
    """Return what agents have asked for and the user has not decided yet, oldest first.

    Where the memory was opened with `confirm`, a proposal waits for 90 days. Until the user approves it, no verb
    recalls, tells, lists, counts or exports it, and it changes no record. An inbox holds 100; more are refused.
    """


@declared
class Approve(Request[list[Record]]):
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

    writes = True
    id: Annotated[str, read.handle]
    content: Annotated[str | None, read.text, Takes(by="place")] = None


@declared
class Reject(Request[results.Proposal]):
    """Refuse what an agent asks for, and return it: for 90 days, the same is refused without asking the user.

    Args:
        id: the proposal's.
        undo: let it wait again, within two minutes after it was rejected. Then its text is deleted.

    Raises:
        NotFoundError: nothing with this id waits, or was rejected.
        ScopeError: an agent calls this.
        ConflictError: it is being approved.
    """

    writes = True
    id: Annotated[str, read.handle]
    undo: Annotated[bool, read.flag] = False


# --- keeping tidy --------------------------------------------------------------------------------------


@declared
class Tidy(Request[results.TidyReport]):
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

    what: Annotated[
        Literal["duplicate", "contradiction", "unused", "junk"] | None,
        read.one_of("duplicate", "contradiction", "unused", "junk"),
    ] = None
    limit: Annotated[int, read.limit] = 50


@declared
class Archive(Request[int]):
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

    writes = True
    ids: Annotated[tuple[str, ...], read.handles, Takes(Id, by="each")] = ()
    by: Annotated[str | None, read.handle, Takes(Id | None)] = None
    undo: Annotated[bool, read.flag] = False
    source: Annotated[str | None, read.handle] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.ids:
            raise InvalidInputError("name ids to archive")
        if self.undo and self.by is not None:
            raise InvalidInputError("pass by or undo, not both")


# --- upkeep --------------------------------------------------------------------------------------------


@declared
class Backup(Request[Path]):
    """Copy the whole store; see `Admin.backup`.

    Args:
        target: a new file, or a folder in which a file named by the time is made.
    """

    target: Path

    def __post_init__(self) -> None:
        try:
            target = Path(self.target).expanduser().absolute()
            taken = target.exists()
        except TypeError as error:
            raise InvalidInputError(f"target must be a path, not {type(self.target).__name__}") from error
        except (OSError, RuntimeError, ValueError) as error:  # too long, of an unknown user's home, or with a NUL
            raise InvalidInputError(f"target cannot be a path: {shown(self.target)}") from error
        if taken:
            raise path_taken(target)
        object.__setattr__(self, "target", target)


@declared
class Audit(Request[list[AuditEntry]]):
    """Return entries of the audit log, oldest first: those about this memory's user, or all of the store.

    The log holds no text, no id and no user's name. It is off until `Settings.audit` switches it on.

    Args:
        after: the number of the entry after which to begin; by default with the first.
        limit: at most so many entries.

    Raises:
        InvalidInputError: the store keeps no log.
    """

    after: Annotated[int | None, read.integer] = None
    limit: Annotated[int, read.limit] = 1000


@declared
class Retain(Request[list[Rule]]):
    """Set how long the tenant's records are kept, in place of the rules before, and return the rules.

    The rules are kept in the store. Every process that writes deletes what is too old, when it opens the store and
    then once an hour. A rule with "forever" is not overridden by any other.

    Args:
        rules: each a `Rule`, or a mapping such as ``{"kind": "message", "keep": "90d"}``; none keep everything.

    Raises:
        InvalidInputError: a rule is wrong.
        ScopeError: behind a user's wall.
    """

    writes = True
    rules: Annotated[tuple[Rule, ...], parse_rules, Takes(Iterable[RuleLike])]


@declared
class Retention(Request[RetentionReport]):
    """Return the tenant's rules and how many records of each kind are too old by them now. Nothing is deleted.

    Args:
        rules: try these; by default those that are set.

    Raises:
        InvalidInputError: a rule is wrong.
        ScopeError: behind a user's wall.
    """

    rules: Annotated[tuple[Rule, ...] | None, parse_rules, Takes(Iterable[RuleLike] | None, by="place")] = None


@declared
class Sweep(Request[int]):
    """Delete at once what of the tenant's has expired or is too old by its rules, and return how many records.

    If it raises, some may be gone already; the others go with the next sweep.

    Raises:
        ScopeError: behind a user's wall.
    """

    writes = True


@declared
class Checkpoint(Request[dict[str, Any]]):
    """Return the number and the hash of the last entry of the audit log, signed with the installation's key.

    Kept elsewhere, it shows later whether the log was changed or cut; see `verify_audit`. Without the extra
    ``signed``, "signature" is None and "unsigned" says so.

    Raises:
        ScopeError: behind a user's wall.
        InvalidInputError: the store keeps no log.
        SignatureError: the key cannot be read or made.
    """


@declared
class Check(Request[list[str]]):
    """Read the whole store and return what is damaged, in sentences; [] where all is sound.

    Raises:
        ScopeError: behind a user's wall.
    """


@declared
class Secrets(Request[list[results.Exposed]]):
    """Return what holds a secret of a known form, of every user of the tenant, without the secret itself.

    Args:
        redact: mask each secret: in the record and in every index. The record's earlier versions go, and so do
            traces with a secret and all that quotes the record; old pages of the store are removed. A framework's
            own state is listed only.

    Raises:
        ConflictError: others changed a record each time it was to be masked; the rest is masked.
        ScopeError: behind a user's wall.
    """

    writes = True
    redact: Annotated[bool, read.flag] = False


@declared
class Reindex(Request[int]):
    """Embed every record anew with the embedder this memory was opened with.

    Searches use the old vectors until the last new one is ready. A run that was killed is resumed.

    Args:
        progress: called with (done, total) after every batch.
        missing: embed only what was stored to be embedded later, which recall finds by its words until then.

    Returns:
        How many records were embedded by this call.
    """

    writes = True
    progress: Annotated[Callable[[int, int], None] | None, Takes(by="place")] = None
    missing: Annotated[bool, read.flag] = False
