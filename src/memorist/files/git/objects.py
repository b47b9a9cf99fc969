"""The commits of a repository, read from its loose objects and its packs: as much as leads to the first one.

The forms are those of git's own documentation: gitformat-pack and the header of a commit. What is not as described
there, or larger than a commit is, ends the search: a repository may be anybody's.
"""

import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import cached_property
from typing import BinaryIO

from memorist.files.git.reading import opened, read_bytes, read_small

MOST_COMMITS = 50_000
"""The longest history, by first parents, whose first commit is looked for: about a second."""
_MOST_PACKS = 1_000
_LARGEST_INDEX = 256 << 20
_HEADER = 512
"""The bytes of a commit that name its tree and its parents, if it has fewer than eight."""
_LARGEST = 1 << 20
"""The most bytes of a commit that is stored as changes to another."""
_DEEPEST = 200
_PIECE = 1024
_LONGEST_NUMBER = 16
"""The most bytes of a number in a pack."""
_COMMIT, _OFFSET_DELTA, _NAME_DELTA = 1, 6, 7
_PARENT = re.compile(rb"(?:commit \d+\0)?tree [0-9a-f]+\n(?:parent ([0-9a-f]+)\n)?")
_INDEX = b"\xfftOc\x00\x00\x00\x02"


class Damaged(Exception):
    """An object is not what git writes, or is not there."""


