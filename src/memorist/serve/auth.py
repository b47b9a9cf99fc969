"""Bearer tokens: the tenant, the user and the right of a caller.

A token is shown once, when it is created; only its SHA-256 is stored, as a topic of a tenant that no token can access.
Tokens are in the store itself, so every process that serves it sees a new or revoked token at once.
"""

import hashlib
import ipaddress
import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from typing import Any

from memorist.errors import ConflictError, InvalidInputError, NotFoundError, ScopeError, shown
from memorist.memory import Memory
from memorist.operations.arguments import one_of
from memorist.records.codec import plain
from memorist.records.record import Kind, Record
from memorist.records.scope import DEFAULT_TENANT, INBOX_PREFIX, SERVER_TENANT, TRACES_PREFIX, Scope
from memorist.records.times import TimeLike, parse_expiry, parse_time

_NO_TOKEN = "a token is needed: send the header `Authorization: Bearer TOKEN`"
_WRONG_HEADER = "the header must be `Authorization: Bearer TOKEN`"
_PROXIES = frozenset(("forwarded", "x-forwarded-for", "x-forwarded-host", "x-real-ip"))
_PORT = re.compile(r":\d*$")
_PREFIX = "mem_"
_KEY, _ACCESS = "token/", "access/"
"""Where tokens are, and those that a program gets for an hour, which no list shows."""
_SWEPT = timedelta(days=1)
"""How long an expired access token is known as one."""
_GRANTED = ("name", "tenant", "user", "right", "limits")
"""The fields of a grant that a token keeps."""


class UnauthorizedError(ScopeError):
    """The caller sent no token, or an invalid one."""


