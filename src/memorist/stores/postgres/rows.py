"""Conversion of table rows to records and back, and of terms to lexemes of the text index."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from memorist.records.record import Kind, Record
from memorist.records.scope import Wall
from memorist.stores.base import Entry, Vector
from memorist.stores.rows import COLUMNS, record_of, values_of

BEHIND = "tenant = %s AND user_name = %s"
"""The condition that a row is behind a wall; its values are `name_of` it."""
SELECTED = COLUMNS.replace(" metadata, payload", " metadata::text, payload::text")
"""The columns of a record as they are read: its JSON as the text that it is kept in."""

_CONTENT, _METADATA, _PAYLOAD, _VERIFIED = 2, 7, 8, 10
_LONGEST = 255
"""Bytes of a lexeme; a longer word is indexed by its digest. PostgreSQL takes 2,046."""
_MOST_BYTES = 900_000
"""Bytes of lexemes in one text; the words after these are not indexed. PostgreSQL takes 1,048,575."""
_OFTEN = "DCBA"


def escaped(text: str) -> str:
    """Return `text` without NUL, which PostgreSQL cannot keep. Escaped texts compare as the plain ones do."""
    if "\0" not in text and "\1" not in text:
        return text
    return text.replace("\1", "\1\2").replace("\0", "\1\1")


def unescaped(text: str) -> str:
    """Return the original of a text made by `escaped`."""
    return text if "\1" not in text else text.replace("\1\1", "\0").replace("\1\2", "\1")


def _escaped_json(text: str) -> str:
    if "\\u0000" not in text and "\\u0001" not in text:
        return text
    return json.dumps(_mapped(json.loads(text), escaped), ensure_ascii=False, separators=(",", ":"))


def _unescaped_json(text: str) -> str:
    if "\\u0001" not in text:
        return text
    return json.dumps(_mapped(json.loads(text), unescaped), ensure_ascii=False)


def _mapped(value: Any, change: Any) -> Any:
    """Return JSON with every text in it converted, names included."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [_mapped(each, change) for each in value]
    if isinstance(value, dict):
        return {change(name): _mapped(each, change) for name, each in value.items()}
    return value


def row_of(record: Record) -> tuple[Any, ...]:
    """Return the values of `COLUMNS`."""
    row = list(values_of(record))
    row[_CONTENT] = escaped(row[_CONTENT])
    row[_METADATA], row[_PAYLOAD] = _escaped_json(row[_METADATA]), _escaped_json(row[_PAYLOAD])
    row[_VERIFIED] = bool(row[_VERIFIED])
    return tuple(row)


def record_from(row: Sequence[Any], wall: Wall) -> Record:
    """Return the record with the `SELECTED` columns in `row`."""
    plain = list(row)
    plain[_CONTENT] = unescaped(plain[_CONTENT])
    plain[_METADATA], plain[_PAYLOAD] = _unescaped_json(plain[_METADATA]), _unescaped_json(plain[_PAYLOAD])
    return record_of(plain, wall)


def vector_from(blob: bytes | None) -> Vector | None:
    """Return the vector that PostgreSQL sent: two numbers of 16 bits, then the values, big-endian."""
    return None if blob is None else np.frombuffer(blob, ">f4", offset=4).astype(np.float32)


def entry_of(row: Sequence[Any]) -> Entry:
    """Return the entry made of (number, id, kind, agent, session, speaker, five fields, terms, vector, marks)."""
    number, id, kind, agent, session, speaker, at, expires_at, superseded_at, rating, *rest = row
    authors, terms, blob, marks = rest
    return Entry(
        number, id, Kind(kind), agent, session, None if speaker is None else unescaped(speaker),
        at, expires_at, superseded_at, rating, unescaped(terms), vector_from(blob), frozenset(marks.split()), authors,
    )  # fmt: skip


def token_of(wall: Wall) -> str:
    """Return the lexeme that represents a wall in the text index; it has a space, which no term has."""
    name = json.dumps(wall, ensure_ascii=False).encode()
    return " " + hashlib.blake2b(name, digest_size=12).hexdigest()


def lexemes_of(wall: Wall, terms: str) -> tuple[str, int]:
    """Return a text's analysed terms as a `tsvector`, and their number.

    The weight of a lexeme is its frequency in the text: D once, C twice, B three times, A more often.
    """
    words = terms.split()
    parts, room = [_quoted(token_of(wall))], _MOST_BYTES
    for word, times in Counter(map(_short, words)).items():
        room -= len(word.encode()) + 6
        if room < 0:
            break
        parts.append(f"{_quoted(word)}:1{_OFTEN[min(times, len(_OFTEN)) - 1]}")
    return " ".join(parts), len(words)


def queries_of(wall: Wall, terms: Iterable[str]) -> list[tuple[str, str, str, str]]:
    """Return for each term its `tsquery` behind a wall, and those for more than one, two and three occurrences."""
    asked = dict.fromkeys(_short(escaped(term)) for term in terms if term and not any(map(str.isspace, term)))
    wall_token = _quoted(token_of(wall))
    return [(f"{wall_token} & {word}", f"{word}:ABC", f"{word}:AB", f"{word}:A") for word in map(_quoted, asked)]


def _short(word: str) -> str:
    if len(word) * 4 <= _LONGEST or len(encoded := word.encode()) <= _LONGEST:
        return word
    return " long " + hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _quoted(lexeme: str) -> str:
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
