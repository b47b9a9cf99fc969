"""The audit log of a store, written in the transactions of the changes that it notes."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from memorist.audit.log import Act, AuditEntry, Counts, Mode, canonical
from memorist.records.scope import Wall


class AuditLog(ABC):
    """The log; see `memorist.audit.log`. Its mode is kept in the store, so that every process obeys the same one."""

    @abstractmethod
    async def mode(self) -> Mode:
        """Return what is logged."""

    @abstractmethod
    async def switch(self, mode: Mode, act: Act) -> None:
        """Set what is logged, and log the change of the mode; old entries stay."""

    @abstractmethod
    async def note(self, wall: Wall, counts: Counts, act: Act) -> None:
        """Append an entry about a read, durably, unless reads are not logged."""

    @abstractmethod
    async def entries(self, after: int | None, limit: int, wall: Wall | None = None) -> list[AuditEntry]:
        """Return up to `limit` entries in order, whatever their numbers; of one wall, if it is given.

        They follow the number `after`, or are the first ones if it is None.
        """

    @abstractmethod
    async def last(self) -> AuditEntry | None:
        """Return the last entry; None if there is none."""


_UNREADABLE: Mapping[str, Any] = {
    "at": "", "verb": "unreadable", "door": "", "token": None, "tenant": "", "wall": None, "records": {},
}  # fmt: skip


def entry_of(row: tuple[Any, ...]) -> AuditEntry:
    """Return the entry made of (number, entry, hash), as tables hold it.

    A text that no store wrote is shown under "entry", and its hash is wrong.
    """
    number, text, hash = row
    try:
        said = json.loads(text)
        if said.keys() >= _UNREADABLE.keys() and canonical(said) == text:
            return AuditEntry(number, said, hash)
    except (AttributeError, RecursionError, TypeError, ValueError):
        pass
    return AuditEntry(number, {**_UNREADABLE, "entry": str(text)}, hash)
