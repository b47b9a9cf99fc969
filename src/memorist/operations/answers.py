"""What the verbs `context`, `changes`, `purge`, `traces` and `inbox` return."""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal, TypeAlias

from memorist.records.codec import Plain
from memorist.records.origins import Trust
from memorist.records.record import Record, Replaced
from memorist.records.scope import Scope

Why: TypeAlias = Literal["topic", "pinned", "standing", "recalled", "asked", "earlier", "later"]
"""Why a record stands in a context: its topic was asked for, it was pinned, it holds in every turn, it was
recalled, it asks what a recalled message answers, it held before a recalled fact, or it replaces a recalled record."""


RECEIPT = "memorist receipt"
"""The type of a signed statement about a purge."""
DRY_RUN = "memorist purge dry run"
"""The type of a statement about a purge that was not carried out. It is never signed."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a purge did. It holds no text of the user, and of the name only a salted hash.

    Attributes:
        statement: what is signed, as JSON has it; `signing.check` verifies it. "records" are the numbers by
            kind, "tokens", "traces" and "proposals" how many of these there were, "searched" the places where the
            user's texts were searched for and how many were found, and "copies" says what else holds or may hold them.
            "elsewhere" counts texts that records of others hold too.
    """

    statement: Mapping[str, Any]

    @property
    def purged(self) -> int:
        """How many records are gone; of a dry run, how many would be."""
        return sum(self.statement["records"].values())

    @property
    def dry_run(self) -> bool:
        """Whether nothing was deleted, and it only says what would be."""
        return bool(self.statement["type"] == DRY_RUN)

    @property
    def clean(self) -> bool:
        """Whether none of the user's texts was found in any place that was searched; never of a dry run."""
        return not self.dry_run and not any(place["found"] for place in self.statement["searched"])

    def is_of(self, user: str) -> bool:
        """Return whether it is about this user."""
        subject = self.statement["subject"]
        name = unicodedata.normalize("NFC", user)  # as a scope keeps it
        return subject is not None and subject["hash"] == subject_hash(subject["salt"], name)


