"""The audit log: who changed what, and when, as a chain of hashes. It holds no text, query or id, and no user's name.

Each entry's hash covers the hash of the entry before, so nothing in the middle can be changed, removed or added
without a trace. Removed last entries are found by comparison with a checkpoint: the number and hash of the last entry,
kept elsewhere.
"""

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterable, Iterable, Mapping
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias

from memorist.errors import InvalidInputError
from memorist.records.times import iso

Mode: TypeAlias = Literal["off", "changes", "reads"]
"""What is logged: nothing, every change, or every change and every read."""
MODES: tuple[Mode, ...] = ("off", "changes", "reads")
CHECKPOINT = "memorist audit checkpoint"
"""The type of a signed statement about the end of the log."""
Counts: TypeAlias = Counter[tuple[str, str]]
"""The number of changed records, by action and kind."""


class Act(NamedTuple):
    """The call that a change of the store belongs to: a verb, the caller's door, and the id of the caller's token."""

    verb: str
    door: str
    token: str | None = None


class AuditEntry(NamedTuple):
    """An entry of the log.

    `number` counts from 1. `said` holds "at", "verb", "door", "token", "tenant", "wall" (the number of the user's
    wall in the store; it names nobody after a purge) and "records": what happened to how many of which kind.
    """

    number: int
    said: Mapping[str, Any]
    hash: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"number": self.number, **self.said, "hash": self.hash}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "AuditEntry":
        """Return the entry that `to_dict` serialised."""
        said = {name: value for name, value in plain.items() if name not in ("number", "hash")}
        return cls(plain["number"], said, plain["hash"])


def canonical(value: Mapping[str, Any]) -> str:
    """Return the one JSON text by which a mapping is hashed and signed."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def text_of(act: Act | None, at: datetime, tenant: str, wall: int | None, counts: Counts) -> str:
    """Return the text of a new entry.

    Raises:
        InvalidInputError: no caller is given, but an audit log that is switched on must name one.
    """
    if act is None:
        raise InvalidInputError("this store has an audit log: pass the act of each change, as in act=Act(verb, door)")
    records: dict[str, dict[str, int]] = {}
    for (what, kind), count in counts.items():
        if count:
            records.setdefault(what, {})[kind] = count
    said = {"at": iso(at), "verb": act.verb, "door": act.door, "token": act.token, "tenant": tenant, "wall": wall}
    return canonical({**said, "records": records})


def hash_of(before: str, number: int, text: str) -> str:
    """Return the hash of an entry; `before` is that of the entry before, "" for the first."""
    return hashlib.sha256(f"{before}\n{number}\n{text}".encode()).hexdigest()


async def verify(
    entries: AsyncIterable[AuditEntry], checkpoints: Iterable[Mapping[str, Any]] = ()
) -> tuple[int, list[str]]:
    """Return the number of entries, and the faults of the log, in sentences.

    Args:
        entries: all of them, in order.
        checkpoints: the logs' ends as they were seen before, with "number", "hash" and "at".
    """
    expected = {each["number"]: each for each in checkpoints}
    last, before, faults = 0, "", list[str]()
    async for entry in entries:
        if entry.number < 1:
            faults.append(f"entry {entry.number} was inserted: the log begins with entry 1")
            continue
        if entry.number != last + 1:
            faults.append(f"entry {last + 1} is missing: entry {entry.number} follows {last}")
        elif entry.hash != hash_of(before, entry.number, canonical(entry.said)):
            faults.append(f"entry {entry.number} was changed, or the one before it was")
        seen = expected.pop(entry.number, None)
        if seen is not None and seen["hash"] != entry.hash:
            faults.append(f"entry {entry.number} differs from the checkpoint of {seen['at']}: the log was rewritten")
        last, before = entry.number, entry.hash
    for number, seen in sorted(expected.items()):
        if number:
            faults.append(
                f"the log ends at entry {last}, but the checkpoint of {seen['at']} has entry {number}: the end "
                "of the log was removed"
            )
    return last, faults
