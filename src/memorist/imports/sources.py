"""Where data comes from: a file, a folder, a zip or the standard input, as named parts."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import unicodedata
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TextIO, TypeAlias, TypeVar, cast

from memorist.errors import FormatError, InvalidInputError
from memorist.files.regular import opened
from memorist.imports.decoding import decode, text_of
from memorist.imports.staged import Staged
from memorist.imports.streaming import JsonPath, keys_of, walk
from memorist.records.content import whole_name
from memorist.system.places import expanded

__all__ = ["Part", "Source"]

_T = TypeVar("_T")
_Zipped: TypeAlias = tuple[zipfile.ZipFile, zipfile.ZipInfo]
_HEAD = 1 << 16
_LONGEST_LINE = 100_000_000
_NO_TEXT = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_ZIP = b"PK\x03\x04"
_DOCUMENTS = frozenset(".docx .docm .xlsx .xlsm .pptx .odt .ods .odp .epub .pages .numbers .key".split())
_COMPRESSED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_LARGE = 100_000_000
_MOST_TIMES = 200
"""How many times its size a large file in a zip may unpack to: text is packed to a tenth."""
_GIVEN = "upload"
"""The folder of files without names: readers name a conversation by it where nothing else names it."""
_MOST_CONTROLS = 0.02
"""The share of control characters above which a file is not a text."""
_LONGEST_FIRST = 10_000_000
"""The most characters read of a first line to see whether every line holds one value."""


class Source:
    """The files to be read: one, or those in a zip or in a folder with its zips. Use it in a ``with`` block.

    Args:
        path: a file, a folder, a zip, or "-" for the standard input, of which a copy without a name is made.
        name: what errors call it; by default the path.
        follow_links: read also what links in a folder lead to outside of it.
        held: files without names of their own, by the names to call them, instead of what is at the path.

    Raises:
        InvalidInputError: it cannot be read.
        FormatError: it is a zip, and damaged.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        name: str | None = None,
        follow_links: bool = False,
        staged: Mapping[str, Staged] | None = None,
    ) -> None:
        self.name = os.fspath(path)
        self.asked = False
        """Whether the caller named a format."""
        self.encoding: str | None = None
        """The encoding of every text, where the caller named one."""
        self._opened = ExitStack()
        self._is_copy = self.name == "-"
        self._follows = follow_links
        self.links: list[str] = []
        """The links that lead out of the folder and were not followed."""
        self._kept: dict[object, Any] = {}
        if self._is_copy:
            self.name, copy = "standard input", Staged()
            self._opened.callback(copy.close)
            shutil.copyfileobj(sys.stdin.buffer, copy.file)
            staged = {self.name: copy}
        self.name = name or self.name
        self._number_staged = len(staged or ())
        try:
            self.parts = self._found(expanded(path)) if staged is None else self._in_hand(staged)
        except OSError as error:
            raise InvalidInputError(f"cannot read {self.shown}: {error.strerror or error}") from error
        self._by_name = {part.name: part for part in self.parts}

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close zips and remove the copy of the standard input."""
        self._opened.close()

    @property
    def title(self) -> str:
        """The name of the folder, or of the zip or file without its suffix."""
        place = expanded(self.name).absolute()
        return whole_name(place.name if place.is_dir() else place.stem)

    @cached_property
    def places(self) -> dict[str, list[str]]:
        """The places of all files, by the files' names; see `Part.place`."""
        found: dict[str, list[str]] = {}
        for part in self.parts:
            found.setdefault(part.place.rpartition("/")[2], []).append(part.place)
        return found

    @property
    def shown(self) -> str:
        """The name as it can be written anywhere, with escapes for bytes that are no UTF-8."""
        return whole_name(self.name)

    @cached_property
    def above(self) -> str:
        """The folder in which the names of the parts begin, "" where it is not known.

        It is the folder that was named, or that the file lies in, or a zip's name without its suffix.
        """
        if self._is_copy or self._number_staged > 1:
            return ""
        place = Path(os.path.abspath(expanded(self.name)))  # noqa: PTH100  # a link keeps its own name
        if self.parts and self.parts[0].in_zip and not place.is_dir():
            return place.stem
        if self._number_staged:
            return ""
        return place.name if place.is_dir() else place.parent.name

    @property
    def is_copy(self) -> bool:
        """Whether it is a copy of the standard input."""
        return self._is_copy

    def part(self, name: str) -> Part | None:
        """Return the part with this name, or None."""
        return self._by_name.get(name)

    def kept(self, name: object, make: Callable[[], _T]) -> _T:
        """Return the value for `name`, which `make` makes at the first call; several parts of a source share it."""
        if name not in self._kept:
            self._kept[name] = make()
        return cast(_T, self._kept[name])

    def _found(self, place: Path) -> list[Part]:
        if place.is_dir():
            os.scandir(place).close()  # raises if the file may not be read
            return [part for file in sorted(self._files(place)) for part in self._inside(_name_in(place, file), file)]
        if _is_zip(place) and not _is_document(place.name):
            return self._zipped(opened(place), "")
        return [Part(self, place.name, place.stat().st_size, place)]

    def _in_hand(self, staged: Mapping[str, Staged]) -> list[Part]:
        """Return the files without names, each or what is in it if it is a zip."""
        found: list[Part] = []
        for name, file in staged.items():
            if file.read(0, len(_ZIP)) == _ZIP and not _is_document(name):
                found += self._zipped(file.open(), "" if len(staged) == 1 else f"{name}/")
            else:
                found.append(Part(self, name, file.size, file))
        return found

    def _files(self, place: Path) -> Iterator[Path]:
        """Yield the regular files of a folder; note the links out of it that are not followed."""
        root, seen = place.resolve(), set[tuple[int, int]]()
        for at, folders, names in os.walk(place, followlinks=self._follows):
            here = Path(at).stat()
            if (here.st_dev, here.st_ino) in seen:  # links may lead in a circle
                folders.clear()
                continue
            seen.add((here.st_dev, here.st_ino))
            folders[:] = [each for each in folders if not _is_hidden(each)]
            for path in (Path(at, each) for each in (*folders, *names) if not _is_hidden(each)):
                if path.is_symlink() and not self._follows and not path.resolve().is_relative_to(root):
                    self.links.append(whole_name(_name_in(place, path)))
                elif path.is_file():
                    yield path

    def _inside(self, name: str, file: Path) -> list[Part]:
        """Return a file of a folder, or what is in it, if it is a zip and not damaged."""
        if file.suffix.lower() == ".zip" and _is_zip(file):
            with suppress(FormatError):
                return self._zipped(opened(file), f"{name}/")
        return [Part(self, name, file.stat().st_size, file)]

    def _zipped(self, stream: BinaryIO, prefix: str) -> list[Part]:
        self._opened.enter_context(stream)
        try:
            archive = zipfile.ZipFile(stream)
            if sum(each.compress_size for each in archive.infolist()) > stream.seek(0, 2):
                raise zipfile.BadZipFile("its files overlap")
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise FormatError(f"{self.shown} is a damaged zip: {error}") from error
        self._opened.enter_context(archive)
        infos = sorted((each for each in archive.infolist() if not each.is_dir()), key=lambda each: each.filename)
        return [
            Part(self, prefix + each.filename, each.file_size, (archive, each))
            for each in infos
            if not _is_hidden(each.filename)
        ]


