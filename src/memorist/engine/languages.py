"""What languages stored records are in, whether the stored vectors know them, and the layer that says so."""

import logging
from collections import Counter
from contextlib import suppress
from typing import TypeVar

from memorist.embedders import BundledEmbedder
from memorist.engine.core import Layer
from memorist.errors import MemoristError
from memorist.languages import CODES, is_english, is_known, language, languages_of
from memorist.operations.calls import Call
from memorist.operations.requests import Recall, Request
from memorist.records.filters import make_filter
from memorist.records.scope import Reach
from memorist.stores.base import Store

T = TypeVar("T")
log = logging.getLogger("memorist.languages")
_MOST_NAMED = 3
_MOST_READ = 1000
"""So many records are read to see what languages they are in."""


class AdvisingEngine(Layer):
    """Warns once, after the first recall, of what an earlier version's vectors do not know of the caller's records."""

    _advised = False

    async def answer(self, call: Call, request: Request[T]) -> T:
        given = await self._inner.answer(call, request)
        if isinstance(request, Recall) and not self._advised:
            self._advised = True
            await self._advise(call)
        return given

    async def _advise(self, call: Call) -> None:
        embedder = self._core.embedder.inner
        if not isinstance(embedder, BundledEmbedder):
            return
        with suppress(MemoristError):
            advice = await told_of_languages(self._core.store, embedder, call.scope.reach(), _MOST_READ)
            if advice:
                log.warning("%s", advice)


async def told_of_languages(store: Store, embedder: BundledEmbedder, reach: Reach, most: int) -> str | None:
    """Return what `memorist reindex` would better where an earlier version stored the vectors, as a sentence.

    Args:
        store: an open store.
        embedder: the bundled models.
        reach: whose records.
        most: so many of the newest records are looked at.

    Returns:
        None where all is English, or the vectors are those of both models.
    """
    await embedder.ready()
    if await store.fingerprint() != embedder.english.fingerprint:
        return None
    records = await store.select(reach, make_filter(), order="newest", limit=most)
    found = Counter[str]()
    for record in records:
        if record.kind.recallable and not is_english(record.text):
            code = next((code for code in languages_of(record.text) if code != "en"), None)
            found[language(code).name if code in CODES else "others"] += 1
    if not found:
        return None
    named = ", ".join(name for name, _ in found.most_common(_MOST_NAMED))
    return (
        f"{found.total()} of {len(records)} records are in other languages than English ({named}), which the version "
        "that stored them did not support. To find them by meaning, run: memorist reindex"
    )


async def told_of_scripts(store: Store, reach: Reach, most: int) -> str | None:
    """Return how many records are in scripts that no bundled model knows, as a sentence; None if all are known.

    The arguments are those of `told_of_languages`.
    """
    records = await store.select(reach, make_filter(), order="newest", limit=most)
    unknown = sum(record.kind.recallable and not is_known(record.text) for record in records)
    if not unknown:
        return None
    return (
        f"{unknown} of {len(records)} records are in scripts that no bundled model supports; recall finds "
        "them by words only"
    )
