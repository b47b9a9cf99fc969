"""Reading the settings of a folder with an ONNX model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memorist.embedders.prefixes import Prefixes, prefixes_for
from memorist.embedders.unigram import HASHES, TABLES
from memorist.errors import EmbedderError
from memorist.system.handles import open_file, read_file

CARD = "memorist.json"
POOLINGS = ("cls", "mean", "max", "last")
_WEIGHTS = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_MOST_TOKENS = 512
_POOLING_MODES = {"cls_token": "cls", "mean_tokens": "mean", "max_tokens": "max", "lasttoken": "last"}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model on disk and how to use it.

    Attributes:
        weights: The ONNX file.
        tokenizer: The `tokenizer.json`.
        name: The model's name in the fingerprint.
        dimensions: Length of a vector; 0 if it is known only once the model is loaded.
        pooling: How token vectors become one: cls, mean, max or last.
        max_tokens: Only this many tokens of a text are embedded.
        prefixes: The text put before each text, by role.
        digest: sha256 over weights and tokenizer.
    """

    weights: Path
    tokenizer: Path
    name: str
    dimensions: int
    pooling: str
    max_tokens: int
    prefixes: Prefixes
    digest: str

    @property
    def fingerprint(self) -> str:
        """The model's name and a hash of everything that determines its vectors; the same on every machine."""
        parts = (self.digest, self.pooling, str(self.max_tokens), self.prefixes.mark())
        return f"{self.name}@{hashlib.sha256('|'.join(parts).encode()).hexdigest()[:16]}"


def read_folder(path: Path) -> ModelFolder:
    """Return the settings of a folder. The weights are hashed unless its `memorist.json` states their hash.

    Settings are read from `memorist.json` first (all keys optional: name, weights, tokenizer, dimensions,
    pooling, max_tokens, prefixes, files), then from the files that sentence-transformers writes.

    Raises:
        EmbedderError: The folder does not exist, a file is missing or truncated, or a setting is invalid.
    """
    if not path.is_dir():
        raise EmbedderError(f"there is no model folder {path}; it needs model.onnx and tokenizer.json")
    card = _json(path / CARD)
    weights = _weights(path, card)
    tokenizer = path / str(card.get("tokenizer", "tokenizer.json"))
    if not tokenizer.is_file():
        raise EmbedderError(f"the model folder {path} has no {tokenizer.name}; save the model's fast tokenizer there")
    files = card.get("files", {})
    for name, facts in files.items():
        _check_size(path / name, facts)
    config = _json(path / "config.json")
    return ModelFolder(
        weights=weights,
        tokenizer=tokenizer,
        name=str(card.get("name", "onnx")),
        dimensions=int(card.get("dimensions", config.get("hidden_size", 0))),
        pooling=_pooling(path, card),
        max_tokens=_max_tokens(path, card, config),
        prefixes=_prefixes(path, card, config),
        digest=_digest(path, [weights, *_external(weights), tokenizer, *_tables(tokenizer)], files),
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_file(path))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EmbedderError(f"cannot read {path}: {error}") from error
    if not isinstance(found, dict):
        raise EmbedderError(f"cannot read {path}: it is not a JSON object")
    return found


def _weights(path: Path, card: dict[str, Any]) -> Path:
    names = (str(card["weights"]),) if "weights" in card else _WEIGHTS
    for name in names:
        if (path / name).is_file():
            return path / name
    raise EmbedderError(f"the model folder {path} has no {names[0]}; export the model with `optimum-cli export onnx`")


def _external(weights: Path) -> list[Path]:
    """Return the files that hold the tensors of a model too big for one file."""
    found = {*weights.parent.glob(f"{weights.name}_data*"), *weights.parent.glob(f"{weights.name}.data*")}
    return sorted(found)


def _tables(tokenizer: Path) -> list[Path]:
    """Return the files beside a tokenizer of hashes, in order; see `memorist.embedders.unigram`."""
    return [tokenizer.parent / name for name in TABLES] if tokenizer.name == HASHES else []


def _check_size(path: Path, facts: dict[str, Any]) -> None:
    expected, found = facts.get("bytes"), path.stat().st_size if path.is_file() else -1
    if found < 0:
        raise EmbedderError(f"the model folder {path.parent} has no {path.name}, which its {CARD} names")
    if expected is not None and found != expected:
        raise EmbedderError(f"{path} has {found} bytes instead of {expected}: install or download it again")


def _pooling(path: Path, card: dict[str, Any]) -> str:
    pooling = card.get("pooling")
    if pooling is None:
        modes = _json(path / "1_Pooling" / "config.json")
        flags = [key.removeprefix("pooling_mode_") for key, on in modes.items() if on is True]
        flags = [_POOLING_MODES.get(flag, flag) for flag in flags if flag != "include_prompt"]
        pooling = modes.get("pooling_mode") or "+".join(flags) or "mean"
    if pooling not in POOLINGS:
        raise EmbedderError(f"the model folder {path} asks for {pooling!r} pooling; known are {', '.join(POOLINGS)}")
    return str(pooling)


def _max_tokens(path: Path, card: dict[str, Any], config: dict[str, Any]) -> int:
    tokens = card.get("max_tokens") or _json(path / "sentence_bert_config.json").get("max_seq_length")
    if tokens is None:
        tokens = min(int(config.get("max_position_embeddings", _MOST_TOKENS)), _MOST_TOKENS)
    return max(2, int(tokens))


def _prefixes(path: Path, card: dict[str, Any], config: dict[str, Any]) -> Prefixes:
    prompts = card.get("prefixes")
    if prompts is None:
        prompts = _json(path / "config_sentence_transformers.json").get("prompts") or None
    if prompts is None:
        # The folder's own name is only a hint here; it never enters the fingerprint.
        return prefixes_for(str(card.get("name") or config.get("_name_or_path") or path.resolve().name))
    document = prompts.get("document", prompts.get("passage", ""))
    return Prefixes(str(document or ""), str(prompts.get("query") or ""))


def _digest(path: Path, files: list[Path], stated: dict[str, Any]) -> str:
    whole = hashlib.sha256()
    for file in files:
        digest = stated.get(file.relative_to(path).as_posix(), {}).get("sha256")
        if digest is None:
            with open_file(file) as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        whole.update(str(digest).encode())
    return whole.hexdigest()
