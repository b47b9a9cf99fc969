"""Tokenizers that turn texts into ids, as the `tokenizer.json` of a model says.

BERT's WordPiece, which the bundled model uses, is implemented here, because the tokenizers package would add a
model hub's client and thirteen more packages to every installation. A test compares its ids with that package's.
Other kinds of tokenizer need the package.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from memorist.errors import EmbedderError, needs
from memorist.system.handles import read_file

_LONGEST_WORD = 100
_CJK = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B81F), (0x2B820, 0x2CEAF),
        (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))  # fmt: skip
_ASCII_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")


class Tokenizer(Protocol):
    """Turns a text into ids; safe to use from several threads."""

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, with the model's special tokens, cut to its maximum length."""
        ...


def open_tokenizer(path: Path, most: int) -> Tokenizer:
    """Return the tokenizer that a `tokenizer.json` describes.

    Args:
        path: the file.
        most: the most tokens, special tokens included; longer texts are cut.

    Raises:
        EmbedderError: the file is not a valid `tokenizer.json`.
        MissingExtraError: it is of another kind than BERT's, and tokenizers is not installed.
    """
    try:
        definition = json.loads(read_file(path))
    except (OSError, ValueError) as error:
        raise EmbedderError(f"cannot read {path}: {error}") from error
    try:
        parts = [definition[part]["type"] for part in ("model", "normalizer", "pre_tokenizer")]
        if parts == ["WordPiece", "BertNormalizer", "BertPreTokenizer"]:
            return WordPiece(definition, most)
    except (KeyError, TypeError):
        pass  # not a BERT tokenizer: the library reads it
    return _Library(path, most)


class WordPiece:
    """BERT's tokenizer: words and punctuation, each cut into the longest pieces that the vocabulary has.

    Special tokens in a text, such as "[SEP]", are treated as plain text.
    """

    def __init__(self, definition: dict[str, Any], most: int) -> None:
        model, normalizer = definition["model"], definition["normalizer"]
        self._vocabulary: dict[str, int] = model["vocab"]
        self._unknown = self._vocabulary[model["unk_token"]]
        self._prefix: str = model["continuing_subword_prefix"]
        self._lower: bool = normalizer["lowercase"]
        accents = normalizer["strip_accents"]
        self._strip_accents: bool = self._lower if accents is None else accents
        self._before, self._after = _frame(definition["post_processor"])
        self._room = most - len(self._before) - len(self._after)
        self._pieces = lru_cache(maxsize=1 << 14)(self._cut)

    def encode(self, text: str) -> list[int]:
        """Return the ids of a text's tokens, with the model's special tokens."""
        ids: list[int] = []
        for word in _words(self._normalized(text)):
            ids += self._pieces(word)
            if len(ids) >= self._room:
                break
        return [*self._before, *ids[: self._room], *self._after]

    def _normalized(self, text: str) -> str:
        if text.isascii() and text.isprintable():
            return text.lower() if self._lower else text
        text = "".join(map(_cleaned, text))
        if self._strip_accents:
            text = "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")
        return "".join(c.lower() for c in text) if self._lower else text  # letter by letter: no final sigma

    def _cut(self, word: str) -> tuple[int, ...]:
        if len(word) > _LONGEST_WORD:
            return (self._unknown,)
        ids, start = [], 0
        while start < len(word):
            for end in range(len(word), start, -1):
                piece = word[start:end] if start == 0 else self._prefix + word[start:end]
                if (id := self._vocabulary.get(piece)) is not None:
                    ids.append(id)
                    start = end
                    break
            else:
                return (self._unknown,)
        return tuple(ids)


def _cleaned(letter: str) -> str:
    """Return a letter, with spaces around it if it is Chinese; a space for white space; "" for invisible characters."""
    if letter.isspace():
        return " "
    if letter == "\ufffd" or unicodedata.category(letter)[0] == "C":
        return ""
    code = ord(letter)
    return f" {letter} " if code >= 0x3400 and any(first <= code <= last for first, last in _CJK) else letter


def _words(text: str) -> Iterator[str]:
    """Yield words and punctuation marks in order."""
    for chunk in text.split():
        if chunk.isalnum():
            yield chunk
            continue
        start = 0
        for position, letter in enumerate(chunk):
            if letter in _ASCII_PUNCTUATION or (letter > "\x7f" and unicodedata.category(letter)[0] == "P"):
                if position > start:
                    yield chunk[start:position]
                yield letter
                start = position + 1
        if start < len(chunk):
            yield chunk[start:]


def _frame(processor: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Return the ids before and after every text."""
    if processor["type"] == "BertProcessing":
        return [processor["cls"][1]], [processor["sep"][1]]
    pieces, tokens = processor["single"], processor["special_tokens"]
    position = next(index for index, piece in enumerate(pieces) if "Sequence" in piece)
    before, after = (
        [id for piece in part for id in tokens[piece["SpecialToken"]["id"]]["ids"]]
        for part in (pieces[:position], pieces[position + 1 :])
    )
    return before, after


class _Library:
    """Any other tokenizer, run by the tokenizers package."""

    def __init__(self, path: Path, most: int) -> None:
        with needs("tokenizers, which this model's tokenizer.json needs,", "models"):
            from tokenizers import Tokenizer as Whole
        try:
            self._whole = Whole.from_file(str(path))
        except Exception as error:  # the library raises nothing narrower
            raise EmbedderError(f"cannot read {path}: {error}") from error
        self._whole.no_padding()
        self._whole.enable_truncation(most)

    def encode(self, text: str) -> list[int]:
        return list(self._whole.encode(text).ids)
