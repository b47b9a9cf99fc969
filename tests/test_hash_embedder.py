import asyncio
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from memorist.embedders import Role, Vectors
from memorist.errors import EmbedderError
from memorist.testing import HashEmbedder


def embed(*texts: str, role: Role = Role.DOCUMENT) -> Vectors:
    return asyncio.run(HashEmbedder().embed(texts, role))


def test_it_is_the_same_in_every_process() -> None:
    script = (
        "import asyncio; from memorist.testing import HashEmbedder as H; print(asyncio.run(H(8).embed(['a b']))[0])"
    )
    outputs = {
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(outputs) == 1


def test_vectors_have_unit_length_and_blank_texts_none() -> None:
    rows = embed("she travels", "!!!", "日本", "\ud800", " ", "")
    assert rows.shape == (6, 64) and rows.dtype == np.float32
    assert np.linalg.norm(rows, axis=1) == pytest.approx([1, 1, 1, 1, 0, 0])
    assert embed().shape == (0, 64)


def test_texts_that_share_words_or_their_parts_are_similar() -> None:
    rows = embed("she travels to Oslo", "SHE TRAVELS TO OSLO!", "travelling in Oslo", "the database was wiped")
    same, near, far = (float(rows[0] @ rows[other]) for other in (1, 2, 3))
    assert same == pytest.approx(1)
    assert same > near > 0.3 > far


def test_both_roles_are_alike() -> None:
    assert (embed("a text") == embed("a text", role=Role.QUERY)).all()


@pytest.mark.parametrize("dimensions", [0, -1, 1.5, "many", None])
def test_it_needs_a_dimension(dimensions: Any) -> None:
    with pytest.raises(EmbedderError):
        HashEmbedder(dimensions)


def test_the_fingerprint_tells_the_dimensions() -> None:
    assert (HashEmbedder(8).fingerprint, HashEmbedder("8").dimensions) == ("hash-8-v1", 8)
    assert HashEmbedder(fingerprint="other").fingerprint == "other"


def test_importing_it_does_not_import_pytest() -> None:
    script = "import sys, memorist.testing; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)
