"""Who is behind a text that is told: the authors that its speaker does not name."""

import unicodedata
from collections.abc import Mapping
from typing import Any

from memorist.records.origins import NOBODY, Author, author_named, author_of_role
from memorist.records.record import Record

_TRUSTED = Author.USER | Author.OPERATOR
_TOLD = Author.IMPORT | Author.WEB | Author.TOOL | Author.PEER | Author.AGENT
"""Whom every door names where no speaker does."""
_SHOWN = {Author.IMPORT: "an import", Author.WEB: "a web page", Author.PEER: "another user", Author.AGENT: "an agent"}


def unnamed(payload: Mapping[str, Any], authors: Author, user: str | None) -> Author:
    """Return the authors of a message that its speaker does not name, as "system" names an operator and nobody else.

    Args:
        payload: the message's, with `speaker` and `role`.
        authors: the message's.
        user: whose memory it is; a speaker of that name is the user.
    """
    name, role = payload.get("speaker"), payload.get("role")
    named = author_of_role(role) if role else _TRUSTED
    if isinstance(name, str) and (plain := _plain(name)):
        is_user = user is not None and plain == _plain(user)
        named = Author.USER if is_user else author_named(plain) or named
    return authors & ~named


def words_for(authors: Author) -> str:
    """Return authors in words: "an import and the tool"."""
    return " and ".join(_SHOWN.get(each, f"the {str(each.name).lower()}") for each in authors)


def attributed(payload: Mapping[str, Any], authors: Author, user: str | None) -> str:
    """Return what stands before a text that is told without a context, such as "(from an import) "; "" for nothing."""
    shown = _behind(payload, authors, user)
    return "" if shown == NOBODY else f"(from {words_for(shown)}) "


def _behind(payload: Mapping[str, Any], authors: Author, user: str | None) -> Author:
    has_speaker = bool(payload.get("speaker") or payload.get("role"))
    return unnamed(payload, authors, user) if has_speaker else authors & _TOLD


def note_on(record: Record) -> str:
    """Return what stands before a record's text where it is told without a context; see `attributed`."""
    return attributed(record.payload, record.origin.authors, record.scope.user)


def note_on_own(record: Record) -> str:
    """Return what stands before a text of the reader's own wall: where all share one, nobody in it is another user."""
    return attributed(record.payload, record.origin.authors & ~Author.PEER, record.scope.user)


def origin_on_own(record: Record) -> str:
    """Return whom `note_on_own` names, as "an import", for what has a field for it; "" for nobody."""
    return words_for(_behind(record.payload, record.origin.authors & ~Author.PEER, record.scope.user))


def told_text(record: Record) -> str:
    """Return a text of the reader's own wall as a model is told it: after what `note_on_own` returns."""
    return note_on_own(record) + record.content


def _plain(name: str) -> str:
    """Return a name in the form in which names are compared: its letters and digits alone, small."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name))).lower()
