"""The contract of a store: what every back end promises, in as few methods as that takes."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorist.filters import Filter
from memorist.records import Action, Change, Kind, Order, Record
from memorist.scope import Reach, Wall

__all__ = [
    "Candidates", "Cursor", "Entries", "Entry", "Order", "Outline", "Put", "Remove", "Staged", "Store", "Vector",
    "Write",
]  # fmt: skip

Vector: TypeAlias = NDArray[np.float32]
Cursor: TypeAlias = tuple[int | str, int, str, str | None]
"""Where a page ended: the last record's time in microseconds (or its key), when it was stored, its id, its user."""


@dataclass(frozen=True, slots=True)
class Put:
    """Store `record`, whole.

    `expected` is the version of the stored record that this one takes the place of, 0 for a new one.
    `terms` holds the analysed terms of the record's text, joined by spaces, and `vector` its embedding;
    both None where recall must not find it. `marks` are words without spaces that say what else the text shows;
    they are no terms. `keep_index` leaves the stored vector, terms and marks as they are.
    `source` is who makes the change, by default the record's own.
    """

    record: Record
    action: Action = Action.REMEMBERED
    expected: int = 0
    vector: Vector | None = None
    terms: str | None = None
    keep_index: bool = False
    source: str | None = None
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Remove:
    """Take the record `id` out, with every text of its history; a missing one is passed over."""

    id: str
    action: Action
    at: datetime
    source: str | None = None


Write: TypeAlias = Put | Remove


class Entry(NamedTuple):
    """What ranking needs of one record; the rest is read only for those found.

    `number` is unique in the store, never used again, and grows in the order of storing. Times are
    microseconds since 1970. `terms` are the analysed words joined by spaces, `marks` those of the `Put`; `vector`
    has unit length at most.
    """

    number: int
    id: str
    kind: Kind
    agent: str | None
    session: str | None
    speaker: str | None
    at: int
    expires_at: int | None
    superseded_at: int | None
    rating: float | None
    terms: str
    vector: Vector | None
    marks: frozenset[str] = frozenset()