class Right(StrEnum):
    """The right of a token; each includes the ones before it."""

    METRICS = "metrics"
    READ = "read"
    WRITE = "write"
    ADMIN = "admin"

    def includes(self, other: "Right") -> bool:
        """Return whether this right includes the other."""
        order = list(Right)
        return order.index(self) >= order.index(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The access of a caller.

    Args:
        name: the caller's name, for people and logs.
        tenant: its tenant; None for an operator, who names one with each request.
        user: its user; None for a caller that acts for all users of the tenant and names one with each request.
        right: its right.
        limits: its limits in a span of time, as `memorist.serve.quotas.parse_limits` returns it.
        token: the id of its token, if it has one.
    """

    name: str
    tenant: str | None
    user: str | None
    right: Right
    limits: Mapping[str, str] = field(default_factory=dict)
    token: str | None = None

    def check(self, right: Right) -> None:
        """Raise ScopeError if this right is not granted."""
        if not self.right.includes(right):
            raise ScopeError(f"this needs the right {shown(str(right))}; the token has {shown(str(self.right))}")

    def scope(
        self,
        *,
        tenant: str | None = None,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> Scope:
        """Return the scope of a request with these names; a request cannot change the token's tenant or user.

        Raises:
            ScopeError: the tenant or user is not the token's.
            InvalidInputError: a name is blank or too long.
        """
        bound = Scope(DEFAULT_TENANT if self.tenant is None else self.tenant, self.user)
        scope = Scope(bound.tenant if tenant is None else tenant, self.user if user is None else user, agent, session)
        if self.tenant is not None and scope.tenant != bound.tenant:
            raise ScopeError("the token is of another tenant than the one named")
        if self.user is not None and scope.user != bound.user:
            raise ScopeError("the token is of another user than the one named")
        if scope.tenant == SERVER_TENANT or scope.tenant.startswith((INBOX_PREFIX, TRACES_PREFIX)):
            raise ScopeError(f"the tenant {shown(scope.tenant)} is the server's own")
        return scope


LOCAL = Grant(name="local", tenant=None, user=None, right=Right.ADMIN)
"""The access of callers on this machine, if the server requires no token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A token as it is stored, without its secret.

    `id` is the beginning of its sha256. `expires_at` is None for one that holds until it is revoked. `resource` is the
    only address where it is accepted, and `parent` the sha256 of the token that it was derived from and ends with; both
    are None for a token made by hand.
    """

    id: str
    grant: Grant
    created_at: datetime
    expires_at: datetime | None
    resource: str | None = None
    parent: str | None = None

    def expired(self, now: datetime) -> bool:
        """Return whether it has expired by this time."""
        return self.expires_at is not None and self.expires_at <= now

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        granted = {name: plain(getattr(self.grant, name)) for name in _GRANTED}
        derived = {} if self.parent is None else {"resource": self.resource, "parent": self.parent}
        times = {"created_at": plain(self.created_at), "expires_at": plain(self.expires_at)}
        return {"id": self.id, **granted, **times, **derived}


class Tokens:
    """The tokens of a store.

    Args:
        memory: any memory of the store that is bound to no tenant or user.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory.scoped(tenant=SERVER_TENANT)
        self.clock = memory.clock

    async def create(
        self,
        name: str,
        *,
        tenant: str | None = DEFAULT_TENANT,
        user: str | None = None,
        right: Right | str = Right.WRITE,
        expires_at: TimeLike | None = None,
        limits: Mapping[str, str] | None = None,
    ) -> tuple[str, Token]:
        """Return a new token's secret, which is shown only once, and the token as it is stored.

        Args:
            name: for people; unique among the tokens.
            tenant: its tenant; None for an operator's token, for every tenant.
            user: its user; None for all users of the tenant.
            right: "read", "write" or "admin".
            expires_at: when it expires: a point in time, or seconds from now.
            limits: its limits in a span of time, as `memorist.serve.quotas.parse_limits` returns it.

        Raises:
            InvalidInputError: an argument is wrong.
            ConflictError: the name is taken.
        """
        granted = Right(one_of(*Right)("right", right))
        grant = Grant(name=name, tenant=tenant, user=user, right=granted, limits=dict(limits or {}))
        if not isinstance(name, str) or not name.strip() or len(name) > 100:
            raise InvalidInputError("a token's name must be a string of 1 to 100 characters")
        if tenant is None and user is not None:
            raise InvalidInputError("a token for every tenant cannot be of one user")
        scope = grant.scope()
        grant = replace(grant, tenant=None if tenant is None else scope.tenant, user=scope.user)
        created = self.clock()
        expires = None if expires_at is None else parse_expiry(expires_at, created)
        if any(token.grant.name == name for token in await self.list()):
            raise ConflictError(f"there is a token named {shown(name)}; revoke it, or choose another name")
        secret = _PREFIX + secrets.token_urlsafe(32)
        token = Token(id=digest_of(secret)[:12], grant=grant, created_at=created, expires_at=expires)
        await self._store(_KEY, secret, token)
        return secret, token

    async def derive(
        self, parent: str, *, name: str, right: Right, resource: str, expires_at: TimeLike, listed: bool
    ) -> tuple[str, Token]:
        """Return a new token's secret, and the token: it is accepted at one address, and ends with another token.

        Args:
            parent: the sha256 of the other token's secret, whose tenant, user and limits it has.
            name: for people.
            right: its right, which the other token's includes.
            resource: the address.
            expires_at: as for `create`.
            listed: whether `list` returns it, and `revoke` finds it.

        Raises:
            UnauthorizedError: the other token is unknown or has expired.
            ScopeError: the other token lacks the right.
        """
        origin = await self._holding(parent)
        origin.grant.check(right)
        secret, created = _PREFIX + secrets.token_urlsafe(32), self.clock()
        token = Token(
            id=digest_of(secret)[:12],
            grant=replace(origin.grant, name=name, right=right, token=None),
            created_at=created,
            expires_at=parse_expiry(expires_at, created),
            resource=resource,
            parent=parent,
        )
        await self._store(_KEY if listed else _ACCESS, secret, token)
        return secret, token

    async def _store(self, prefix: str, secret: str, token: Token) -> None:
        digest, grant = digest_of(secret), token.grant
        # Not the record's own expires_at: a caller with an expired token gets an error that says so.
        until = token.expires_at if prefix == _ACCESS else None
        await self._memory.remember(
            json.dumps(token.to_dict()),
            kind=Kind.TOPIC,
            key=prefix + digest,
            id=digest,
            metadata={"tenant": grant.tenant, "user": grant.user},  # a purge of the user finds the token by these
            expires_at=None if until is None else until + _SWEPT,
        )

    async def find(self, secret: str) -> Token | None:
        """Return the token with this secret, even if it has expired; None for an unknown one."""
        return await self.of(digest_of(secret))

    async def of(self, digest: str) -> Token | None:
        """Return the token whose secret has this sha256, as `find` does."""
        for prefix in (_KEY, _ACCESS):
            record = await self._memory.lookup(prefix + digest, kind=Kind.TOPIC)
            if record is not None:
                return _read(record)
        return None

    async def _holding(self, digest: str) -> Token:
        token = await self.of(digest)
        if token is None:
            raise UnauthorizedError("the token is not known here, or was revoked")
        if token.expired(self.clock()):
            raise UnauthorizedError("the token has expired")
        if token.parent is not None:
            await self._holding(token.parent)
        return token

    async def grant(self, secret: str, resource: str | None = None) -> Grant:
        """Return the access of the token with this secret.

        Args:
            secret: the token's.
            resource: the address at which it is shown, where that is one that tokens are made for.

        Raises:
            UnauthorizedError: it is unknown or has expired, as is one that it was derived from; it was made for
                another address.
        """
        token = await self._holding(digest_of(secret))
        if token.resource not in (None, resource):
            raise UnauthorizedError(f"the token was issued for {token.resource} and is not accepted here")
        return replace(token.grant, token=token.id)

    async def list(self) -> list[Token]:
        """Return every token, by name."""
        return sorted([_read(each) for each in await self._records()], key=lambda token: token.grant.name)

    async def revoke(self, name: str) -> Token:
        """Revoke a token at once, and return it.

        Args:
            name: its name, or its id.

        Raises:
            NotFoundError: there is no such token.
        """
        for record in await self._records():
            token = _read(record)
            if name in (token.grant.name, token.id):
                await self._memory.forget(record.id)
                return token
        raise NotFoundError(f"there is no token named {shown(name)}; `memorist token list` shows all")

    async def drop(self, secret: str) -> bool:
        """Remove the token with this secret; return whether it was there. Of two callers at once, one gets True."""
        return await self._memory.forget(digest_of(secret)) > 0

    async def _records(self) -> Sequence[Record]:
        return [record async for record in self._memory.iterate(kind=Kind.TOPIC, key_prefix=_KEY, order="key")]


def bearer(said: str | None) -> str | None:
    """Return the secret in the header Authorization, if there is one.

    Raises:
        UnauthorizedError: the header holds something else.
    """
    if said is None:
        return None
    scheme, _, secret = said.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise UnauthorizedError(_WRONG_HEADER)
    return secret.strip()


async def admitted(
    tokens: Tokens,
    secret: str | None,
    *,
    open: bool,
    client: str | None,
    headers: Mapping[str, str],
    resource: str | None = None,
) -> Grant:
    """Return the access of a caller, with the token that it brought or, on this machine, without one.

    Args:
        tokens: those of the store.
        secret: the token's, if it brought one.
        open: whether callers on this machine need no token.
        client: as for `is_near`.
        headers: likewise.
        resource: as for `Tokens.grant`.

    Raises:
        UnauthorizedError: it brought no token, or one that is unknown, expired or made for another address.
    """
    if secret is not None:
        return await tokens.grant(secret, resource)
    if open and is_near(client, headers):
        return LOCAL
    raise UnauthorizedError(_NO_TOKEN)


def is_near(client: str | None, headers: Mapping[str, str]) -> bool:
    """Return whether a request comes from a program on this machine, and not through a proxy or from another site's
    page.

    The header Host must name this machine, because a page can give its own site's name this machine's address.

    Args:
        client: the address that the request comes from, if known.
        headers: its headers, by names in lower case.
    """
    host = headers.get("host", "")
    origin = headers.get("origin")
    own = origin is None or origin in (f"http://{host}", f"https://{host}")
    own = own and headers.get("sec-fetch-site", "none") in ("none", "same-origin")
    here = (client is None or is_loopback(client)) and _PROXIES.isdisjoint(headers)
    return here and own and is_loopback(_PORT.sub("", host))


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether a host's name or address is this machine's own."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_own(secret: str) -> bool:
    """Return whether a secret has the form of those that are made here."""
    return secret.startswith(_PREFIX)


def digest_of(secret: str) -> str:
    """Return the sha256 of a token's secret, in hex: all that is stored of it."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _read(record: Record) -> Token:
    told = json.loads(record.content)
    granted = {name: told[name] for name in _GRANTED if name in told}  # older tokens have no limits
    until = None if told["expires_at"] is None else parse_time(told["expires_at"])
    grant = Grant(**granted | {"right": Right(told["right"])})
    return Token(
        id=told["id"],
        grant=grant,
        created_at=parse_time(told["created_at"]),
        expires_at=until,
        resource=told.get("resource"),
        parent=told.get("parent"),
    )
