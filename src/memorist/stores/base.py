"""The contract of a store: the methods of every back end, and what they promise."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorist.audit.log import Act
from memorist.errors import InvalidInputError
from memorist.records.filters import Filter
from memorist.records.record import Action, Change, Kind, Order, Record
from memorist.records.scope import Reach, Wall
from memorist.stores.searching import Search

if TYPE_CHECKING:
    from memorist.stores.audit import AuditLog
    from memorist.stores.segments import Segments

__all__ = [
    "Candidates",
    "Cursor",
    "Entries",
    "Entry",
    "Order",
    "Outline",
    "Put",
    "Remove",
    "Staged",
    "Store",
    "Vector",
    "Wanted",
    "Write",
]

Vector: TypeAlias = NDArray[np.float32]
Cursor: TypeAlias = tuple[int | str, int, str, str | None]
"""The last record of a page: its time in microseconds (or its key), when it was stored, its id, its user."""
ALL = 2**63 - 1
"""A limit of as many records as there are."""


@dataclass(frozen=True, slots=True)
class Put:
    """Store `record`, whole.

    `expected` is the version of the stored record that this one replaces, 0 for a new one.
    `terms` holds the analysed terms of the record's text, joined by spaces, and `vector` its embedding;
    both are None if recall must not find it. `marks` are words without spaces for other features of the text;
    they are not terms. `keep_index` leaves the stored vector, terms and marks unchanged.
    `source` is who makes the change, by default the record's own source. `derived_from` holds ids that must still be
    behind the wall. `quotes` are the walls and ids of the records whose text a new record holds; they must be there.
    The quoting record is removed in the transaction in which the first quoted record is removed, or revised to expire.
    With `relabels`, the record may get other labels than the stored one has; without it, that is refused.
    """

    record: Record
    action: Action = Action.REMEMBERED
    expected: int = 0
    vector: Vector | None = None
    terms: str | None = None
    keep_index: bool = False
    source: str | None = None
    marks: frozenset[str] = frozenset()
    derived_from: frozenset[str] = frozenset()
    quotes: frozenset[tuple[Wall, str]] = frozenset()
    relabels: bool = False

    @property
    def expires(self) -> bool:
        """Whether this write sets an expiry, after which the record and those that quote it are gone."""
        return self.action is Action.REVISED and self.record.expires_at is not None and not self.relabels


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the record `id`, with every text of its history; a missing one is ignored.

    If `version` is given, a record with another version is ignored too. With `must`, the writes are refused where the
    record is missing, expired or of another version. With `alone`, the writes are refused if they leave out a record
    that was derived from this one.
    """

    id: str
    action: Action
    at: datetime
    source: str | None = None
    version: int | None = None
    alone: bool = False
    must: bool = False


Write: TypeAlias = Put | Remove


