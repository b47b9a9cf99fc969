"""An ONNX model in a folder, run on the CPU; the bundled default is one."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memorist.embedders.base import Role, Vectors
from memorist.embedders.blocking import BlockingEmbedder, Workers
from memorist.embedders.folder import ModelFolder, read_folder
from memorist.embedders.sessions import open_session, without_telemetry
from memorist.embedders.tokenizing import Tokenizer, open_tokenizer
from memorist.embedders.unigram import HASHES, Unigram, WordTable
from memorist.errors import EmbedderError

BUNDLED = Path(__file__).parent / "model"
MULTILINGUAL = Path(__file__).parent / "multilingual"

# Ordinary text has fewer characters than this for each token, so the rest of a long text need not be tokenized.
_CHARACTERS_PER_TOKEN = 64
_MOST_THREADS = 16


class OnnxEmbedder(BlockingEmbedder):
    """A sentence encoder from a folder with `model.onnx` and `tokenizer.json`.

    Nothing is loaded before the first text. Each text is run by itself on one thread, and the texts of a call
    are distributed over `threads`. An int8 model scales its activations over a whole batch, so the vector of a
    text would depend on the other texts in its batch (cosine down to 0.989). Separate runs are as fast as
    batches for long texts, and a sixth slower for short ones.

    Args:
        folder: The model; `read_folder` says which settings it may hold. None for the bundled one.
        threads: Texts embedded at once; by default the number of CPUs that this process may use.
    """

    def __init__(self, folder: str | Path | None = None, *, threads: int | None = None) -> None:
        self.folder = BUNDLED if folder is None else Path(folder)
        super().__init__("the bundled model" if folder is None else f"the model in {self.folder}")
        count = threads or min(_cpus(), _MOST_THREADS)
        self._bulk = Workers(count)
        # Separate from bulk work, so that a query during a long import does not queue behind it.
        self._single = Workers(count)
        self._brief = False
        self._card: ModelFolder | None = None
        self._model: _Model | None = None

    def load_ahead(self, *, brief: bool = False) -> None:
        """Begin to load the model in a thread, for a caller that will embed soon and has other work to do meanwhile.

        An error is raised where the model is used.

        Args:
            brief: Load it in half the time, for a few texts that each take some milliseconds longer.
        """
        self._brief = brief
        with suppress(ImportError):
            without_telemetry()
            import onnxruntime  # noqa: F401 - here: a thread would import it in turns with the caller, not beside it
        self._single.submit(self._load_whole)

    async def close(self) -> None:
        await super().close()
        self._bulk.close()
        self._single.close()
        self._model = None

    def _load(self) -> None:
        if self.folder == BUNDLED and not (BUNDLED / "model.onnx").is_file():
            raise EmbedderError(
                "this installation carries no bundled model: install the wheel, or `pip install -e .` in a checkout; "
                "or name another embedder, such as a folder with model.onnx and tokenizer.json"
            )
        card = read_folder(self.folder)
        self._card = card
        self.dimensions = card.dimensions or self._loaded_model().run(card.name).shape[0]
        self.fingerprint = card.fingerprint

    def _load_whole(self) -> None:
        self._load_once()
        self._loaded_model()

    def _encode(self, texts: list[str], role: Role) -> ArrayLike:
        return [self._encode_one(text, role) for text in texts]

    async def _encode_all(self, texts: list[str], role: Role) -> ArrayLike:
        if len(texts) == 1:
            return [await asyncio.wrap_future(self._single.submit(self._encode_one, texts[0], role))]
        # The longest first, so that the threads finish at about the same time. Each takes the next text by itself: to
        # wake the event loop for each one would take turns with it.
        left = deque(sorted(range(len(texts)), key=lambda index: -len(texts[index])))
        rows: dict[int, Vectors] = {}

        def work() -> None:
            while True:
                try:
                    index = left.popleft()
                except IndexError:
                    return
                rows[index] = self._encode_one(texts[index], role)

        threads = range(min(self._bulk.threads, len(texts)))
        try:
            await asyncio.gather(*(asyncio.wrap_future(self._bulk.submit(work)) for _ in threads))
        finally:
            left.clear()  # one text failed, or the caller was cancelled
        return [rows[index] for index in range(len(texts))]

    def _encode_one(self, text: str, role: Role) -> Vectors:
        assert self._card is not None
        return self._loaded_model().run(self._card.prefixes.apply(text, role))

    def _loaded_model(self) -> _Model:
        model = self._model
        if model is None:
            assert self._card is not None
            model = self._model = _shared_model(self._card, self._brief)
        return model


class _Model:
    """A loaded session and its tokenizer; safe to run from several threads."""

    def __init__(self, card: ModelFolder, brief: bool) -> None:
        self._pooling = card.pooling
        self._most_characters = card.max_tokens * _CHARACTERS_PER_TOKEN
        self._table: WordTable | None = None
        self._tokenizer: Tokenizer
        if card.tokenizer.name == HASHES:
            self._tokenizer = Unigram(card.tokenizer.parent, card.max_tokens)
            self._table = WordTable(card.tokenizer.parent)
        else:
            self._tokenizer = open_tokenizer(card.tokenizer, card.max_tokens)
        self._session = open_session(card.weights, card.digest, brief=brief)
        kinds = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
        self._inputs: dict[str, type[Any]] = {}
        for port in self._session.get_inputs():
            if port.name == "inputs_embeds" and self._table is not None:
                continue
            if port.name not in ("input_ids", "attention_mask", "token_type_ids", "position_ids"):
                raise EmbedderError(f"{card.weights} is not a text encoder: it asks for an input named {port.name!r}")
            self._inputs[port.name] = kinds.get(port.type, np.int64)

    def run(self, text: str) -> Vectors:
        """Return one vector, not yet of unit length."""
        ids = self._tokenizer.encode(text[: self._most_characters])
        if not ids:
            raise EmbedderError("the tokenizer found no token in a text")
        values = {
            "input_ids": ids,
            "attention_mask": [1] * len(ids),
            "token_type_ids": [0] * len(ids),
            "position_ids": range(len(ids)),
        }
        feed = {name: np.asarray([values[name]], dtype=kind) for name, kind in self._inputs.items()}
        if self._table is not None:
            feed["inputs_embeds"] = self._table.take(ids)[None]
        return _pool(np.asarray(self._session.run(None, feed)[0], dtype=np.float32)[0], self._pooling)


def _pool(states: NDArray[np.float32], pooling: str) -> Vectors:
    """Return one vector from a text's token vectors (tokens, dimensions); some models return one vector already."""
    if states.ndim == 1:
        return states
    if pooling == "cls":
        return np.asarray(states[0])
    if pooling == "last":
        return np.asarray(states[-1])
    return np.asarray(states.max(axis=0) if pooling == "max" else states.mean(axis=0, dtype=np.float32))


_models: weakref.WeakValueDictionary[tuple[str, str, bool], _Model] = weakref.WeakValueDictionary()
_models_lock = threading.Lock()


def _shared_model(card: ModelFolder, brief: bool) -> _Model:
    """Return the model of a folder, loaded once for all embedders that use it."""
    key = (str(card.weights.resolve()), card.fingerprint, brief)
    with _models_lock:
        model = _models.get(key)
        if model is None:
            model = _models[key] = _Model(card, brief)
        return model


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
