"""Who a record belongs to: two walls that are always matched exactly, and two labels that narrow."""

import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, NamedTuple

from memorist.errors import InvalidInputError, ScopeError
from memorist.records.content import whole_name

DEFAULT_TENANT = "default"
SERVER_TENANT = "memorist:server"
"""Where a server keeps what is its own, tokens included; no request gets there."""
TRACES_PREFIX = "memorist:traces:"
"""With a tenant's name behind it: where the traces of that tenant's users are kept; no request gets there."""
INBOX_PREFIX = "memorist:inbox:"
"""With a tenant's name behind it: where what agents ask for waits for that tenant's users; no request gets there."""
MAX_NAME = 512
"""Longest tenant, user, agent or session, in characters: they are part of every index."""


class Wall(NamedTuple):
    """The tenant and user that a record belongs to. No user means the tenant's shared records."""

    tenant: str
    user: str | None

    @property
    def reach(self) -> "Reach":
        """What is behind this wall alone."""
        return Reach(self.tenant, (self.user,))

    @property
    def traces(self) -> "Wall":
        """The wall that the traces of this one's user are behind."""
        return Wall(TRACES_PREFIX + self.tenant, self.user)

    @property
    def inbox(self) -> "Wall":
        """The wall behind which waits what agents ask for in this one."""
        return Wall(INBOX_PREFIX + self.tenant, self.user)


class Reach(NamedTuple):
    """The walls that a read may look behind: a tenant, and some of its users, or all of them (None)."""

    tenant: str
    users: tuple[str | None, ...] | None

    def walls(self) -> tuple[Wall, ...]:
        """Return the walls within reach; only for a reach that names its users."""
        if self.users is None:
            raise ScopeError("this call reads one user's records; name the user with memory.scoped(user=…)")
        return tuple(Wall(self.tenant, user) for user in self.users)


@dataclass(frozen=True, slots=True)
class Scope:
    """Where a record is written and what a read sees.

    Args:
        tenant: the first wall: an organisation, an application.
        user: the second wall; None means the tenant's shared records, never everyone's.
        agent: a label; a read that has one sees only records with it.
        session: a label, likewise: a conversation.

    Raises:
        InvalidInputError: a name is wrong; see `checked_name`.
    """

    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    inline: ClassVar[bool] = True
    """JSON has the names beside the other fields of a record."""

    def __post_init__(self) -> None:
        for label in ("tenant", "user", "agent", "session"):
            name = getattr(self, label)
            if name is not None or label == "tenant":
                object.__setattr__(self, label, checked_name(label, name))

    @property
    def wall(self) -> Wall:
        """The wall that this scope's records are behind."""
        return Wall(self.tenant, self.user)

    def sees(self, other: "Scope") -> bool:
        """Whether a record of the scope `other`, behind the same wall, has this scope's labels."""
        return self.agent in (None, other.agent) and self.session in (None, other.session)

    def check_everyone(self) -> None:
        """Raise ScopeError where this scope is behind a user's wall and cannot read everyone's records."""
        if self.user is not None:
            raise ScopeError(f"the memory of user {self.user!r} cannot read everyone's records")

    def reach(self, *, shared: bool = False, everyone: bool = False) -> Reach:
        """Return what a read may look into.

        Args:
            shared: add the tenant's shared records to the user's own.
            everyone: all users of the tenant; an administrator's view, refused behind a user's wall.
        """
        if everyone:
            self.check_everyone()
            return Reach(self.tenant, None)
        if shared and self.user is not None:
            return Reach(self.tenant, (self.user, None))
        return Reach(self.tenant, (self.user,))

    def narrowed(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> "Scope":
        """Return this scope with the names given put in.

        A wall once set stays: another user, or another tenant where a user is set, is a ScopeError.
        Labels may be replaced.
        """
        given = {"tenant": tenant, "user": user, "agent": agent, "session": session}
        changed = {name: value for name, value in given.items() if value is not None}
        if not changed:
            return self
        narrowed = replace(self, **changed)
        if self.user is not None and narrowed.user != self.user:
            raise ScopeError(f"the memory of user {self.user!r} cannot be rescoped to {narrowed.user!r}")
        if narrowed.tenant != self.tenant and (self.user is not None or self.tenant != DEFAULT_TENANT):
            raise ScopeError(f"the memory of tenant {self.tenant!r} cannot be rescoped to {narrowed.tenant!r}")
        return narrowed


def checked_name(label: str, name: object) -> str:
    """Return the name of a tenant, user, agent or session in NFC, the form in which names are kept and compared.

    Half a character in a label, which a program may have cut, is written out as `whole_name` does it. In a wall it is
    refused.

    Args:
        label: "tenant", "user", "agent" or "session", for the error.
        name: the name.

    Raises:
        InvalidInputError: it is not a text that two people would read as the same name: blank, too long, not
            UTF-8, with white space around it, or with a control or invisible character.
    """
    if not isinstance(name, str):
        raise InvalidInputError(f"{label} must be a string, not {type(name).__name__}")
    if label in ("agent", "session"):
        name = whole_name(name)
    if len(name) > MAX_NAME:
        raise InvalidInputError(f"{label} has {len(name)} characters; the limit is {MAX_NAME}")
    if not name.strip():
        raise InvalidInputError(f"{label} must not be blank; omit it instead")
    composed = name if name.isascii() and name.isprintable() else _composed(label, name)
    if composed != composed.strip():
        raise InvalidInputError(f"{label} must not begin or end with white space")
    return composed


@lru_cache(maxsize=4096)
def _composed(label: str, name: str) -> str:
    """Return a name in NFC, or refuse it for a character that cannot be seen."""
    composed = unicodedata.normalize("NFC", name)
    for position, character in enumerate(composed):
        if is_hidden(composed, position):
            what = "a lone surrogate" if "\ud800" <= character <= "\udfff" else "a control or invisible character"
            raise InvalidInputError(f"{label} must not hold U+{ord(character):04X}, {what}")
    return composed


_HIDDEN_CATEGORIES = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_HIDDEN = frozenset((0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0)).union(
    range(0x180B, 0x1810), range(0xFE00, 0xFE10), range(0xFFF0, 0xFFF9), range(0xE0000, 0xE1000)
)
"""Invisible characters that have a category of visible ones: fillers, selectors, the blank of Braille."""
_VIRAMA = 9
_SKIN_TONES = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
_NON_JOINER, _JOINER, _EMOJI_STYLE = "\u200c", "\u200d", "\ufe0f"


def is_hidden(name: str, position: int) -> bool:
    """Return whether the character at `position` cannot be seen, and no script or emoji needs it there."""
    character = name[position]
    if ord(character) not in _HIDDEN and unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return False
    before, after = name[position - 1 : position], name[position + 1 : position + 2]
    if character == _EMOJI_STYLE:
        return not _is_emoji(before)
    if character not in (_JOINER, _NON_JOINER) or not before or not after:
        return True
    if character == _JOINER and _is_emoji(after) and (_is_emoji(before) or before == _EMOJI_STYLE):
        return False
    indic = _VIRAMA in (unicodedata.combining(before), unicodedata.combining(after))
    letters = unicodedata.category(before)[0] in "LM" and unicodedata.category(after)[0] in "LM"
    arabic = unicodedata.bidirectional(before) in ("AL", "NSM") and unicodedata.bidirectional(after) == "AL"
    return not (letters and (indic or arabic))


def _is_emoji(character: str) -> bool:
    return bool(character) and (unicodedata.category(character) == "So" or character in _SKIN_TONES)