class Entry(NamedTuple):
    """The fields of one record that ranking needs; the rest is read only for records that are found.

    `number` is unique in the store, never reused, and grows in the order of storing. Times are
    microseconds since 1970. `terms` are the analysed words joined by spaces, `marks` those of the `Put`; `vector`
    has unit length at most. `authors` are the bits of `Origin.authors`.
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
    authors: int = 0


class Staged(NamedTuple):
    """The new vector, terms and marks of one version of a record, during a reindex."""

    wall: Wall
    number: int
    version: int
    vector: Vector
    terms: str
    marks: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Entries:
    """Changes behind one wall since an epoch: entries to add or replace, and the numbers of entries to remove,
    because the record is gone or recall must no longer find it.

    `epoch` is where the next call continues; `more` is true if there is more to fetch right now.
    `generation` changes when everything read before is invalid (after a purge, or with new vectors).
    """

    generation: str
    epoch: int
    entries: list[Entry]
    gone: list[int]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Outline:
    """Statistics for ranking a wall that is too large to be read whole.

    `rows` is the number of its entries and `length` their average number of terms; `speakers` are the names of
    those who speak in it (of very many, some), and `years` the calendar years of its records. `generation` is as
    in `Entries`.
    """

    generation: str
    rows: int
    length: float
    speakers: Sequence[str]
    years: Sequence[int]


@dataclass(frozen=True, slots=True)
class Wanted:
    """The candidates to find: up to `limit` entries nearest to a unit vector, as many best by the terms.

    All must pass the filter. `near` are the numbers of the nearest entries, if an index has found them; numbers that
    do not pass the filter or no longer exist are ignored.
    """

    outline: Outline
    vector: Vector | None
    terms: Sequence[str]
    filter: Filter
    limit: int
    near: Sequence[int] | None = None


@dataclass(frozen=True, slots=True)
class Candidates:
    """Entries of a large wall that may be the best.

    `chosen` are the numbers of the candidates: the entries found, and up to two messages before and after each of
    them in its conversation. All of them pass the filter. The entries also include up to two messages before and
    after each candidate, because a message is ranked with its neighbours.

    `holders` is, for each requested term, the number of entries behind the wall that hold it. `dialogues` are the
    entries' sessions in which more than one speaker speaks.
    """

    entries: Sequence[Entry]
    chosen: Sequence[int]
    holders: Mapping[str, int]
    dialogues: Sequence[str]


class Store(ABC):
    """Holds records. Every store keeps this contract, tested by `memorist.testing.StoreContract`:

    - `write` is atomic and durable: when it returns, its changes survive a power cut; when it raises,
      it has changed nothing.
    - A record is removed together with any record that it quotes, in one transaction.
    - Every method sees only records behind the given wall, or within the given reach.
    - No method returns an expired record, unless the filter asks for it; `sweep` deletes it.
    - Every method may be called from any thread and any event loop.
    """

    @abstractmethod
    async def open(self) -> None:
        """Connect, create missing tables, migrate old ones. After a cancelled `open`, `close` undoes it."""

    @abstractmethod
    async def close(self) -> None:
        """Release everything. Acknowledged writes are durable already. Idempotent."""

    @abstractmethod
    async def write(self, wall: Wall, writes: Sequence[Write], *, act: Act | None = None) -> list[bool]:
        """Carry out all of `writes` in order, or none; return for each whether it changed anything.

        Args:
            wall: behind which the records are.
            writes: what to do.
            act: what the writes are part of, and who calls it, for the audit log. A store that keeps one refuses a
                change without it, here and in every other method that takes it.

        Raises:
            InvalidInputError: the store keeps an audit log, and `act` is None.
            ConflictError: an id or key is taken, a version is not the one that a `Put` expects, what `must` be removed
                is not there, or what a record is derived from is gone.
            EmbedderMismatchError: the vectors' fingerprint or length is no longer that of the store.
        """

    @abstractmethod
    async def remove(
        self, wall: Wall, filter: Filter, *, at: datetime, source: str | None = None, act: Act | None = None
    ) -> int:
        """Remove every record that passes the filter, all or none, as `Remove` does; return their number.

        The records are not held in memory at once. The history notes each as forgotten.
        """

    @abstractmethod
    async def get(self, wall: Wall, ids: Sequence[str]) -> list[Record]:
        """Return the records with these ids, in their order, superseded ones included; unknown ids are ignored."""

    @abstractmethod
    async def fetch(self, wall: Wall, numbers: Sequence[int]) -> dict[int, Record]:
        """Return the records of these entries; records deleted meanwhile are left out."""

    @abstractmethod
    async def select(
        self, reach: Reach, filter: Filter, *, order: Order, limit: int, after: Cursor | None = None
    ) -> list[Record]:
        """Return up to `limit` records in order, beginning after the cursor.

        "newest" and "oldest" sort by `Record.at`, then by `created_at`, then by id, then by user in an order that
        the store defines. "key" sorts by the key, then likewise, and leaves out records without a key.
        """

    async def values(
        self, reach: Reach, filter: Filter, fields: Sequence[str], *, order: Order, limit: int
    ) -> list[tuple[Any, ...]]:
        """Return the kind and some `VALUES` of up to `limit` records, in the order of `select`.

        A store that reads less for it than `select` does overrides this.
        """
        records = await self.select(reach, filter, order=order, limit=limit)
        return [record.values(fields) for record in records]

    @abstractmethod
    async def count(self, reach: Reach, filter: Filter) -> int:
        """Return the number of records that pass the filter."""

    @abstractmethod
    async def users(self, tenant: str) -> dict[str | None, int]:
        """Return the number of memories of each user of a tenant, without state; None stands for the shared ones."""

    @abstractmethod
    async def tenants(self) -> list[str]:
        """Return the tenants that have records, in order."""

    @abstractmethod
    async def history(self, wall: Wall, id: str) -> list[Change]:
        """Return every change of a record, oldest first; [] for an unknown id."""

    async def walls(self) -> list[Wall]:
        """Return all walls behind which anything is or was stored, in order.

        Raises:
            InvalidInputError: this store does not list them, as this default does not.
        """
        raise InvalidInputError(f"{self} does not list its walls; migrate it to SQLite or PostgreSQL first")

    async def log(self, wall: Wall) -> list[str]:
        """Return the id of each change behind a wall, in the order of the changes; see `history`."""
        raise InvalidInputError(f"{self} does not list its changes; migrate it to SQLite or PostgreSQL first")

    @abstractmethod
    async def entries(self, wall: Wall, generation: str | None, epoch: int) -> Entries:
        """Return the entries that changed after `epoch`, at most a few thousand.

        If `generation` is not the store's, the call starts from epoch 0.
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
        """Whether recall should call `candidates` for large walls; otherwise it reads every wall whole."""
        return False

    @property
    def segments(self) -> "Segments | None":
        """Where the indexes of walls are kept so that a new process need not build them; None if nowhere."""
        return None

    @property
    def audit(self) -> "AuditLog | None":
        """The audit log, whose entries are written in the transactions of the changes; None if the store has none."""
        return None

    async def outline(self, wall: Wall, largest: int) -> Outline | None:
        """Return the outline of a wall of more than `largest` entries; None for a smaller one.

        A store without `candidates` returns None for every wall, as this default does.
        """
        return None

    async def candidates(self, wall: Wall, wanted: Wanted) -> Candidates:
        """Return the candidates of a wall. Called only if `outline` has recently returned its outline."""
        raise NotImplementedError

    @abstractmethod
    async def sweep(self, now: datetime, tenant: str | None = None, *, act: Act | None = None) -> int:
        """Delete expired records, with all of their texts; return their number.

        Args:
            now: the time by which they have expired.
            tenant: whose; None for every tenant's.
            act: what the deletion is part of, for the audit log; see `write`.
        """

    @abstractmethod
    async def purge(self, wall: Wall, *more: Wall, act: Act | None = None) -> Counter[str]:
        """Delete everything behind the wall, and behind `more`, and leave no byte of it.

        The history and the users' names are deleted too. Returns how many records of each kind were behind the first
        wall.
        """

    async def search(self, wall: Wall, texts: Sequence[str]) -> Search:
        """Search everything for texts of a purged user, and name the copies that cannot be searched."""
        return Search(copies=[f"{self}: it has no search, so nothing was searched there"])

    @abstractmethod
    async def backup(self, target: Path) -> None:
        """Write a consistent copy of everything, while in use, to a file that `open` can open."""

    async def scrub(self, *walls: Wall) -> None:
        """Remove what deleted records have left in the files, after a redaction behind some walls; `purge` does so."""

    async def check(self) -> list[str]:
        """Read everything and return the damage found, in sentences. Database servers check themselves."""
        return []

    @abstractmethod
    async def fingerprint(self) -> str | None:
        """Return the fingerprint of the embedder of the stored vectors; None before the first."""

    async def dimensions(self) -> int | None:
        """Return the length of the stored vectors; None before the first, or where the store does not know it."""
        return None

    @abstractmethod
    async def bind(self, fingerprint: str, dimensions: int) -> None:
        """Declare the embedder of the vectors that this process writes. The first call on a store sets its fingerprint.

        Raises:
            EmbedderMismatchError: the store holds vectors of another embedder, or of another length.
        """

    @abstractmethod
    async def unembedded(self, limit: int) -> list[tuple[int, int, Record]]:
        """Return some records that recall finds by their words alone, as (number, version, record)."""

    @abstractmethod
    async def count_unembedded(self) -> int:
        """Return the number of records that were stored without a vector, though recall finds their kind."""

    @abstractmethod
    async def fill(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        """Store the vectors of records that have none. Records that changed or were forgotten meanwhile are ignored.

        Raises:
            EmbedderMismatchError: the store's vectors are of another embedder now.
        """

    @abstractmethod
    async def to_reembed(self, fingerprint: str, limit: int) -> list[tuple[int, int, Record]]:
        """Return some records that have no staged vector of `fingerprint` yet, as (number, version, record).

        Vectors that were staged with another fingerprint are discarded.
        """

    @abstractmethod
    async def left_to_reembed(self, fingerprint: str) -> int:
        """Return the number of records that have no staged vector of `fingerprint` yet."""

    @abstractmethod
    async def stage(self, fingerprint: str, rows: Sequence[Staged]) -> None:
        """Stage new vectors, terms and marks durably, without using them yet."""

    @abstractmethod
    async def adopt(self, fingerprint: str, dimensions: int) -> bool:
        """Replace all vectors by the staged ones at once; return False if a record has no staged vector yet."""