def subject_hash(salt: str, user: str) -> str:
    """Return the hash by which a receipt names a user."""
    return hashlib.sha256(f"{salt}\n{user}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Source(Plain):
    """A record that another comes from.

    Attributes:
        record: the record.
        trust: how far it is trusted, by the operator's rules.
        depth: how many derivations lie between the two; 0 for the record asked about.
    """

    record: Record
    trust: Trust
    depth: int


@dataclass(frozen=True, slots=True)
class Provenance(Plain):
    """Where a record comes from.

    Attributes:
        sources: the record itself, then those it was derived from, then those these were derived from, and so on.
        missing: the ids of sources that are not there any more.
    """

    sources: tuple[Source, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Derived(Plain):
    """What was derived from some records.

    Attributes:
        alone: what was drawn from them alone, directly or not.
        partly: what also rests on other records.
    """

    alone: tuple[Record, ...] = ()
    partly: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Suggestion(Plain):
    """Records that may be archived, for the user to decide.

    Attributes:
        id: the same as long as neither the records nor what is to be kept change.
        what: "duplicate", "contradiction", "unused" or "junk".
        records: what would be archived.
        keep: the record that says what they say, or what holds in their place; None where there is none.
        why: in words.
        score: how sure it is, 0 to 1.
    """

    id: str
    what: str
    records: tuple[Record, ...]
    keep: Record | None
    why: str
    score: float


@dataclass(frozen=True, slots=True)
class TidyReport(Plain):
    """What may be archived.

    Attributes:
        suggestions: for the user to decide.
        more: of what there is more than was asked for.
        untried: what was not looked for, and why.
    """

    suggestions: tuple[Suggestion, ...] = ()
    more: tuple[str, ...] = ()
    untried: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replacement(Plain):
    """A record that tells another state of the same than an earlier one: what changed, and from what.

    Attributes:
        record: the later record; it changed at `record.at`.
        former: the earlier one. It is still there, and told as of an earlier time.
        score: how likely the one replaces the other, 0 to 1; 1 where a program said so with `supersedes`.
        signs: what in the later text shows the change: words such as "moved", numbers that differ; () where a program
            said so.
    """

    record: Record
    former: Record
    score: float
    signs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReplacementPage(Plain):
    """One page of changes, newest first, and the cursor that the next call takes (None at the end)."""

    changes: Sequence[Replacement]
    next: str | None = None


@dataclass(frozen=True, slots=True)
class ContextItem(Plain):
    """A record in a context.

    Attributes:
        record: the whole record, with its id, scope and source.
        text: what the context shows of it; `…` stands where something is left out.
        why: what brought it here.
        score: of a recalled record, how likely it answers, 0 to 1; 1 for what always holds.
        replaced: the later record that most likely tells another state of the same; None where there is none.
        reason: why it is told, in words: of a recalled record, its place and its share of the probability.
    """

    record: Record
    text: str
    why: Why
    score: float
    replaced: Replaced | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Context(Plain):
    """What an agent is told.

    Attributes:
        text: for the prompt; "" when there is nothing to tell.
        confidence: how likely the memory holds the answer, 0 to 1; 0 for a blank question.
        items: the records shown, in the order of the text.
        tokens: how long the text is, by the counter of the call.
        error: why nothing could be read, where an agent's turn goes on without memory; else None.
        cut: why no more is told, in words: how many of the recalled records earn their tokens, and what that takes; ""
            where nothing was recalled.
    """

    text: str = ""
    confidence: float = 0.0
    items: tuple[ContextItem, ...] = ()
    tokens: int = 0
    error: str | None = None
    cut: str = ""

    def places(self) -> list[tuple[int, int] | None]:
        """Return where in the text the words of each item begin and end; None where they are not found as they are."""
        found, last = list[tuple[int, int] | None](), 0
        for item in self.items:
            words = " ".join(item.text.split())
            begin = self.text.find(words, last) if words else -1
            found.append(None if begin < 0 else (begin, begin + len(words)))
            last = last if begin < 0 else begin + len(words)
        return found


@dataclass(frozen=True, slots=True)
class TracedHit(Plain):
    """A record that a call gave, or just missed; its text is not kept here.

    Attributes:
        id: the record's.
        score: as of a `Hit`, or a `ContextItem`.
        why: as of a `ContextItem`; "recalled" of a hit.
        shared: whether the record is one of the tenant's shared ones.
        place: where in the trace's text its words begin and end.
    """

    id: str
    score: float
    why: Why = "recalled"
    shared: bool = False
    place: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace(Plain):
    """What one call of `recall` or `context` was asked, and what came of it.

    Attributes:
        id: the trace's.
        at: when it was asked.
        scope: in which scope.
        verb: "recall" or "context".
        door: through which door: "python", "rest", "mcp", "cli" or an adapter's name, such as "langgraph".
        question: as it was asked.
        asked: the other arguments that were given, as JSON has them; without `known` and `vector`.
        text: of a context, the text that was told; else "".
        confidence: of a context; else None.
        tokens: of a context, the length of its text; else None.
        hits: what was given: the hits of a recall, best first, or the records shown by a context, in its order.
        missed: what ranked just below that, best first: at most five.
        seconds: how long the call took.
        parts: how long its parts took, in seconds: "index" (taking in what was stored since), "embedding",
            "signals" (ranking), "fetch" (of the records) and "choosing" (all else: of a context, what is told).
        error: the class of the error that ended the call; else None.
    """

    id: str
    at: datetime
    scope: Scope
    verb: str
    door: str
    question: str
    asked: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    confidence: float | None = None
    tokens: int | None = None
    hits: tuple[TracedHit, ...] = ()
    missed: tuple[TracedHit, ...] = ()
    seconds: float = 0.0
    parts: Mapping[str, float] = field(default_factory=dict)
    error: str | None = None


@dataclass(frozen=True, slots=True)
class TracePage(Plain):
    """One page of traces, newest first, and the cursor that the next call takes (None at the end)."""

    traces: Sequence[Trace]
    next: str | None = None


_SHOWN = frozenset("author content derived_from embed id ids kind key records supersedes verified".split())
"""The fields of a proposal that are shown otherwise, or that whoever approves it decides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal(Plain):
    """What an agent asks for, and the user has not decided yet.

    Attributes:
        id: what `approve` and `reject` take.
        at: when the agent asked for it.
        expires_at: until when it waits.
        scope: in which scope.
        verb: "remember", "revise" or "forget".
        door: through which door it came: "mcp", or an adapter's name.
        authors: who has a hand in it, by name.
        content: the text to remember or to change to, or the beginnings of the texts to forget.
        asked: the arguments of the verb, as JSON has them.
        ids: the records that it would change, supersede or forget, or is drawn from.
        state: "waiting"; "approving" while it is carried out, and where that was cut off, so that it can only be
            approved again; "rejected".
    """

    id: str
    at: datetime
    expires_at: datetime | None
    scope: Scope
    verb: str
    door: str
    authors: tuple[str, ...]
    content: str
    asked: Mapping[str, Any] = field(default_factory=dict)
    ids: tuple[str, ...] = ()
    state: Literal["waiting", "approving", "rejected"] = "waiting"

    @property
    def drafts(self) -> Sequence[Mapping[str, Any]]:
        """The fields of the records that it would store."""
        found: Sequence[Mapping[str, Any]] = self.asked.get("records", ())
        return found

    @property
    def parts(self) -> "Sequence[Proposal]":
        """Each of several records as a proposal of its own; () of one."""
        parts = (replace(self, content=each["content"], asked={"records": (each,)}) for each in self.drafts)
        return tuple(parts) if len(self.drafts) > 1 else ()

    @property
    def changeable(self) -> bool:
        """Whether there is one text, in the place of which the user can approve another."""
        return self.state == "waiting" and ("content" in self.asked or len(self.drafts) == 1)

    @property
    def details(self) -> Mapping[str, Any]:
        """What would be stored beside the text, by name: a cue, metadata, an expiry; of several records see `parts`.

        And what else would be done: which records are forgotten for it, whether what was derived from some goes too.
        """
        given = {**self.asked, **self.drafts[0]} if len(self.drafts) == 1 else self.asked
        return {name: value for name, value in given.items() if name not in _SHOWN and value}


@dataclass(frozen=True, slots=True)
class Exposed(Plain):
    """What holds a secret of a known form. The secret itself is not in it.

    Attributes:
        id: the record's.
        user: whose it is; None for shared records.
        kind: what sort of memory it is.
        where: "record", "history" for its earlier versions alone, "trace", "proposal", or "state" for a framework's
            own, which is never masked: forget it.
        forms: the names of the forms, such as "github-pat".
    """

    id: str
    user: str | None
    kind: str
    where: str
    forms: tuple[str, ...]
