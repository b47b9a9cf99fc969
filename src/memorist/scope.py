"""Who a record belongs to: two walls that are always matched exactly, and two labels that narrow."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from memorist.errors import InvalidInputError, ScopeError

__all__ = ["DEFAULT_TENANT", "Reach", "Scope", "Wall"]

DEFAULT_TENANT = "default"
MAX_NAME = 512
"""Longest tenant, user, agent or session, in characters: they are part of every index."""


class Wall(NamedTuple):
    """One tenant's one user: the partition that every record lives in. No user means the shared records."""

    tenant: str
    user: str | None


class Reach(NamedTuple):
    """The partitions that one read may look into: a tenant, and some of its users or (None) all of them."""

    tenant: str
    users: tuple[str | None, ...] | None

    def walls(self) -> tuple[Wall, ...]:
        """Return the partitions one by one; only for a reach that names its users."""
        if self.users is None:
            raise ScopeError("this call needs one user's records, not everyone's")
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
        InvalidInputError: a name is blank, too long, or holds a NUL character.
    """

    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    def __post_init__(self) -> None:
        _check_name("tenant", self.tenant)
        for label in ("user", "agent", "session"):
            if (name := getattr(self, label)) is not None:
                _check_name(label, name)

    @property
    def wall(self) -> Wall:
        """The partition that this scope's records live in."""
        return Wall(self.tenant, self.user)

    def sees(self, other: "Scope") -> bool:
        """Whether a record of the scope `other`, behind the same wall, has this scope's labels."""
        return self.agent in (None, other.agent) and self.session in (None, other.session)

    def reach(self, *, shared: bool = False, everyone: bool = False) -> Reach:
        """Return what a read may look into.

        Args:
            shared: add the tenant's shared records to the user's own.
            everyone: all users of the tenant; an administrator's view, refused behind a user's wall.
        """
        if everyone:
            if self.user is not None:
                raise ScopeError(f"the memory of user {self.user!r} cannot look at everyone's records")
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
        if self.user is not None and user not in (None, self.user):
            raise ScopeError(f"the memory of user {self.user!r} cannot be turned into that of {user!r}")
        if tenant not in (None, self.tenant) and (self.user is not None or self.tenant != DEFAULT_TENANT):
            raise ScopeError(f"the memory of tenant {self.tenant!r} cannot be turned into that of {tenant!r}")
        given = {"tenant": tenant, "user": user, "agent": agent, "session": session}
        changed = {name: value for name, value in given.items() if value is not None}
        return replace(self, **changed) if changed else self


def _check_name(label: str, name: object) -> None:
    if not isinstance(name, str):
        raise InvalidInputError(f"{label} must be a string, not {type(name).__name__}")
    if not name.strip():
        raise InvalidInputError(f"{label} must not be blank; leave it out instead")
    if len(name) > MAX_NAME:
        raise InvalidInputError(f"{label} has {len(name)} characters; the most is {MAX_NAME}")
    if "\0" in name:
        raise InvalidInputError(f"{label} must not hold a NUL character")
    try:
        name.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInputError(f"{label} holds a lone surrogate, which no store can keep") from error