def first_commit(folder: str, head: str, known: Mapping[str, str]) -> tuple[str | None, int]:
    """Return the first commit of a history, by first parents, and how many commits were read.

    None stands for a commit that is not here, or too far back.

    Args:
        folder: the repository's, with its objects.
        head: the last commit.
        known: the first commit of the histories of some commits. A commit's name is a hash of its whole history, so
            this never becomes wrong.
    """
    shallow = frozenset((read_small(folder, "shallow") or "").split())
    with ExitStack() as stack:
        objects = _Objects(folder, len(head) // 2, stack)
        commit = head
        for number in range(MOST_COMMITS):
            if commit in known:
                return known[commit], number
            if commit in shallow:
                return None, number
            try:
                found = _PARENT.match(objects.header(commit))
            except (Damaged, OSError, ValueError, IndexError, struct.error, zlib.error):
                return None, number
            if found is None:
                return None, number
            if found[1] is None:
                return commit, number
            commit = found[1].decode()
    return None, MOST_COMMITS


class _Objects:
    def __init__(self, folder: str, length: int, stack: ExitStack) -> None:
        self._folder = os.path.join(folder, "objects")
        self._length = length
        self._stack = stack

    @cached_property
    def _packs(self) -> list["_Pack"]:
        return list(self._opened(os.path.join(self._folder, "pack")))

    def _opened(self, folder: str) -> Iterator["_Pack"]:
        try:
            names = sorted(each for each in os.listdir(folder) if each.endswith(".idx"))
        except OSError:
            return
        for name in names[:_MOST_PACKS]:
            index = read_bytes(folder, name, most=_LARGEST_INDEX)
            pack = opened(folder, name.removesuffix(".idx") + ".pack")
            if pack is not None:
                self._stack.enter_context(pack)
            if pack is not None and index is not None and index.startswith(_INDEX):
                yield _Pack(index, pack, self._length)

    def header(self, commit: str) -> bytes:
        """Return the beginning of a commit."""
        name = bytes.fromhex(commit)
        for number, pack in enumerate(self._packs):
            if (place := pack.place(name)) is not None:
                self._packs.insert(0, self._packs.pop(number))  # which likely has its parent, too
                return pack.commit(place)
        loose = read_bytes(self._folder, commit[:2], commit[2:], most=_LARGEST)
        found = b"" if loose is None else zlib.decompressobj().decompress(loose, _HEADER)
        if not found.startswith(b"commit "):
            raise Damaged
        return found


class _Pack:
    def __init__(self, index: bytes, pack: BinaryIO, length: int) -> None:
        self._index, self._pack, self._length = index, pack, length
        self._count = struct.unpack_from(">I", index, 8 + 255 * 4)[0]

    def place(self, name: bytes) -> int | None:
        """Return where an object begins; None if it is in another pack."""
        first = 0 if name[0] == 0 else self._fan(name[0] - 1)
        last = self._fan(name[0])
        names = 8 + 256 * 4
        while first < last:
            middle = (first + last) // 2
            start = names + middle * self._length
            found = self._index[start : start + self._length]
            if found == name:
                return self._offset(middle)
            if found < name:
                first = middle + 1
            else:
                last = middle
        return None

    def _fan(self, byte: int) -> int:
        return int(struct.unpack_from(">I", self._index, 8 + byte * 4)[0])

    def _offset(self, number: int) -> int:
        offsets = 8 + 256 * 4 + self._count * (self._length + 4)  # behind the names and the checksums
        offset = int(struct.unpack_from(">I", self._index, offsets + number * 4)[0])
        if offset < 1 << 31:
            return offset
        large = offsets + self._count * 4 + (offset - (1 << 31)) * 8
        return int(struct.unpack_from(">Q", self._index, large)[0])

    def commit(self, place: int) -> bytes:
        """Return the beginning of the commit at a place, or all of it where it is stored as changes to another."""
        kind, _ = self._begun(place)
        return self._whole(place, 0) if kind in (_OFFSET_DELTA, _NAME_DELTA) else self._plain(place, _HEADER)

    def _read(self, place: int, most: int) -> bytes:
        self._pack.seek(place)
        return self._pack.read(most)

    def _begun(self, place: int) -> tuple[int, int]:
        """Return the type of the object at a place, and where its data begin."""
        begun = self._read(place, _LONGEST_NUMBER)
        at = 0
        while begun[at] & 0x80:
            at += 1
        return begun[0] >> 4 & 7, place + at + 1

    def _plain(self, place: int, most: int) -> bytes:
        kind, data = self._begun(place)
        if kind != _COMMIT:
            raise Damaged
        return self._unpacked(data, most)

    def _unpacked(self, data: int, most: int) -> bytes:
        unpacking, found = zlib.decompressobj(), b""
        while len(found) < most and not unpacking.eof:
            piece = self._read(data, _PIECE)
            if not piece:
                raise Damaged
            data += len(piece)
            found += unpacking.decompress(piece, most - len(found))
        return found

    def _whole(self, place: int, depth: int) -> bytes:
        kind, data = self._begun(place)
        if depth > _DEEPEST:
            raise Damaged
        if kind == _OFFSET_DELTA:
            base, data = self._base_before(place, data)
        elif kind == _NAME_DELTA:
            named = self.place(self._read(data, self._length))
            if named is None:
                raise Damaged
            base, data = named, data + self._length
        else:
            return self._plain(place, _LARGEST)
        return _changed(self._whole(base, depth + 1), self._unpacked(data, _LARGEST))

    def _base_before(self, place: int, data: int) -> tuple[int, int]:
        """Return the place of the object that the one at `place` changes, and where the changes begin."""
        begun = self._read(data, _LONGEST_NUMBER)
        at, back = 0, begun[0] & 0x7F
        while begun[at] & 0x80:
            at += 1
            back = (back + 1) << 7 | begun[at] & 0x7F
        if not 0 < back <= place:
            raise Damaged
        return place - back, data + at + 1


def _changed(base: bytes, delta: bytes) -> bytes:
    """Return what a delta makes of its base."""
    at, made = 0, bytearray()
    for _ in range(2):  # the lengths of both
        while delta[at] & 0x80:
            at += 1
        at += 1
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & 0x80:
            numbers = []
            for bits in (range(4), range(4, 7)):
                number = 0
                for shift, bit in enumerate(bits):
                    if code & 1 << bit:
                        number |= delta[at] << 8 * shift
                        at += 1
                numbers.append(number)
            offset, length = numbers[0], numbers[1] or 1 << 16
            made += base[offset : offset + length]
        elif code:
            made += delta[at : at + code]
            at += code
        else:
            raise Damaged
        if len(made) > _LARGEST:
            raise Damaged
    return bytes(made)
