"""The calls that are played through every door: hostile names, ids, keys, times and types."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from doors.files import FILES, TRANSCRIPTS
from inside import proposal_of

USERS = [
    None, "alice", "bob", "Jos\xe9", "Jose\u0301", "Jos\xe8", " alice", "alice ", "", " ", "a\nb", "ali\u200bce",
    "\u202ea", "a/b",
    "../x", "%61", "a&b=c", "a+b", "u" * 513, "\ud800", "日本", "می\u200cخواهم", "👩\u200d👧", "memorist:server", "-u",
    "null",
]  # fmt: skip
IDS = [
    "x1", " x1", "x1 ", "X1", "x\n1", "x\r\n1", "a/b", "..", ".", "%2F", "%", "?a", "#a", "a&b", "a+b", "é",
    "e\u0301", "-x", "--json",
    "\u200b", "\0", " ", "\ud800", "x" * 300, "日本", "null",
]  # fmt: skip
TEXTS = [
    "Likes tea",
    " leading",
    "trailing\n",
    "a\r\nb",
    "tea\0",
    "é",
    "e\u0301",
    "\u202etea",
    "-",
    "--x",
    " ",
    "",
    "<b>",
    "\ud800",
    "@x",
]
TIMES: list[Any] = [
    "2024-05-01", "1:56 pm on 8 May, 2023", 1683554160, 1683554160.5, "05.01.2024", "10/11/2012",
    "2024-05-01 12:00 EST", "soon",
    "", " ", True, None, "1." * 60, 1e300, "2024-05-01T12:00+02:00", [], "7 days ago", "90d",
]  # fmt: skip
ZONES = [None, None, None, "Asia/Tokyo", "America/New_York", "Pacific/Auckland", "UTC", "Mars/Base", "", "../x"]
ODD: list[Any] = [None, True, 5, 2.5, [], {}, "x"]
LIMITS: list[Any] = [0, -1, 50, 10_000, 10_001, 10**30, "5", True, None, 2.5]
METADATA: list[Any] = [
    {},
    {"a": 1},
    {"\ud800": "\ud800"},
    {"a": {"b": [1, None, "é"]}},
    {"a": 2**70},
    {"": 1},
    {"a.b": 1},
    [],
    "x",
    None,
    5,
]
WHERE: list[Any] = [
    {"a": 1},
    {"a": {"$gte": 0}},
    {"a": {"$near": 1}},
    {"$or": []},
    {"$and": 5},
    {},
    [],
    "x",
    None,
    {"a": 2**64},
    {"a.b": 1},
    {"\ud800": "\ud800"},
]
KINDS: list[Any] = ["note", "message", "topic", "fact", "nots", "NOTE", "", None, 5, ["note", "fact"], []]
UNKNOWN = ["user_id", "k", "top_k", "colour", "filters", "limitt", "contents"]


@dataclass(frozen=True)
class Earlier:
    """Stands for the id of the nth record that was stored in this play, whatever it is behind a door."""

    number: int


@dataclass(frozen=True)
class Call:
    """A verb, whose records it is about, its arguments, and whose days they mean."""

    verb: str
    user: str | None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    zone: str | None = None


_ids = st.sampled_from(IDS) | st.builds(Earlier, st.integers(0, 2))
_times, _odd, _flags = st.sampled_from(TIMES), st.sampled_from(ODD), st.sampled_from([True, False, None, "yes", 1])
_narrowing = {
    "kind": st.sampled_from(KINDS), "where": st.sampled_from(WHERE), "since": _times, "until": _times,
    "session": st.sampled_from(["s1", "", " s", "a\nb", "\ud800", 5]),
}  # fmt: skip
_proposals = st.sampled_from([*map(proposal_of, TEXTS[:4]), "x1"])
_RULES: list[Any] = [
    [], [{"keep": "forever"}], [{"keep": "36500d", "kind": "note"}], [{"keep": "1d", "kind": ["note", "fact"]}],
    [{"keep": "90d", "session": "s1"}, {"keep": "forever", "where": {"a": 1}}], [{"keep": "soon"}], [{"kind": "note"}],
    [{"keep": "1d", "kind": "nots"}], [{"keep": "1d", "key": "x"}], [5], {"keep": "1d"}, "note=1d", 5,
]  # fmt: skip
_trust = st.sampled_from(["low", "medium", "full", "", 5, None])
_listing = {**_narrowing, "shared": _flags, "min_trust": _trust, "limit": st.sampled_from(LIMITS)}
VERBS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "remember": (
        {"content": st.sampled_from([*TEXTS, None, True, 5])},
        {"id": st.sampled_from(IDS), "key": st.sampled_from(IDS), "kind": st.sampled_from(KINDS[:9]),
         "happened_at": _times, "expires_at": _times, "metadata": st.sampled_from(METADATA),
         "cue": st.sampled_from(TEXTS), "source": st.sampled_from(["me", "", "\ud800", 5]),
         "derived_from": st.lists(_ids, max_size=2) | st.sampled_from(["x1", 5, [5], None]),
         "author": st.sampled_from(["tool", ["web", "user"], "boss", [], 5]),
         "session": _narrowing["session"], "verified": _flags, "rating": st.sampled_from([0.5, 2, "1", True, None])},
    ),
    "get": ({"id": _ids}, {}),
    "history": ({"id": _ids}, {}),
    "revise": ({"id": _ids}, {"content": st.sampled_from(TEXTS) | _odd, "metadata": st.sampled_from(METADATA),
                              "verified": _flags, "happened_at": _times}),
    "rate": ({"id": _ids, "rating": st.sampled_from([1, -1, 0.5, None, 2, "1", True, 10**400])}, {}),
    "forget": ({"id": _ids}, {}),
    "why": ({"id": _ids}, {}),
    "derived": ({"id": _ids}, {}),
    "lookup": ({"key": st.sampled_from(IDS)}, {"kind": st.sampled_from(KINDS[:9]), "shared": _flags}),
    "recall": ({"query": st.sampled_from(TEXTS) | _odd}, _listing),
    "context": ({"query": st.sampled_from(["When was tea bought?", "tea", ""]) | _odd}, _narrowing),
    "recent": ({}, _listing),
    "browse": ({}, {**_listing, "superseded": _flags, "order": st.sampled_from(["oldest", "key", "up", None]),
                    "key_prefix": st.sampled_from(["x", "", 5])}),
    "count": ({}, {**_narrowing, "superseded": _flags}),
    "changes": ({}, {**_narrowing, "min_trust": _trust, "limit": _listing["limit"], "min_score": _odd,
                     "cursor": st.sampled_from(["", "x", 5])}),
    "traces": ({}, {"since": _times, "until": _times, "empty": _flags, "limit": _listing["limit"]}),
    "retain": ({"rules": st.sampled_from(_RULES)}, {}),
    "retention": ({}, {"rules": st.sampled_from([None, *_RULES])}),
    "sweep": ({}, {}),
    "audit": ({}, {"limit": _listing["limit"]}),
    "checkpoint": ({}, {}),
    "verify_audit": ({}, {}),
    "import": ({"file": st.sampled_from(sorted(FILES))}, {}),
    "hook": ({"transcript": st.sampled_from(sorted(TRANSCRIPTS))}, {}),
    "propose": ({"content": st.sampled_from(TEXTS)}, {}),
    "inbox": ({}, {}),
    "approve": ({"id": _proposals}, {"content": st.sampled_from([*TEXTS, None])}),
    "reject": ({"id": _proposals}, {"undo": _flags}),
    "purge": ({}, {"shared": st.sampled_from([True, False]), "dry_run": st.sampled_from([True, False])}),
}  # fmt: skip

EXPIRED = [
    Call("remember", "alice", {"content": "Likes tea", "expires_at": "2001-01-01"}),
    Call("remember", "alice", {"content": "Likes milk"}),
    Call("forget", "alice", {"id": Earlier(0)}),
    Call("purge", "alice", {"dry_run": True}),
    Call("purge", "alice", {"dry_run": False}),
]
"""What has expired is hidden, and yet purged."""
TWICE = [Call("remember", "alice", {"content": "Likes tea", "id": "x1"})] * 2
"""An id is taken, whatever the content."""
CHANGED = [
    Call("remember", "alice", {"content": text, "happened_at": day})
    for text, day in (("I take 40 mg of thyroxine", "2024-05-01"), ("I take 60 mg of thyroxine now", "2024-06-01"))
]
CHANGED += [Call("changes", "alice", {}), Call("changes", "bob", {}), Call("changes", "alice", {"until": "2024-05-31"})]
"""A state changed, for one user, on a day."""
ZONED = [
    Call("remember", "alice", {"content": "The tea was bought yesterday", "happened_at": given}, zone)
    for given, zone in (
        ("2026-11-02 20:30", "America/New_York"), ("2026-11-03T01:30:00Z", None), ("2026-11-02", "Asia/Tokyo"),
        ("2026-11-02T20:30:00-05:00", "Asia/Tokyo"), ("2026-11-01 01:30", "America/New_York"),
    )
]  # fmt: skip
ZONED += [
    Call(verb, "alice", {**asked, bound: "2026-11-03"}, zone)
    for zone in (None, "America/New_York", "Asia/Tokyo", "Mars/Base")
    for bound in ("since", "until")
    for verb, asked in (("browse", {}), ("recent", {}), ("count", {}), ("context", {"query": "When was tea bought?"}))
]
ZONED += [Call("context", "alice", {"query": "When was tea bought?"}, call.zone) for call in ZONED[-32::8]]
"""Times of several zones, and days asked for and told in each."""
_TEA = {"id": proposal_of("Likes tea")}
PROPOSED = [
    Call("propose", "alice", {"content": "Likes tea"}),
    Call("reject", "alice", _TEA),
    Call("propose", "alice", {"content": "Likes tea"}),
    Call("inbox", "alice", {}),
    Call("reject", "alice", {**_TEA, "undo": True}),
    Call("inbox", "alice", {}),
    Call("approve", "bob", _TEA),
    Call("approve", "alice", {**_TEA, "content": "Likes green tea"}),
    Call("approve", "alice", _TEA),
    Call("recent", "alice", {}),
    Call("propose", "alice", {"content": "Likes tea"}),
    Call("purge", "alice", {}),
    Call("inbox", "alice", {}),
]
"""An agent asks, and the user rejects it, takes that back, and approves it in other words."""
WHOLE = ("retain", "retention", "sweep", "checkpoint", "verify_audit")
"""The verbs that are refused behind a user's wall."""


