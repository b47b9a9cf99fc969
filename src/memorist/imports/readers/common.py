"""What several readers share."""

import json
import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

from memorist.errors import FormatError, InvalidInputError
from memorist.files.foreign import MALFORMED, foreign, tables_of
from memorist.files.projects import labels_of
from memorist.framing.frame import without_recalled
from memorist.imports.reader import Bad, Item, Left, Options
from memorist.imports.sources import Part
from memorist.kinds import Message
from memorist.records.record import Kind
from memorist.records.times import TimeLike

BY_THE_PROGRAM = Left("messages that the program wrote itself")
"""Who came and went, calls, changes of a group."""
DELETED = Left("deleted messages")
INSTRUCTIONS = Left("instructions of the system")
THINKING = Left("thoughts of a model")
OF_THE_AGENT = Left("tool calls, thoughts and other entries of the agent's own")
OTHER_BRANCHES = "messages of branches that were not shown last"

_P = ParamSpec("_P")
_Found = TypeVar("_Found")
_TEXT_BLOCKS = ("voice_note", "knowledge")
"""What was dictated, and what a tool found."""
_LONGEST_NOTE = 2_000
"""In characters: embedders read little more of a text."""


def attempt(
    where: str, make: Callable[Concatenate[str, _P], Iterator[_Found]], *args: _P.args, **kwargs: _P.kwargs
) -> Iterator[_Found | Bad]:
    """Yield the items that `make` finds at a place in a file, or a `Bad` for a part of another form."""
    try:
        yield from make(where, *args, **kwargs)
    except FormatError:
        raise  # nothing after this line can be read
    except InvalidInputError as error:
        yield Bad(where, str(error))
    except MALFORMED as error:
        yield Bad(where, f"it does not have the expected form: {type(error).__name__}: {error}")


def having(*keys: Set[str], texts: Collection[str] = ()) -> Callable[[Part], bool]:
    """Return what recognises a file whose objects have all keys of one of the sets, and that begins with the texts."""
    return lambda part: any(each <= part.keys for each in keys) and all(text in part.beginning for text in texts)


def holding(*names: str) -> Callable[[Part], bool]:
    """Return what recognises a database that has these tables."""
    return lambda part: tables(part).issuperset(names)


class Projects(dict[str, tuple[str, ...]]):
    """The labels of the projects of folders, each looked for once: see `labels_of`."""

    def __missing__(self, folder: str) -> tuple[str, ...]:
        found = self[folder] = labels_of(folder)
        return found


def in_session(said: Message, where: str, session: str, labels: tuple[str, ...]) -> Item:
    """Return a message of a coding agent's session, with the id, session and project that a hook gives it.

    The first label is the project's, the others are those that it had before.
    """
    return Item(
        content=without_recalled(said.content),
        where=where,
        conversation=session,
        id=said.id,
        role=said.role,
        happened_at=said.happened_at,
        agent=labels[0] if labels else None,
        formerly=labels[1:],
        metadata={"session": session},
        shared_id=True,
    )


