"""What is left of each token's limits, in a fixed piece of memory that the workers of one server share.

The package limits has windows in place of buckets that refill, takes one amount at a time where a request takes three
or none, and counts across processes only through a server such as Redis or memcached.
"""

import math
import mmap
import os
import struct
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import IO

from memorist.system.platforms import locked

_SLOT = struct.Struct("=Qdddd")
"""The hash of a token, when its buckets were last read, and what each bucket held then; NaN is a full bucket."""
_FIELDS, _WAYS, _SETS = 5, 8, 4096
_SET = struct.Struct("=" + "Qdddd" * _WAYS)
_SIZE = _SETS * _SET.size


def shared_file() -> IO[bytes]:
    """Return an open file without a name, whose descriptor a process hands to others for their `Counts`."""
    # In memory where the system can: to write to a mapped file whose disk is full would kill the process.
    in_memory = getattr(os, "memfd_create", None)
    file = os.fdopen(in_memory("memorist-counts"), "r+b") if in_memory else tempfile.TemporaryFile()  # noqa: SIM115
    file.write(bytes(_SIZE))
    file.flush()
    return file


class Counts:
    """The buckets of up to 32,768 tokens; reading or writing one takes the same time however many there are.

    A token has a slot in one of 4,096 sets of eight. Where a set is full, the token that was away longest gives up its
    slot and begins anew with full buckets.

    Args:
        file: the descriptor of a `shared_file`; with None, only this process is counted.
    """

    def __init__(self, file: int | None = None) -> None:
        self._file = file
        self._slots = mmap.mmap(-1 if file is None else file, _SIZE)

    @contextmanager
    def slot(self, token: str) -> Iterator["Slot"]:
        """Yield a token's slot; no other process reads or writes any until the block ends."""
        if self._file is None:
            yield self._slot(token)
            return
        with locked(self._file):
            yield self._slot(token)

    def _slot(self, token: str) -> "Slot":
        name = int.from_bytes(blake2b(token.encode("utf-8", "surrogatepass"), digest_size=8).digest()) or 1
        first = name % _SETS * _SET.size
        fields = _SET.unpack_from(self._slots, first)
        names, times = fields[::_FIELDS], fields[1::_FIELDS]
        way = names.index(name) if name in names else min(range(_WAYS), key=lambda way: (names[way] > 0, times[way]))
        left = fields[way * _FIELDS + 2 : (way + 1) * _FIELDS] if names[way] == name else (math.nan,) * (_FIELDS - 2)
        held = [None if math.isnan(each) else each for each in left]
        return Slot(self._slots, first + way * _SLOT.size, name, times[way], held)


@dataclass(frozen=True, slots=True)
class Slot:
    """What was left of one token's buckets, and when.

    Args:
        memory: holds the slots.
        at: where this one begins.
        name: the hash of the token that it is for.
        since: when the buckets were last written.
        left: what each held then; None if it was full.
    """

    memory: mmap.mmap
    at: int
    name: int
    since: float
    left: Sequence[float | None]

    def write(self, now: float, left: Sequence[float | None]) -> None:
        """Write what each bucket holds now."""
        held = (math.nan if each is None else each for each in left)
        _SLOT.pack_into(self.memory, self.at, self.name, now, *held)
