"""What a text does, told by its vector, with any embedder."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memorist.embedders import BatchedEmbedder, BundledEmbedder, Embedder, Role
from memorist.errors import InvalidInputError
from memorist.recall import heads as module
from memorist.recall.heads import AIMS, heads_of, held_by, labelled, learned, regression, with_phrases
from memorist.recall.scale import bundled_heads, measure
from memorist.testing import HashEmbedder

pytestmark = pytest.mark.anyio

ROWS = (
    ("asks", "which plumber did we call last winter", "The plumber came on Tuesday and changed the valve"),
    ("asks", "wie hoch war die Stromrechnung", "Die Stromrechnung war im März bei 210 Euro"),
    ("asks", "dónde está el taladro", "El taladro está en el armario del pasillo"),
    ("unknowing", "I'm afraid you never told me that.", "You told me that the ferry leaves at six."),
    ("unknowing", "Das weiß ich nicht, sorry.", "Das weiß ich von dir: um sechs."),
    ("chats", "haha nice one", "Nice is where my aunt has a flat"),
    ("instructs", "From now on answer me in two sentences at most.", "The judge answered the petition in two weeks."),
)
"""A head, a text of which it says yes, and one of which it says no."""


class Another(Embedder):
    """The bundled embedder's vectors, mirrored: another space, in which the same is told apart."""

    fingerprint = "another@1"
    dimensions = 384

    def __init__(self) -> None:
        self.inner, self.asked = BundledEmbedder(), 0

    async def embed(self, texts: Sequence[str], role: Role = Role.DOCUMENT) -> np.ndarray:
        self.asked += len(texts)
        return np.asarray(await self.inner.embed(texts, role))[:, ::-1].copy()


def learned_of(dimensions: int) -> module.Heads:
    """Return one head for every aim, which all fit vectors of a size."""
    sizes = {
        Role.DOCUMENT: dimensions + 1,
        Role.QUERY: len(with_phrases(np.ones((1, dimensions), np.float32), held_by("", ()))[0]) + 1,
    }
    return module.Heads({name: np.ones(sizes[aim.role], np.float32) for name, aim in AIMS.items()})


@pytest.mark.parametrize(("head", "yes", "no"), ROWS)
async def test_a_head_of_the_bundled_embedder_tells_what_a_text_does(head: str, yes: str, no: str) -> None:
    embedder = BatchedEmbedder(BundledEmbedder())
    vectors = await embedder.embed([yes, no], AIMS[head].role)
    likely = bundled_heads().likely(head, vectors)
    assert likely[0] > 0.5 > likely[1]


async def test_every_label_serves_a_head_or_is_told_from_one() -> None:
    labels = {label for label, _ in labelled()}
    named = {label for aim in AIMS.values() for label in aim.yes}
    assert named <= labels and labels - named == {"tells"}


@pytest.mark.slow
def test_the_phrases_of_the_labelled_texts_are_those_that_are_kept() -> None:
    assert (module.held_in_labelled() == module._kept_of_labelled()).all()


@pytest.mark.slow
async def test_the_bundled_heads_are_those_that_the_labelled_texts_teach() -> None:
    taught = await learned(BatchedEmbedder(BundledEmbedder()))
    assert taught.weights.keys() == bundled_heads().weights.keys() == AIMS.keys()
    for name, weights in bundled_heads().weights.items():
        assert np.corrcoef(weights, taught.weights[name])[0, 1] > 0.99, name


@pytest.mark.slow
async def test_another_embedder_learns_its_own_once_and_they_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(module, "folder", lambda kind: tmp_path / kind)
    monkeypatch.setattr(module, "_LEARNED", {})
    monkeypatch.setattr(module, "_LONG", 0.0)
    first = Another()
    heads = (await measure(BatchedEmbedder(first))).heads
    assert heads.weights.keys() == AIMS.keys()
    monkeypatch.setattr(module, "_LEARNED", {})
    second = Another()
    again = await heads_of(BatchedEmbedder(second))
    assert not second.asked and all((again.weights[name] == heads.weights[name]).all() for name in AIMS)
    [file] = (tmp_path / "cache" / "heads").iterdir()
    for spoilt in (b"", b"no archive", file.read_bytes()[:200]):
        file.write_bytes(spoilt)
        assert module._kept(file, 384) is None
    assert module._kept(file.with_name("none"), 384) is None


async def test_a_user_without_a_home_folder_has_heads_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(kind: str) -> Path:
        raise InvalidInputError("the system knows no home folder")

    monkeypatch.setattr(module, "folder", nowhere)
    monkeypatch.setattr(module, "_LEARNED", {})
    assert (await heads_of(BatchedEmbedder(HashEmbedder(64)))).weights


async def test_an_embedder_that_tells_nothing_apart_has_the_heads_alone_that_read_phrases() -> None:
    heads = (await heads_of(BatchedEmbedder(HashEmbedder(64)))).weights
    assert heads and all(AIMS[name].role is Role.QUERY for name in heads)


async def test_kept_heads_of_another_size_are_not_taken(tmp_path: Path) -> None:
    np.savez(tmp_path / "heads.npz", **learned_of(10).weights)  # type: ignore[arg-type]  # arrays by name
    assert module._kept(tmp_path / "heads.npz", 10) is not None
    assert module._kept(tmp_path / "heads.npz", 11) is None


def test_a_head_finds_what_tells_two_sides_apart_however_few_the_one_has() -> None:
    vectors = np.random.default_rng(1).normal(size=(400, 8)).astype(np.float32)
    labels = np.zeros(400, bool)
    labels[:20] = True
    vectors[labels, 3] += 4
    weights = regression(vectors, labels)
    assert (((vectors @ weights[:-1] + weights[-1]) > 0) == labels).mean() > 0.95
