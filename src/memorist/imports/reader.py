"""The interface of a reader of a format: its options, and the items that it yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from typing import TYPE_CHECKING, Any

from memorist.errors import InvalidInputError, shown
from memorist.imports.decoding import checked_encoding
from memorist.records.origins import NOBODY, Author
from memorist.records.record import Kind
from memorist.records.times import TimeLike

if TYPE_CHECKING:
    from memorist.imports.sources import Part

EVERYONE = "*"
"""The `owner` that takes the records of all users of a source."""

__all__ = ["EVERYONE", "Bad", "ColumnsError", "Item", "Left", "Options", "OwnerError", "Reader"]

_TEXTS = ("conversation", "id", "in_file", "speaker", "role", "cue", "key", "agent", "session", "user")
_OBJECTS = ("metadata", "payload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A message or a note, as a file has it.

    Args:
        content: the text. An item with a blank one is left out.
        where: its place in the file, for errors: "line 12".
        kind: what record it becomes.
        conversation: the source's own id of the conversation, or its name if it has no id; becomes the session.
        id: the source's own id, unique in the conversation, or in the source where there is none. An item without
            one is identified by its conversation, speaker, time and text, and its occurrence among the same.
        in_file: what tells it from others in its file, where the id holds in a file of this name alone: in another
            folder, a file of the same name has other records.
        speaker: who said it.
        role: "user", "assistant", "system", "tool", or None where the source does not know.
        happened_at: when; a time that names no zone is one of the zone of the options.
        cue: the text that recall matches instead of the content.
        key: an exact handle, unique among the current records of its kind.
        authors: who had a hand in it, beside the import itself.
        metadata: further fields, JSON.
        agent: the label.
        formerly: labels under which the same item may have been stored before.
        session: the label of what is not a message; a message's is its conversation.
        user: whose record it is, where the source says so; by default the memory's own user.
        shared_id: take `id` as the record's id, and `conversation` as its session, as they are: for what other
            parts of this package store under the same names.
        record_id: the record's id as it is; or, of a message without one, what identifies it together with its
            occurrence number.
        known_as: the item as it would be without options, where they decide what an item is: its record's id is of
            that, so that another import with other options corrects the record.
        created_at: when the record was made, for an item that is a record in the source already; it is kept.
        updated_at: when such a record was last changed.
        payload: the fields of the record's kind.
        verified: whether someone has checked it.
        rating: feedback from -1 (bad) to 1 (good).

    Raises:
        InvalidInputError: a field that is a text is something else, or one that is an object is none. A file may hold
            anything anywhere, and what follows counts and compares these fields.
    """

    content: str
    where: str
    kind: Kind = Kind.MESSAGE
    conversation: str | None = None
    id: str | None = None
    in_file: str | None = None
    speaker: str | None = None
    role: str | None = None
    happened_at: TimeLike | None = None
    cue: str | None = None
    key: str | None = None
    authors: Author = NOBODY
    metadata: Mapping[str, Any] = field(default_factory=dict)
    agent: str | None = None
    formerly: tuple[str, ...] = ()
    session: str | None = None
    user: str | None = None
    shared_id: bool = False
    record_id: str | tuple[object, ...] | None = None
    known_as: Item | None = None
    created_at: TimeLike | None = None
    updated_at: TimeLike | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)
    verified: bool = False
    rating: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.content, str):
            raise InvalidInputError(f"the content must be a string, not {shown(self.content)}")
        for name in _TEXTS:
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidInputError(f"the {name} must be a string, not {shown(value)}")
        for name in _OBJECTS:
            value = getattr(self, name)
            if not isinstance(value, Mapping):
                raise InvalidInputError(f"the {name} must be an object, not {shown(value)}")


@dataclass(frozen=True, slots=True)
class Bad:
    """A part of a source that could not be read or stored: its place in the file, why, and (in a report) the file."""

    where: str
    reason: str
    file: str = ""

    def __str__(self) -> str:
        return ", ".join(each for each in (self.file, self.where) if each) + f": {self.reason}"


@dataclass(frozen=True, slots=True)
class Left:
    """What a reader leaves out on purpose, in the plural ("deleted messages"), and how many of them."""

    what: str
    number: int = 1


OF_OTHERS = Left("records of other owners")
_MOST_NAMED = 50


class ColumnsError(InvalidInputError):
    """A table does not say which column is the text, or lacks a named column; `columns` are the existing ones."""

    def __init__(self, file: str, reason: str, columns: Sequence[str]) -> None:
        self.columns = list(columns)
        names = ", ".join(self.columns[:_MOST_NAMED]) or "none"
        super().__init__(f"{file}: {reason}; name it, such as --text COLUMN; available: {names}")


class OwnerError(InvalidInputError):
    """A source holds records of several owners that must not be mixed, and does not say which are users."""

    def __init__(self, file: str, what: str, owners: Sequence[str]) -> None:
        self.owners = list(owners)
        names = ", ".join(self.owners[:_MOST_NAMED])
        super().__init__(
            f"{file}: it holds records of {len(self.owners)} {what}, which may be other users'; choose one, "
            f"such as --owner {self.owners[0]}, or --owner '{EVERYONE}' where all belong to one user; found: {names}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a reader cannot know from the file.

    Args:
        me: the speaker who is the user; or who that is in each conversation, by its name.
        zone: the zone of times that name none; by default the memory's, or where there is none, this machine's.
        columns: which column of a table is the text, time, speaker, conversation or id.
        encoding: of every text, such as "shift_jis"; by default it is detected.
        owner: whose records are taken, where the source says whose they are: those of this user alone, as the
            memory's own, or `EVERYONE` for all of them as its own. By default each stays its user's.

    Raises:
        InvalidInputError: there is no such encoding.
    """

    me: str | Mapping[str | None, str] | None = None
    zone: tzinfo | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    encoding: str | None = None
    owner: str | None = None

    def __post_init__(self) -> None:
        if self.encoding is not None:
            checked_encoding(self.encoding)

    def taken(self, item: Item) -> Item | Left:
        """Return an item as it is stored, as the memory's own if its owner was named, or that it is left out."""
        if self.owner is None:
            return item
        return replace(item, user=None) if self.owner in (EVERYONE, item.user) else OF_OTHERS

    def me_in(self, conversation: str | None) -> str | None:
        """Return the speaker who is the user in a conversation, None where that is not known."""
        return self.me.get(conversation) if isinstance(self.me, Mapping) else self.me


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads one format; found by its name, or by the entry point of that name in the group `memorist.readers`.

    Args:
        name: the format, as in ``--as NAME``. It becomes part of the records' sessions and ids.
        title: what people call it.
        recognise: whether a file is of this format, from its name, its first bytes and the files beside it.
        read: yields the items of a file, in order, its bad parts, and what it leaves out. It raises FormatError where
            nothing after that place can be read.
    """

    name: str
    title: str
    recognise: Callable[[Part], bool]
    read: Callable[[Part, Options], Iterator[Item | Bad | Left]]