def each(
    part: Part,
    make: Callable[Concatenate[str, Any, _P], Iterator[_Found]],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> Iterator[_Found | Bad]:
    """Yield the items that `make` finds in each record of a JSON file, given the record's place and value."""
    for where, value in part.records():
        if isinstance(value, FormatError):
            yield Bad(where, str(value))
        else:
            yield from attempt(where, make, value, *args, **kwargs)


def each_record(make: Callable[[str, Any], Iterator[_Found]]) -> Callable[[Part, Options], Iterator[_Found | Bad]]:
    """Return the `read` of a format whose items `make` finds in each record of a JSON file; see `each`."""
    return lambda part, options: each(part, make)


def blocks_text(content: Any) -> str:
    """Return the text of a message's content: a text, a block, or a list of both; other blocks have none."""
    if isinstance(content, dict):
        kind = content.get("type")
        has_text = kind is None or str(kind).endswith("text") or kind in _TEXT_BLOCKS
        content = content.get("text") if has_text else None
    if isinstance(content, str):
        return content
    blocks: Iterable[Any] = content if isinstance(content, list) else ()
    return "\n".join(filter(None, map(blocks_text, blocks)))


def groups(lines: Iterable[tuple[int, str]], begins: Callable[[str], bool]) -> Iterator[tuple[int, list[str]]]:
    """Yield lines in groups, each with the number of its first, which begins it; those before any, one by one."""
    group, first = list[str](), 0
    for number, line in lines:
        if begins(line):
            if group:
                yield first, group
            group, first = [line], number
        elif group:
            group.append(line)
        else:
            yield number, [line]
    if group:
        yield first, group


def branch(parents: Mapping[str, Any], current: Any) -> list[str]:
    """Return the names from the root of a tree to a node, given the parent of each; a loop of parents ends."""
    found: dict[str, None] = {}
    while current in parents and current not in found:
        found[current] = None
        current = parents[current]
    return [*found][::-1]


def pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces of whole paragraphs, or lines of a long one; none is too long for a note if no line is."""
    piece = ""
    for before, passage in _passages(text):
        if piece and len(piece) + len(passage) > _LONGEST_NOTE:
            yield piece
            piece = passage
        else:
            piece += before + passage if piece else passage
    if piece:
        yield piece


def _passages(text: str) -> Iterator[tuple[str, str]]:
    """Yield each paragraph, or each line of one that is too long for a note, after what stands before it."""
    parts = ["", *re.split(r"(\n\s*\n)", text)]
    for before, paragraph in zip(parts[::2], parts[1::2], strict=True):
        if len(paragraph) <= _LONGEST_NOTE:
            yield before, paragraph
            continue
        first, *lines = paragraph.split("\n")
        yield before, first
        yield from (("\n", line) for line in lines)


def notes_of(
    part: Part, headings: Sequence[str], text: str, *, when: TimeLike | None = None, where: str = "", place: str = ""
) -> Iterator[Item]:
    """Yield a text of a file as notes, each below the file's name and the headings that lead to it.

    Args:
        part: the file.
        headings: those above the text.
        text: the text.
        when: when it was written.
        where: where it is in the file.
        place: what tells this text from others with the same headings.
    """
    above = "".join(f"#{each}" for each in (*headings, *filter(None, (place,))))
    for number, piece in enumerate(pieces(text.strip()), start=1):
        in_file = above if number == 1 else f"{above}/{number}"
        yield Item(
            content=" › ".join([part.title, *headings]) + f"\n\n{piece}",
            where=where or f"part {number}",
            kind=Kind.NOTE,
            conversation=part.source.title,
            id=part.name + in_file,
            in_file=in_file,
            happened_at=when,
            metadata={"file": part.name},
        )


_TEXTS = ("text", "content", "document", "page_content", "memory", "data", "body", "value", "message", "summary")


def text_field(fields: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the text in another program's object and its other fields; without a text, the object as JSON."""
    for name in _TEXTS:
        if isinstance(fields.get(name), str) and fields[name].strip():
            return fields[name], {other: value for other, value in fields.items() if other != name}
    return json.dumps(fields, ensure_ascii=False), {}


_USERS = ("user_id", "userId")
_TENANTS = ("tenant_id", "tenantId")


def owner_of(fields: Mapping[str, Any]) -> str | None:
    """Return whose another program's object is, by the usual names: a user, or ``tenant::user``; None for nobody."""

    def named(names: Iterable[str]) -> str | None:
        found = (str(fields[name]).strip() for name in names if isinstance(fields.get(name), str | int))
        return next(filter(None, found), None)

    tenant, user = named(_TENANTS), named(_USERS)
    return user if tenant is None or user is None else f"{tenant}::{user}"


def when_of(given: object) -> datetime | None:
    """Return a time that another program wrote: ISO, or seconds since 1970; without a zone it is local.

    None where there is none, or something else stands there.
    """
    try:
        if isinstance(given, int | float) and not isinstance(given, bool):
            return datetime.fromtimestamp(given, UTC)
        return datetime.fromisoformat(given) if isinstance(given, str) else None
    except (ValueError, OverflowError, OSError):
        return None


def database(part: Part) -> AbstractContextManager[sqlite3.Connection]:
    """Open another program's SQLite file for reading its tables; see `foreign`.

    Raises:
        FormatError: it is in a zip, or as `foreign` raises.
    """
    if (place := part.database) is None:
        raise FormatError("a database in a zip cannot be read; unpack the zip first")
    return foreign(place)


def tables(part: Part) -> frozenset[str]:
    """Return the names of the tables of another program's SQLite file; of any other file none."""
    if part.in_zip or not part.head.startswith(b"SQLite format 3\0"):
        return frozenset()

    def found() -> frozenset[str]:
        with database(part) as connection:
            return tables_of(connection)

    return part.source.kept(("tables", part.name), found)
