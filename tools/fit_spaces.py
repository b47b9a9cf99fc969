"""Fits the map that brings the multilingual model's vectors into the space of the English one: spaces.npy.

`python tools/fit_spaces.py FOLDER`; the folder holds `english.txt`, English texts of any kind, one a line, which both
models embed, and perhaps `translated.tsv`: an English text, a tab, and the same in another language. The map is a ridge
regression, stretched so that vectors spread around their mean as those of the English model do. The bundled one was
fitted to 10,000 examples and definitions of WordNet and quotations of Debian's `fortunes`, and to 2,700 messages of
GTK, GLib and other programs in 65 languages. It is part of the fingerprint: after another fit, memories must be
indexed anew.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np

from memorist.embedders import OnnxEmbedder, Role, Vectors
from memorist.embedders.bundled import SPACES
from memorist.embedders.onnx import MULTILINGUAL

RIDGE = 0.1
"""Of the mean square of a number; the results are flat from 0.03 to 0.3."""
ASKED = 1500
"""So many texts are embedded as questions too."""


def fitted(given: Vectors, wanted: Vectors) -> Vectors:
    """Return the map from some vectors to others, row by row, with what is added to each product as its last row."""
    before, after = given.mean(axis=0), wanted.mean(axis=0)
    centred = given - before
    products = centred.T @ centred
    weights = np.linalg.solve(
        products + RIDGE * np.trace(products) / len(products) * np.eye(len(products)), centred.T @ (wanted - after)
    )
    weights *= np.sqrt((wanted - after).var() / (centred @ weights).var())
    table: Vectors = np.vstack([weights, after - before @ weights]).astype(np.float16)
    return table


async def embedded(folder: Path) -> tuple[Vectors, Vectors]:
    """Return the vectors of all texts by the multilingual model, and those of the English ones by the English one."""
    english, multilingual = OnnxEmbedder(), OnnxEmbedder(MULTILINGUAL)
    texts = (folder / "english.txt").read_text().splitlines()
    lines = folder / "translated.tsv"
    pairs = [line.split("\t") for line in lines.read_text().splitlines()] if lines.exists() else []
    asked = texts[:ASKED]
    given = [await multilingual.embed(texts), await multilingual.embed(asked, Role.QUERY)]
    wanted = [await english.embed(texts), await english.embed(asked, Role.QUERY)]
    if pairs:
        given.append(await multilingual.embed([other for _, other in pairs]))
        wanted.append(await english.embed([text for text, _ in pairs]))
    return np.concatenate(given), np.concatenate(wanted)


if __name__ == "__main__":
    np.save(SPACES, fitted(*asyncio.run(embedded(Path(sys.argv[1])))))
