"""An embedder's cosines are brought to the scale that the weights were chosen on."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memorist import Memory
from memorist.embedders import BatchedEmbedder, BundledEmbedder, Embedder, OnnxEmbedder, Role
from memorist.errors import EmbedderError
from memorist.recall import scale as module
from memorist.recall.heads import AIMS, Heads
from memorist.recall.scale import FLOOR, QUESTIONS, SPREAD, TEXTS, Scale, measure
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio


class Squeezed(Embedder):
    """Another embedder's vectors with a common part, so that every cosine c becomes 0.8 + 0.2 c."""

    fingerprint = "squeezed"

    def __init__(self) -> None:
        self.inner = HashEmbedder(64)
        self.dimensions = 65

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> np.ndarray:
        rows = np.asarray(await self.inner.embed(texts, role))
        return np.hstack([np.full((len(rows), 1), 0.8**0.5), 0.2**0.5 * rows]).astype(np.float32)


class OutOfReach(Squeezed):
    """Embeds documents, but no question."""

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> np.ndarray:
        if role is Role.QUERY:
            raise EmbedderError("no network")
        return await super().embed(texts, role)


NOTES = ["the cat sat on the mat", "the dog ate the cat's food", "tax returns are due in May", "a mat for the gym"]


async def scores(embedder: Embedder) -> list[tuple[str, float]]:
    async with Memory.open(":memory:", embedder=embedder) as memory:
        await memory.remember(NOTES)
        return [(hit.record.content, hit.score) for hit in await memory.recall("where is the cat's mat?")]


async def test_squeezed_cosines_rank_and_score_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    async def no_heads(embedder: BatchedEmbedder) -> Heads:
        return Heads({})

    monkeypatch.setattr(module, "heads_of", no_heads)  # these are learned from the vectors, whatever their scale
    plain, squeezed = await scores(HashEmbedder(64)), await scores(Squeezed())
    assert [text for text, _ in squeezed] == [text for text, _ in plain]
    assert [score for _, score in squeezed] == pytest.approx([score for _, score in plain], abs=1e-3)


async def test_the_scale_puts_unrelated_texts_where_the_bundled_model_does() -> None:
    scale = await measure(BatchedEmbedder(Squeezed()))
    inner = HashEmbedder(64)
    cosines = np.asarray(await inner.embed(QUESTIONS, Role.QUERY)) @ np.asarray(await inner.embed(TEXTS)).T
    fitted = scale.fit((0.8 + 0.2 * cosines).astype(np.float32))
    assert (fitted.mean(), fitted.std()) == pytest.approx((FLOOR, SPREAD), abs=1e-3)


async def test_the_bundled_model_is_the_reference() -> None:
    embedder = BatchedEmbedder(OnnxEmbedder())
    assert await measure(embedder) == Scale()
    questions, texts = await embedder.embed(list(QUESTIONS), Role.QUERY), await embedder.embed(list(TEXTS))
    cosines = questions @ texts.T
    assert (cosines.mean(), cosines.std()) == pytest.approx((FLOOR, SPREAD), abs=0.01)
    known = await measure(embedder)
    assert known.questions == pytest.approx(questions.mean(axis=0), abs=2e-3)
    assert known.texts == pytest.approx(texts.mean(axis=0), abs=2e-3)
    await embedder.close()


async def test_the_background_of_what_is_near_to_everything_is_higher() -> None:
    embedder = BatchedEmbedder(OnnxEmbedder())
    scale = await measure(embedder)
    rows = await embedder.embed(["Hi! How are you?", "The invoice of the plumber came on 3 May."])
    greeting, question = await embedder.embed(["hello", "Which serial number has the boiler?"], Role.QUERY)
    assert scale.background(greeting, rows).min() > scale.background(question, rows).max()
    assert Scale().background(greeting, rows) == pytest.approx(FLOOR)
    await embedder.close()


async def test_a_given_vector_needs_no_embedder(tmp_path: Path) -> None:
    embedder = OutOfReach()
    async with Memory.open(tmp_path / "m.db", embedder=embedder) as memory:
        await memory.remember(NOTES)
        [vector] = await embedder.embed(["tax"])
        assert await memory.recall("tax", vector=vector)
        with pytest.raises(EmbedderError, match="no network"):
            await memory.recall("tax")


async def test_an_embedder_around_the_bundled_one_has_its_heads_and_one_without_meaning_none_of_texts() -> None:
    class Around(Embedder):
        def __init__(self) -> None:
            self.inner = BundledEmbedder()

        async def ready(self) -> None:
            await self.inner.ready()
            self.dimensions, self.fingerprint = self.inner.dimensions, self.inner.fingerprint

        async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> np.ndarray:
            return await self.inner.embed(texts, role)

    around = BatchedEmbedder(Around())
    await around.ready()
    assert (await measure(around)).heads.weights
    other = await measure(BatchedEmbedder(Squeezed()))
    assert not {name for name in other.heads.weights if AIMS[name].role is Role.DOCUMENT}