class Part:
    """One file of a source.

    `name` is its path inside the source, with "/" between folders, and with escapes for bytes that are no UTF-8; `size`
    is in bytes.
    """

    def __init__(self, source: Source, name: str, size: int, place: Path | Staged | _Zipped) -> None:
        self.source = source
        self.name = whole_name(name)
        self.size = size
        self._place = place

    @property
    def path(self) -> Path | None:
        """The file, if it is one by itself: None in a zip, and for what was given without a name."""
        return self._place if isinstance(self._place, Path) else None

    @property
    def in_zip(self) -> bool:
        """Whether it is one of the files in a zip."""
        return isinstance(self._place, tuple)

    @property
    def database(self) -> Path | bytes | None:
        """Where a database is read from: the file, or all that a file without a name holds; None in a zip.

        Raises:
            FormatError: it has no name, and is too large to be held in memory.
        """
        return self._place.whole() if isinstance(self._place, Staged) else self.path

    @property
    def is_named(self) -> bool:
        """Whether it is a file by itself that was named, by its path, its folder's or its format.

        A format that keeps its files beside each other is not taken to be any folder that happens to lie further in.
        """
        return self.path is not None and (self.source.asked or "/" not in self.name)

    @property
    def pure(self) -> PurePosixPath:
        """The name as a path, for its parents, stem and suffix."""
        return PurePosixPath(self.name)

    @cached_property
    def place(self) -> str:
        """The name below the folder or the zip that was named, or the folder that a single file lies in.

        Composed and decomposed letters are the same in it.
        """
        above = self.source.above
        return unicodedata.normalize("NFC", whole_name(f"{above}/{self.name}" if above else self.name))

    @property
    def title(self) -> str:
        """The name without folders and suffix."""
        return self.pure.stem

    @property
    def folder(self) -> str:
        """The name of the folder that the file is in; of the zip at the top of one, "" for the standard input."""
        if isinstance(self._place, Staged):
            return "" if self.source.is_copy else self.pure.parent.name or _GIVEN
        if self.path is None:
            return self.pure.parent.name.removesuffix(".zip") or whole_name(Path(self.source.name).stem)
        return whole_name(self.path.absolute().parent.name)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading bytes.

        Raises:
            FormatError: it cannot be read, or is damaged.
        """
        try:
            stream = self._opened()
        except FormatError:
            raise
        except (OSError, InvalidInputError, zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: it is encrypted
            raise FormatError(f"it cannot be read: {error}") from error
        with stream:
            try:
                yield stream
            except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
                raise FormatError(f"it cannot be read: {error}") from error

    def _opened(self) -> BinaryIO:
        if isinstance(self._place, Path):
            return opened(self._place)
        if isinstance(self._place, Staged):
            return self._place.open()
        archive, info = self._place
        if info.compress_type not in _COMPRESSED:
            raise FormatError("its compression method could need unlimited memory; repack it as an ordinary zip")
        if info.file_size > _LARGE and info.file_size > _MOST_TIMES * info.compress_size:
            raise FormatError(
                f"it would unpack to more than {_MOST_TIMES} times its size; unpack it yourself and give the folder"
            )
        return cast(BinaryIO, archive.open(info))

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB."""
        with self.open() as stream:
            return stream.read(_HEAD)

    @cached_property
    def beginning(self) -> str:
        """The first 64 KiB as text, "" for a file that is not text."""
        text = "" if b"\0\0\0" in self.head else decode(self.head, self.source.encoding)
        return "" if len(_NO_TEXT.findall(text)) > len(text) * _MOST_CONTROLS else text

    @cached_property
    def json(self) -> tuple[str, frozenset[str]]:
        """The first character of a JSON file, "[", "{" or "" for another file, and the keys of its first object."""
        return keys_of(self.beginning)

    @property
    def keys(self) -> frozenset[str]:
        """The keys of the first object of a JSON file, as far as the first 64 KiB show them."""
        return self.json[1]

    def release(self) -> None:
        """Release the beginning of the file, which is read again when needed: a source may have many files."""
        for name in ("head", "beginning", "json"):
            self.__dict__.pop(name, None)

    @contextmanager
    def text(self) -> Iterator[TextIO]:
        """Open the file for reading text of any usual encoding."""
        with self.open() as stream:
            yield text_of(stream, self.head, self.source.encoding)

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line with its number, from 1, without its end."""
        with self.text() as stream:
            number = 0
            while line := stream.readline(_LONGEST_LINE):
                number += 1
                yield number, line.removesuffix("\n")

    def walk(self, inside: Callable[[JsonPath], bool]) -> Iterator[tuple[JsonPath, Any]]:
        """Yield the values of a JSON file with their paths; see `memorist.imports.streaming.walk`."""
        with self.text() as stream:
            yield from walk(stream, inside)

    def records(self) -> Iterator[tuple[str, Any]]:
        """Yield the elements of a JSON array, or the values of a file that has one in each line or several.

        Each comes with its place, such as "line 12" or "record 3". A line that is not JSON is yielded as a FormatError.
        """
        if self._has_a_value_a_line():
            for number, line in self.lines():
                if line.strip():
                    try:
                        value = json.loads(line, strict=False)
                    except (ValueError, RecursionError) as error:
                        value = FormatError(f"not JSON: {error}")
                    yield f"line {number}", value
            return
        values = self.walk(lambda path: len(path) == 1 and self.json[0] == "[")
        for number, (_, value) in enumerate(values, start=1):
            yield f"record {number}", value

    def _has_a_value_a_line(self) -> bool:
        if self.json[0] != "{":
            return False
        with self.text() as stream:
            first = "\n"
            while first and not first.strip():
                first = stream.readline(_LONGEST_FIRST)
        try:
            json.loads(first)
        except (ValueError, RecursionError):
            return False
        return True


def _is_document(name: str) -> bool:
    """Return whether a file that is packed as a zip is a document, by its name."""
    return PurePosixPath(name).suffix.lower() in _DOCUMENTS


def _is_zip(file: Path) -> bool:
    with opened(file) as stream:
        return stream.read(len(_ZIP)) == _ZIP


def _name_in(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def _is_hidden(name: str) -> bool:
    return any(each.startswith((".", "__MACOSX")) for each in PurePosixPath(name).parts)
