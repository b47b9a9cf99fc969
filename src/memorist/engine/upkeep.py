"""Handlers of the requests about the whole store: backup, check, reindex."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from memorist.embedders import BatchedEmbedder
from memorist.engine.core import Core
from memorist.engine.purging import note_backup
from memorist.operations import requests
from memorist.operations.calls import Call
from memorist.recall import embedded, marks_of, parts_of, terms_of
from memorist.records.record import Record
from memorist.stores import open_store
from memorist.stores.base import Staged, Vector
from memorist.system.aside import aside

_BATCH = 256


async def backup(core: Core, call: Call, request: requests.Backup) -> Path:
    """Copy the store to a new file, and open the copy to verify it."""
    call.scope.check_everyone()
    await note_backup(core, call, request.target)
    await core.store.backup(request.target)
    copy = open_store(replace(core.settings, index=None).with_given(url=request.target))
    try:
        await copy.open()
    finally:
        await copy.close()
    return request.target


async def check(core: Core, call: Call, request: requests.Check) -> list[str]:
    """Return the damage found in the store, in sentences."""
    call.scope.check_everyone()
    return await core.store.check()


async def reindex(core: Core, call: Call, request: requests.Reindex) -> int:
    """Embed every record again, in batches; a killed run is resumed. Vectors that would come out the same are kept."""
    call.scope.check_everyone()
    if request.missing:
        return await fill(core, request.progress)
    embedder = core.embedder.newest()
    await embedder.ready()
    fingerprint, done, total = embedder.fingerprint, 0, 0
    stored = await core.store.fingerprint()
    while True:
        while rows := await core.store.to_reembed(fingerprint, _BATCH):
            total = total or await core.store.left_to_reembed(fingerprint)
            vectors = await _vectors(core, embedder, stored, rows)
            staged = [
                Staged(record.scope.wall, number, version, np.asarray(vector), terms_of(record), marks_of(record))
                for (number, version, record), vector in zip(rows, vectors, strict=True)
            ]
            await core.store.stage(fingerprint, staged)
            done += len(rows)
            if request.progress is not None:
                request.progress(done, max(done, total))
        if await core.store.adopt(fingerprint, embedder.dimensions):
            await core.embedder.suits(fingerprint)
            return done
        await asyncio.sleep(0)


async def fill(core: Core, progress: Callable[[int, int], None] | None = None) -> int:
    """Embed what was stored without vectors; after each thousand the indexes are read anew, so not more often."""
    done, total = 0, await core.store.count_unembedded()
    while rows := await core.store.unembedded(4 * _BATCH):
        await core.embedder.ready()
        fingerprint, staged = core.embedder.fingerprint, list[Staged]()
        await core.store.bind(fingerprint, core.embedder.dimensions)
        for start in range(0, len(rows), _BATCH):
            some = rows[start : start + _BATCH]
            vectors = await embedded(core.embedder, [record for _, _, record in some])
            staged += [
                Staged(record.scope.wall, number, version, np.asarray(vector), "")
                for (number, version, record), vector in zip(some, vectors, strict=True)
            ]
            done += len(some)
            if progress is not None:
                progress(done, max(done, total))
        await core.store.fill(fingerprint, staged)
    return done


async def _vectors(
    core: Core, embedder: BatchedEmbedder, stored: str | None, rows: Sequence[tuple[int, int, Record]]
) -> list[Vector]:
    """Return a vector for each record: the stored one where the embedder with the stored fingerprint gave it the same.

    If a record changes meanwhile, the store ignores what is staged for the version that was read.
    """
    records = [record for _, _, record in rows]

    def kept() -> list[bool]:
        return [all(embedder.keeps(stored or "", part) for part in parts_of(record)) for record in records]

    same = defaultdict(list)
    for (number, _, record), keeps in zip(rows, await aside(kept, records), strict=True):
        if keeps:
            same[record.scope.wall].append(number)
    known = {
        (wall, number): vector
        for wall, numbers in same.items()
        for number, vector in (await core.store.vectors(wall, numbers)).items()
    }
    found = [known.get((record.scope.wall, number)) for number, _, record in rows]
    missing = [record for (_, _, record), vector in zip(rows, found, strict=True) if vector is None]
    made = iter(await embedded(embedder, missing) if missing else ())
    return [next(made) if vector is None else vector for vector in found]
