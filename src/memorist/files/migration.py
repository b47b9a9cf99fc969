"""Migration: copies every tenant, user and record with its vector to another store, and compares both."""

import hashlib
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from memorist.errors import ConflictError, EmbedderMismatchError, InvalidInputError
from memorist.recall import marks_of, terms_of
from memorist.recall.persistence import keep
from memorist.records.filters import Filter
from memorist.records.record import Record
from memorist.records.scope import Wall
from memorist.stores.base import Put, Store, Vector

Progress = Callable[[int, int], None]
_Found = tuple[Record, Vector | None]

_BATCH = 500
_EVERY = Filter(superseded=True)
_SAME = 1e-5
"""How far two stores may round a vector's numbers apart."""


@dataclass(slots=True)
class MigrationReport:
    """The result of a migration: how many records were copied, were there before, and differ at the end.

    `walls` counts the users, shared records included, over all tenants. `differing` names the walls whose
    records are not the same in both stores: somebody wrote meanwhile, or the target had others before.
    """

    walls: int = 0
    records: int = 0
    copied: int = 0
    existing: int = 0
    differing: list[Wall] = field(default_factory=list)

    @property
    def verified(self) -> bool:
        """Whether both stores hold the same, by count and checksum."""
        return not self.differing


async def survey(source: Store) -> dict[Wall, int]:
    """Return how many records are behind each wall of a store, superseded ones included."""
    walls = [Wall(tenant, user) for tenant in await source.tenants() for user in await source.users(tenant)]
    return {wall: len(await source.matching(wall, _EVERY)) for wall in walls}


async def migrate(source: Store, target: Store, progress: Progress | None = None) -> MigrationReport:
    """Copy every record of an open store into another, and compare both afterwards.

    Records that the target already has are left alone, so an interrupted migration continues when it is repeated. The
    records are copied as they are, superseded ones too, with their vectors; the log of their changes begins anew.

    Args:
        progress: called with (done, total) after every batch, copying and comparing each counted once.

    Raises:
        EmbedderMismatchError: the target holds vectors of another embedder.
        InvalidInputError: a record of the same id and another content is in the target already.
        ConflictError: another record of the target has the same key.
    """
    fingerprint = await _agree(source, target)
    sizes = await survey(source)
    report = MigrationReport(walls=len(sizes), records=sum(sizes.values()))
    done = 0

    def step(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, 2 * report.records)

    bound = fingerprint is None
    for wall in sizes:
        async for found in _batches(source, wall):
            bound = bound or await _bind(target, fingerprint, found)
            copied = await _copy(target, wall, found)
            report.copied += copied
            report.existing += len(found) - copied
            step(len(found))
    for wall in sizes:
        copied_of = await _checksum(target, wall)
        if not (await _checksum(source, wall, step)).agrees(copied_of):
            report.differing.append(wall)
        if copied_of.signature is not None:
            await keep(target, wall, len(copied_of.signature))
    return report


async def _agree(source: Store, target: Store) -> str | None:
    """Return whose vectors will be copied; make sure that the target's are of the same embedder."""
    mine, theirs = await source.fingerprint(), await target.fingerprint()
    if mine is not None and theirs is not None and mine != theirs:
        raise EmbedderMismatchError(
            f"the source holds vectors of the embedder {mine!r}, the target of {theirs!r}; "
            "choose an empty target, or first run `memorist reindex` on one of them"
        )
    return mine


async def _bind(target: Store, fingerprint: str | None, found: Sequence[_Found]) -> bool:
    """Bind the target to the embedder once the first vector is known; return whether it is bound."""
    first = next((vector for _, vector in found if vector is not None), None)
    if fingerprint is None or first is None:
        return False
    await target.bind(fingerprint, len(first))
    return True


async def _batches(store: Store, wall: Wall) -> AsyncIterator[list[_Found]]:
    """Yield the records behind a wall in the order of storing, with their vectors."""
    numbers = np.sort(await store.matching(wall, _EVERY)).tolist()
    for start in range(0, len(numbers), _BATCH):
        some = numbers[start : start + _BATCH]
        records, vectors = await store.fetch(wall, some), await store.vectors(wall, some)
        yield [(records[number], vectors.get(number)) for number in some if number in records]


async def _copy(target: Store, wall: Wall, found: Sequence[_Found]) -> int:
    """Store the records that the target does not have; return how many."""
    new = await _missing(target, wall, found)
    while new:
        writes = [
            Put(record, vector=vector, terms=terms_of(record), marks=marks_of(record))
            if record.kind.recallable
            else Put(record)
            for record, vector in new
        ]
        try:
            await target.write(wall, writes)
            break
        except ConflictError:  # another migration may have stored some of them just now
            left = await _missing(target, wall, new)
            if len(left) == len(new):
                raise
            new = left
    return len(new)


async def _missing(target: Store, wall: Wall, found: Sequence[_Found]) -> list[_Found]:
    """Return those of the records that the target does not have."""
    there = {record.id: record for record in await target.get(wall, [record.id for record, _ in found])}
    for record, _ in found:
        if record.id in there and there[record.id].content != record.content:
            raise InvalidInputError(
                f"the target has another record {record.id!r} behind {wall}; choose an empty target, or forget that one"
            )
    return [(record, vector) for record, vector in found if record.id not in there]


@dataclass(slots=True)
class _Checksum:
    """A checksum of a wall's content, independent of the order: how many records and vectors, and sums over them.

    `signature` adds up the vectors, each with a sign of its record's hash, so that a vector that is changed,
    lost or at the wrong record shows, and rounding does not.
    """

    records: int = 0
    vectors: int = 0
    hashes: int = 0
    signature: NDArray[np.float64] | None = None

    def add(self, record: Record, vector: Vector | None) -> None:
        text = json.dumps(record.to_dict(), sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(text.encode()).digest()
        self.records += 1
        self.hashes = (self.hashes + int.from_bytes(digest[:16], "big")) % (1 << 128)
        if vector is not None:
            signed = vector.astype(np.float64) * (1 if digest[16] & 1 else -1)
            self.signature = signed if self.signature is None else self.signature + signed
            self.vectors += 1

    def agrees(self, other: "_Checksum") -> bool:
        counted = (self.records, self.vectors, self.hashes) == (other.records, other.vectors, other.hashes)
        if not counted or self.signature is None or other.signature is None:
            return counted
        same_size = self.signature.shape == other.signature.shape
        return same_size and bool(np.abs(self.signature - other.signature).max() <= _SAME * self.vectors)


async def _checksum(store: Store, wall: Wall, step: Callable[[int], None] = lambda count: None) -> _Checksum:
    checksum = _Checksum()
    async for found in _batches(store, wall):
        for record, vector in found:
            checksum.add(record, vector)
        step(len(found))
    return checksum
