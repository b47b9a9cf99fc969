"""A model is optimised once, and loaded from the copy by the processes after it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memorist.embedders import OnnxEmbedder, Vectors
from memorist.embedders.onnx import BUNDLED
from memorist.embedders.sessions import cache_folder, open_session
from memorist.errors import EmbedderError

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not (BUNDLED / "model.onnx").is_file(), reason="no bundled model in this checkout"),
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMORIST_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


async def embedded() -> Vectors:
    embedder = OnnxEmbedder(BUNDLED)
    await embedder.ready()
    try:
        return await embedder.embed(["A harbour in winter", "ship.sh"])
    finally:
        await embedder.close()


def test_the_runtime_neither_reports_nor_numbers_this_machine(tmp_path: Path) -> None:
    program = (
        "from pathlib import Path\n"
        "from memorist.embedders.onnx import BUNDLED\n"
        "from memorist.embedders.sessions import open_session\n"
        "open_session(BUNDLED / 'model.onnx', 'f' * 64)\n"
    )
    known = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    places = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "MEMORIST_CACHE": str(tmp_path / "own")}
    subprocess.run([sys.executable, "-c", program], env=known | places, check=True)
    assert [each.name for each in tmp_path.iterdir()] == ["own"]


@pytest.mark.parametrize("broken", ["model.onnx", "weights.bin"])
async def test_the_copy_gives_the_same_vectors_and_a_broken_one_is_replaced(folder: Path, broken: str) -> None:
    first = await embedded()
    [kept] = folder.iterdir()
    whole = {each.name: each.read_bytes() for each in kept.iterdir()}
    assert np.array_equal(await embedded(), first)
    (kept / broken).write_bytes(whole[broken][:1000])
    assert np.array_equal(await embedded(), first)
    (kept / broken).unlink()
    assert np.array_equal(await embedded(), first)
    assert {each.name: each.read_bytes() for each in kept.iterdir()} == whole
    assert [*folder.iterdir()] == [kept]


async def test_the_copy_of_another_version_goes(folder: Path) -> None:
    await embedded()
    [kept] = folder.iterdir()
    old = kept.rename(folder / f"{kept.name.partition('-')[0]}-0.1-x86_64")
    await embedded()
    assert [*folder.iterdir()] == [kept] and not old.exists()


async def test_a_copy_in_a_single_file_goes(folder: Path) -> None:
    await embedded()
    [kept] = folder.iterdir()
    whole = kept.rename(folder / "kept")
    kept.with_suffix(".onnx").write_bytes(b"an optimised model of an earlier version")
    await embedded()
    assert sorted(folder.iterdir()) == sorted([kept, whole])


async def test_what_a_killed_process_would_leave_goes_as_another_version_does(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unfinished: set[str] = set()
    monkeypatch.setattr(os, "fsync", lambda file: unfinished.update(each.name for each in folder.iterdir()))
    await embedded()
    [kept] = folder.iterdir()
    assert unfinished and kept.name not in unfinished
    assert {each.partition("-")[0] for each in unfinished} == {kept.name.partition("-")[0]}


async def test_a_folder_that_cannot_be_made(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write_text("a file")
    assert len(await embedded()) == 2
    assert folder.read_text() == "a file"


def test_a_file_that_is_no_model(folder: Path, tmp_path: Path) -> None:
    weights = tmp_path / "model.onnx"
    weights.write_bytes(b"no model")
    with pytest.raises(EmbedderError, match="cannot load"):
        open_session(weights, "0" * 64)
    assert [*folder.iterdir()] == []


def test_the_cache_folder_is_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORIST_CACHE", raising=False)
    assert cache_folder().name == "memorist"