FILED = ("import", "hook")
"""The verbs that are given files."""
IMPORTED = [
    Call("import", user, {"file": name})
    for user in ("alice", None, "bob")
    for name in FILES
    for _ in range(1 + (user == "alice"))
]
"""Each file is imported for a user, again, for everyone, and for another."""
HOOKED = [
    *(Call("hook", user, {"transcript": name}) for user in ("alice", "alice", "bob") for name in TRANSCRIPTS),
    Call("browse", "alice", {}),
]
"""Each transcript is kept for a user, again, and for another."""


@st.composite
def calls(draw: Any) -> Call:
    verb = draw(st.sampled_from([*VERBS, *["remember"] * 6]))
    needed, optional = VERBS[verb]
    arguments = {name: draw(values) for name, values in needed.items()}
    for name in draw(st.lists(st.sampled_from(sorted(optional)), max_size=2, unique=True)) if optional else []:
        arguments[name] = draw(optional[name])
    if draw(st.integers(0, 15)) == 0 and verb not in FILED:
        arguments[draw(st.sampled_from(UNKNOWN))] = draw(_odd)
    users = [None, None, "bob"] if verb in WHOLE else ["alice", "alice", "alice", *USERS[verb == "audit" :]]
    zone = None if verb in (*WHOLE, *FILED) else draw(st.sampled_from(ZONES))
    return Call(verb, draw(st.sampled_from(users)), arguments, zone)