class Staged(NamedTuple):
    """The new index of a record, of one version of it, while a reindex is under way."""

    number: int
    version: int
    vector: Vector
    terms: str
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Entries:
    """What changed behind one wall since an epoch: entries to add or replace, and numbers that are gone
    or stand for what recall must no longer find.

    `epoch` is where the next call goes on from; `more` tells that there is more to fetch right now.
    `generation` changes when all that was read before is void (after a purge, or with new vectors).
    """

    generation: str
    epoch: int
    entries: list[Entry]
    gone: list[int]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """What ranking must know of a wall that is too large to be read whole.

    `rows` are its entries and `length` how many terms they have on average; `speakers` are those that have said
    something (of very many, some), and `years` the calendar years that records are of. `generation` as in `Entries`.
    """

    generation: str
    rows: int
    length: float
    speakers: Sequence[str]
    years: Sequence[int]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Entries of a large wall that may be the best: those of the numbers `chosen`, all of which pass the filter, and
    what was said up to two messages before and after each of them in its conversation. Chosen are those found and,
    since a message is understood by its neighbours, what was said up to two messages before and after them.

    `holders` says of each term asked for how many entries behind the wall hold it, and `dialogues` are the sessions
    among the entries' in which more than one voice speaks.
    """

    entries: Sequence[Entry]
    chosen: Sequence[int]
    holders: Mapping[str, int]
    dialogues: Sequence[str]


class Store(ABC):
    """Where records live. The contract, proved by `memorist.testing.StoreContract`:

    - `write` is atomic and durable: when it returns, a power cut loses nothing of it; when it raises,
      nothing of it is there.
    - Every method sees only what is behind the wall, or within the reach, that it is given.
    - An expired record is as good as gone for every method; `sweep` takes it out for real.
    - Every method may be called from any thread and any event loop.
    """

    @abstractmethod
    async def open(self) -> None:
        """Connect, create what is missing, migrate what is old. Where it was cancelled, `close` undoes it."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything; what was acknowledged is safe already. A second call does nothing."""

    @abstractmethod
    async def write(self, wall: Wall, writes: Sequence[Write]) -> list[bool]:
        """Carry out all of `writes` in order, or none; return for each whether it changed anything.

        Raises:
            ConflictError: an id, a key or a version is not as a `Put` expects it.
            EmbedderMismatchError: the vectors' fingerprint is no longer that of the store.
        """

    @abstractmethod
    async def remove(self, wall: Wall, filter: Filter, *, at: datetime, source: str | None = None) -> int:
        """Remove every record that passes the filter, all or none, as `Remove` does; return how many.

        However many there are, they are not held in memory at once. The history notes each as forgotten.
        """

    @abstractmethod
    async def get(self, wall: Wall, ids: Sequence[str]) -> list[Record]:
        """Return those of `ids` that exist, in the order asked, superseded ones included."""

    @abstractmethod
    async def fetch(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Record]:
        """Return the records of these entries; those gone meanwhile are missing."""

    @abstractmethod
    async def select(
        self, reach: Reach, filter: Filter, *, order: Order, limit: int, after: Cursor | None = None
    ) -> list[Record]:
        """Return up to `limit` records in order, beginning after the cursor.

        "newest" and "oldest" go by `Record.at`, then by when it was stored, then by id, and where users have
        records alike in all that, by user in an order of the store's own; "key" by the key, then likewise,
        and leaves out those that have none.
        """

    @abstractmethod
    async def count(self, reach: Reach, filter: Filter) -> int:
        """Return how many records pass the filter."""

    @abstractmethod
    async def users(self, tenant: str) -> dict[str | None, int]:
        """Return how many records each user of a tenant has; None stands for the shared ones."""

    @abstractmethod
    async def tenants(self) -> list[str]:
        """Return the tenants that have records, in order."""

    @abstractmethod
    async def history(self, wall: Wall, id: str) -> list[Change]:
        """Return every change of a record, oldest first; [] for one that never was."""

    @abstractmethod
    async def entries(self, wall: Wall, generation: str | None, epoch: int) -> Entries:
        """Return what ranking must know that changed after `epoch`, at most a few thousand entries.

        Another `generation` than the store's begins anew, as if `epoch` were 0.
        """

    @abstractmethod
    async def matching(self, wall: Wall, filter: Filter) -> NDArray[np.int64]:
        """Return the numbers of the records that pass the filter, in any order."""

    @abstractmethod
    async def vectors(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Vector]:
        """Return the stored vectors of these entries."""

    @abstractmethod
    async def search_words(self, wall: Wall, terms: Sequence[str], limit: int) -> list[tuple[int, float]]:
        """Return the entries that hold any of the analysed terms, with their BM25 score, best first."""

    @property
    def searches_large(self) -> bool:
        """Whether recall should ask for `candidates` in large walls; otherwise it reads every wall whole."""
        return False

    async def outline(self, wall: Wall, largest: int) -> Outline | None:
        """Return what there is to know of a wall of more than `largest` entries; None for a smaller one.

        A store that offers no `candidates` returns None for every wall, as this does.
        """
        return None

    async def candidates(
        self, wall: Wall, outline: Outline, vector: Vector | None, terms: Sequence[str], filter: Filter, limit: int,
        near: Sequence[int] | None = None,
    ) -> Candidates:  # fmt: skip
        """Return up to `limit` entries nearest to a unit vector and as many best by the terms, all passing the filter.

        Asked only where `outline` returned something, not long ago. `near` are the numbers of the nearest, where an
        index has found them; those that do not pass the filter or are gone are left out.
        """
        raise NotImplementedError

    @abstractmethod
    async def sweep(self, now: datetime) -> int:
        """Take expired records out, with every text of theirs; return how many."""

    @abstractmethod
    async def purge(self, wall: Wall) -> int:
        """Take everything behind the wall out and leave no byte of it; return how many records.

        History goes too, and so does the user's name.
        """

    @abstractmethod
    async def backup(self, target: Path) -> None:
        """Copy everything, consistently and while in use, to a file that `open` can open."""

    async def check(self) -> list[str]:
        """Look for damage, reading everything; return what was found, in sentences. Servers check themselves."""
        return []

    @abstractmethod
    async def fingerprint(self) -> str | None:
        """Return the fingerprint of the embedder whose vectors are stored; None before the first."""

    @abstractmethod
    async def bind(self, fingerprint: str, dimensions: int) -> None:
        """Say whose vectors this process writes; the first to say it decides.

        Raises:
            EmbedderMismatchError: the store holds vectors of another one.
        """

    @abstractmethod
    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        """Return some records that have no staged vector of `fingerprint` yet, as (number, version, record).

        Another fingerprint than the staged ones throws those away.
        """

    @abstractmethod
    async def left_to_reembed(self, fingerprint: str) -> int:
        """Return how many records have no staged vector of `fingerprint` yet."""

    @abstractmethod
    async def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        """Keep new vectors, terms and marks aside, durably."""

    @abstractmethod
    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        """Put all staged vectors in force at once; False if records came meanwhile that have none yet."""
