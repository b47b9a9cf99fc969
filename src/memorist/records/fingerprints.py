"""Digests of what a source said last, by which its record is known to be the same or edited when it comes again."""

import hashlib
import json
from collections.abc import Callable, Iterable
from typing import Any

from memorist.records.record import Record

SAID = "said"
"""The field of a revised message's payload with the digest of what its source said last."""
IMPORTED = "imported"
"""The field of an imported record's payload with the digests of its text, and of its time, role and speaker."""
_HALF = 16


def digest(*parts: object) -> str:
    """Return a hash of JSON values, 32 hexadecimal digits: a part of ids, so its form never changes."""
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()[:32]


def digest_of_said(text: str) -> str:
    """Return the digest of what a message's source said."""
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def digest_of_imported(content: str | None, cue: str | None, *about: str | None) -> str:
    """Return the digests of an imported text, and of its time, role and speaker, each of 16 digits."""
    return digest(content, cue)[:_HALF] + digest(*about)[:_HALF]


def with_changed_texts(
    payload: dict[str, Any], versions: Iterable[Record], change: Callable[[str], str]
) -> dict[str, Any]:
    """Return a record's payload whose digests are of changed texts, so that what was masked cannot be guessed by them.

    The digest of a text that no version has is left out.

    Args:
        payload: the record's.
        versions: the versions of the record.
        change: what is done to each text.
    """
    said, imported = payload.get(SAID), payload.get(IMPORTED)
    known = [(each.content, each.cue) for each in versions]
    new = {name: value for name, value in payload.items() if name not in (SAID, IMPORTED)}
    if text := next((text for text, _ in known if digest_of_said(text) == said), None):
        new[SAID] = digest_of_said(change(text))
    if not isinstance(imported, str):
        return new
    for text, cue in known:
        if digest(text, cue)[:_HALF] == imported[:_HALF]:
            changed = digest(change(text), None if cue is None else change(cue))
            return {**new, IMPORTED: changed[:_HALF] + imported[_HALF:]}
    return new
