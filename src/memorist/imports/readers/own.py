"""This package's own files: exports of records, and chats with a message a line."""

import json
from codecs import BOM_UTF8
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from memorist.errors import FormatError, InvalidInputError
from memorist.files.regular import lines_of
from memorist.imports.reader import Bad, Item, Options, Reader
from memorist.imports.readers.common import each_record
from memorist.imports.sources import Part
from memorist.operations.lines import FORMAT, check_header, is_export, read_object
from memorist.records.fingerprints import digest
from memorist.records.record import MAX_ID, Kind
from memorist.records.times import iso, read_time

_BESIDE = {"speaker", "session", "group", "timestamp", "user", "role", "id"}
_FIELDS = _BESIDE | {"text", "content", "metadata"}
_RECORD_FIELDS = frozenset(("kind", "tenant", "created_at", "updated_at", "version"))
_NOT_TEXT = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"\x1f\x8b": "compressed"}
_parsed = lru_cache(maxsize=1024)(read_time)
"""The messages of a session often share one time, in a form that is slow to read."""


def recognise(part: Part) -> bool:
    """Whether the first line is that of an export, or a message."""
    if part.head[:2] not in _NOT_TEXT and holds_export(part):
        return True
    if part.json[0] != "{" or "text" not in part.keys or not _BESIDE & part.keys:
        return False
    try:
        return isinstance(json.loads(part.beginning.partition("\n")[0]), dict)
    except ValueError:
        return False


def holds_export(part: Part) -> bool:
    """Whether a file is an export of records, of this version or another; otherwise it is a chat.

    Raises:
        FormatError: it is neither, because it is not plain text.
    """
    if form := _NOT_TEXT.get(part.head[:2]):
        raise FormatError(f"{part.name} is {form}; give it as plain text in UTF-8")
    return is_export(part.beginning.lstrip().partition("\n")[0])


def read(part: Part, options: Options) -> Iterator[Item | Bad]:
    """Yield the messages of a chat, one JSON object a line; of an export, what a survey tells of its records.

    | field | becomes |
    |---|---|
    | `text` or `content` | the content; the only field that must be there |
    | `group`, `session` | the session: ``group/session``, or the one given |
    | `id` | the id, as ``group/id``: unique in its group, or else in its session |
    | `timestamp` | when it happened, in any form `parse_time` takes |
    | `speaker`, `role` | who said it, in the payload |
    | `user` | whose record it is; by default the scope's |
    | `metadata`, and every other field | the metadata |

    A line without an id is identified by its conversation, speaker, time and text, and by its occurrence number
    among the same lines of the file: "Thanks!" said twice is stored twice, and a file loaded twice is stored once.
    """
    if holds_export(part):
        yield from each_record(_record)(part, options)
        return
    with lines(part) as each:
        for number, line in enumerate(each, start=1):
            try:
                if line.strip():
                    yield _message(f"line {number}", read_object(line))
            except InvalidInputError as error:
                yield Bad(f"line {number}", str(error))


@contextmanager
def lines(part: Part) -> Iterator[Iterator[bytes]]:
    """Open a file and yield its lines, without the mark that some programs write before the first."""
    with part.open() as stream:
        if stream.read(len(BOM_UTF8)) != BOM_UTF8:
            stream.seek(0)
        yield lines_of(stream)


def _record(where: str, given: Any) -> Iterator[Item]:
    if given.get("format") == FORMAT:
        check_header(json.dumps(given))
        return
    yield Item(
        content=given["content"],
        where=where,
        kind=Kind(given["kind"]),
        conversation=given.get("session"),
        role="other",
        happened_at=given.get("happened_at"),
    )


def _message(where: str, fields: Mapping[str, Any]) -> Item:
    if fields.keys() >= _RECORD_FIELDS:
        raise FormatError("this is a record of an export, whose first line is missing")
    group, session, id = (_name(fields, name) for name in ("group", "session", "id"))
    role, speaker = _text(fields, "role"), _text(fields, "speaker")
    when = fields.get("timestamp")
    if isinstance(when, str):
        when = _parsed(when) if when.strip() else None
    elif when is not None:
        when = read_time(when)
    content = fields.get("content") if fields.get("text") is None else fields["text"]
    if not isinstance(content, str) or not content.strip():
        given = "neither text nor content is given" if content is None else "the text must be a string and not blank"
        raise InvalidInputError(given)
    voice = {name: said for name, said in (("role", role), ("speaker", speaker)) if said is not None}
    identity = (group, session, voice, None if when is None else iso(when), content)
    return Item(
        content=content,
        where=where,
        conversation="/".join(each for each in (group, session) if each is not None) or None,
        shared_id=True,
        id=id,
        record_id=identity if id is None else _own_id(group, session, id),
        speaker=speaker,
        role=role,
        happened_at=when,
        user=_name(fields, "user", blank=True),
        metadata=_metadata(fields),
    )


def _own_id(group: str | None, session: str | None, id: str) -> str:
    """Return the record's id: readable if no other group and id could read the same, else a hash."""
    if group is not None:
        readable, outer = f"{group}/{id}", group
    elif session is not None:
        readable, outer = f"/{session}/{id}", session
    else:
        readable, outer = id, id
    fits = len(readable) <= MAX_ID and "/" not in outer and "\0" not in readable
    return readable if fits else f"chat-{digest(group, session if group is None else None, id)}"


def _name(fields: Mapping[str, Any], field: str, *, blank: bool = False) -> str | None:
    """Return a name from a field; whole numbers are names too. A blank one counts as missing, unless `blank`."""
    value = fields.get(field)
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if blank and isinstance(value, str) else _text(fields, field)


def _text(fields: Mapping[str, Any], field: str) -> str | None:
    value = fields.get(field)
    if value is not None and not isinstance(value, str):
        raise InvalidInputError(f"{field} must be a string, not {json.dumps(value)[:40]}")
    return value if value is not None and value.strip() else None


def _metadata(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the line's metadata, together with the line's unknown fields."""
    given = fields.get("metadata")
    if given is not None and not isinstance(given, dict):
        raise InvalidInputError(f"metadata must be an object, not {json.dumps(given)[:40]}")
    metadata = dict(given or {})
    for name, value in fields.items():
        unused = name == "content" and fields.get("text") is not None and value is not None
        if name not in _FIELDS or unused:
            while name in metadata:
                name += "_"
            metadata[name] = value
    return metadata


READER = Reader("memorist", "Memorist", recognise, read)
