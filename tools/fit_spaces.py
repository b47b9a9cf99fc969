"""Fits the maps that bring the multilingual model's vectors into the space of the English one: spaces.npy.

`python tools/fit_spaces.py FOLDER`; the folder holds `english.txt`, English texts of any kind, one a line, which both
models embed, and `translated.tsv`: an English text, a tab, and the same in another language.

The map of documents is a ridge regression. That of questions weighs what the two spaces share by how well they agree on
it, as their canonical correlations say, against what another language alone adds to a vector, so that it ranks rather
than predicts; a part of the first is added to it. Both are stretched so that vectors spread about as those of the
English model do.

The bundled ones were fitted to examples and definitions of WordNet and quotations of Debian's `fortunes`, and to
messages of GTK, GLib and other programs in 65 languages: the documents' to 14,200 texts. The questions' was fitted to
23,000, among them questions that were filled in with WordNet's words, docstrings of Python and pages of LibreOffice's
help in 20 languages. The maps are part of the fingerprint: after another fit, memories must be indexed anew.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np

from memorist.embedders import OnnxEmbedder, Role, Vectors
from memorist.embedders.bundled import SPACES
from memorist.embedders.onnx import MULTILINGUAL

RIDGE = 0.1
"""Of documents, a share of the mean square of a number; the results are flat from 0.03 to 0.3."""
SHRUNK = 0.3
"""Of questions, likewise, on both sides; flat from 0.1 to 1."""
FOREIGN = 0.3
"""The weight of what a language adds; flat from 0.1 to 1."""
AGREEMENT = 2
"""The power of a correlation; flat from 1.5 to 3."""
PREDICTED = 0.3
"""The share of the map of documents in that of questions: so it is also near to what is in its language."""
STRETCH = 1.2
"""Of questions, so that unrelated texts have about the cosine that they have with English ones."""


def fitted(given: Vectors, wanted: Vectors) -> Vectors:
    """Return the map of documents: that from some vectors to others, row by row."""
    before, after = given.mean(axis=0), wanted.mean(axis=0)
    centred = given - before
    weights = np.linalg.solve(_shrunk(centred.T @ centred, RIDGE), centred.T @ (wanted - after))
    return _table(weights * np.sqrt((wanted - after).var() / (centred @ weights).var()), before, after)


def ranking(given: Vectors, wanted: Vectors, added: Vectors, documents: Vectors) -> Vectors:
    """Return the map of questions; `added` are the vectors of translations, less those of what they translate."""
    before, after = given.mean(axis=0), wanted.mean(axis=0)
    centred, goal, count = given - before, wanted - after, len(given)
    whitened = _inverse_root(_shrunk(centred.T @ centred / count + FOREIGN * added.T @ added / len(added), SHRUNK))
    whitening = _inverse_root(_shrunk(goal.T @ goal / count, SHRUNK))
    left, agreement, right = np.linalg.svd(whitened @ (centred.T @ goal / count) @ whitening)
    weights = whitened @ (left * agreement**AGREEMENT) @ right @ whitening
    predicting = documents[:-1].astype(np.float32)
    weights = (
        PREDICTED * predicting / (centred @ predicting).std() + (1 - PREDICTED) * weights / (centred @ weights).std()
    )
    return _table(weights * (STRETCH * goal.std() / (centred @ weights).std()), before, after)


def _shrunk(products: Vectors, share: float) -> Vectors:
    shrunk: Vectors = products + share * np.trace(products) / len(products) * np.eye(len(products))
    return shrunk


def _inverse_root(products: Vectors) -> Vectors:
    values, vectors = np.linalg.eigh(products)
    root: Vectors = (vectors * values**-0.5) @ vectors.T
    return root


def _table(weights: Vectors, before: Vectors, after: Vectors) -> Vectors:
    """Return a map with what is added to each product as its last row."""
    table: Vectors = np.vstack([weights, after - before @ weights]).astype(np.float16)
    return table


async def maps(folder: Path) -> Vectors:
    """Return both maps; shape (2, dimensions + 1, dimensions)."""
    english, multilingual = OnnxEmbedder(), OnnxEmbedder(MULTILINGUAL)
    texts = (folder / "english.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("\t") for line in (folder / "translated.tsv").read_text(encoding="utf-8").splitlines()]
    originals, translations = [text for text, _ in pairs], [other for _, other in pairs]
    made = list[Vectors]()
    for role in Role:
        given, wanted = await multilingual.embed(texts, role), await english.embed(texts, role)
        before, after = await multilingual.embed(originals, role), await multilingual.embed(translations, role)
        given = np.concatenate([given, after])
        wanted = np.concatenate([wanted, await english.embed(originals, role)])
        first = role is Role.DOCUMENT
        made.append(fitted(given, wanted) if first else ranking(given, wanted, after - before, made[0]))
    return np.stack(made)


if __name__ == "__main__":
    np.save(SPACES, asyncio.run(maps(Path(sys.argv[1]))))
