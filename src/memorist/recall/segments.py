"""A part of a wall's index as bytes: the data of consecutive records in the form in which ranking reads them."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memorist.errors import StoreCorruptError
from memorist.recall.postings import Run

_ALIGNED = 16


@dataclass(frozen=True, slots=True)
class Segment:
    """Rows of a wall's index, in the order of their numbers; no dead ones.

    Args:
        columns: the fields of each row; of an agent, a session or a speaker its position in `names`, -1 for none.
        names: the agents, sessions and speakers.
        days: rows, counted from the first, with the days since 1970 that their texts point at; shape (2, n).
        vectors: whole, or as one-byte codes. scales: of codes: each row's scale. None where the vectors are whole.
        residual: of codes: the greatest length of what was rounded off.
        texts: each row's terms; None where words are searched in the store.
        run: their postings; None likewise.
    """

    columns: Mapping[str, NDArray[Any]]
    names: Mapping[str, Sequence[str]]
    days: NDArray[np.int64]
    vectors: NDArray[Any]
    scales: NDArray[np.float32] | None = None
    residual: float = 0.0
    texts: Sequence[str] | None = None
    run: Run | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.vectors)


def pack(segment: Segment) -> bytes:
    """Return a segment as bytes: a length, so many bytes of JSON that say what follows, then the arrays."""
    arrays: dict[str, NDArray[Any]] = {f"column {name}": column for name, column in segment.columns.items()}
    arrays |= {"days": segment.days, "vectors": segment.vectors}
    if segment.scales is not None:
        arrays["scales"] = segment.scales
    if segment.texts is not None and segment.run is not None:
        run = segment.run
        arrays |= {"texts": _bytes_of(segment.texts), "terms": _bytes_of(list(run.numbers))}
        arrays |= {"starts": run.starts, "rows": run.rows, "counts": run.counts}
    size, pieces, plan = 0, [], {}
    for name, array in arrays.items():
        raw = np.ascontiguousarray(array).tobytes()
        plan[name] = [array.dtype.str, list(array.shape), size]
        pieces.append(raw + bytes(-len(raw) % _ALIGNED))
        size += len(pieces[-1])
    head = json.dumps({"arrays": plan, "names": segment.names, "residual": segment.residual}).encode()
    head = head.ljust(len(head) + -len(head) % _ALIGNED)
    return b"".join((str(len(head)).encode().ljust(_ALIGNED), head, *pieces))


def unpack(data: NDArray[np.uint8]) -> Segment:
    """Return the segment in the bytes that `pack` made; its columns and vectors are views of them.

    Raises:
        StoreCorruptError: the bytes are not those of a segment.
    """
    try:
        start = _ALIGNED + int(data[:_ALIGNED].tobytes())
        head = json.loads(data[_ALIGNED:start].tobytes())
        arrays = {name: _array(data[start:], *plan) for name, plan in head["arrays"].items()}
        columns = {name.removeprefix("column "): array for name, array in arrays.items() if name.startswith("column ")}
        run = texts = None
        if "texts" in arrays:
            texts = _texts_of(arrays["texts"]) if len(arrays["vectors"]) else []
            terms = _texts_of(arrays["terms"]) if arrays["terms"].size else []
            numbers = {term: number for number, term in enumerate(terms)}
            run = Run(numbers, *(arrays[name].copy() for name in ("starts", "rows", "counts")))
        scales, residual = arrays.get("scales"), float(head["residual"])
        return Segment(columns, head["names"], arrays["days"], arrays["vectors"], scales, residual, texts, run)
    except (ValueError, KeyError, TypeError) as error:
        raise StoreCorruptError(f"a part of a search index cannot be read: {error}") from error


def _array(data: NDArray[np.uint8], form: str, shape: list[int], start: int) -> NDArray[Any]:
    dtype = np.dtype(form)
    size = dtype.itemsize * math.prod(shape)
    return data[start : start + size].view(dtype).reshape(shape)


def _bytes_of(texts: Sequence[str]) -> NDArray[np.uint8]:
    return np.frombuffer("\n".join(texts).encode(), np.uint8)


def _texts_of(raw: NDArray[np.uint8]) -> list[str]:
    return raw.tobytes().decode().split("\n")
