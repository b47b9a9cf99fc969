"""The memory and the right of a request: set by the server or a token, never by an argument."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from memorist.errors import ScopeError
from memorist.memory import Memory
from memorist.serve.auth import Grant, Right, Tokens, admitted, bearer, is_own
from memorist.serve.quotas import Quotas
from memorist.serve.reading import USER_HEADER, ZONE_HEADER, header


@dataclass(frozen=True, slots=True)
class Access:
    """The access of one caller.

    Args:
        memory: the memory in the caller's scope.
        right: the caller's right.
        token: the id of the caller's token, if it brought one.
        origin: the server's address, for links to its console; None for none.
        decider: the memory as the user decides in it on what waits; None where the client cannot ask the user.
    """

    memory: Memory
    right: Right = Right.WRITE
    token: str | None = None
    origin: str | None = None
    decider: Memory | None = None

    def link(self, id: str) -> str:
        """Return the address of a record."""
        return f"memorist:{quote(id, '')}" if self.origin is None else f"{self.origin}/record?id={quote(id, '')}"

    def check(self, what: str, needed: Right) -> None:
        """Raise ScopeError if `what` needs a right that the caller lacks."""
        if not self.right.includes(needed):
            raise ScopeError(f"{what} needs the right {str(needed)!r}; this session has only {str(self.right)!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Admits HTTP requests.

    Args:
        memory: an open memory, bound to no tenant and no user.
        tenant: the tenant, if the token names none.
        user: the user, if the token names none; None uses the header Memorist-User, or without it the tenant's
            shared records.
        agent: the label that is stored with new records and narrows reads.
        session: likewise.
        right: the highest right of any caller.
        open: whether callers on this machine need no token. Only for a server on a loopback address.
        quotas: what each token may send.
        resource: the address that a token may be issued for: this server's, as its clients call it.
        origin: the server's address, for links to its console; None where it has none.
        foreign: returns the access that a token of another issuer grants.
        discovery: where a client without a token learns how to get one: the URL of the metadata of RFC 9728.
    """

    memory: Memory
    tenant: str | None = None
    user: str | None = None
    agent: str | None = None
    session: str | None = None
    right: Right = Right.WRITE
    open: bool = False
    quotas: Quotas = field(default_factory=Quotas)
    resource: str | None = None
    origin: str | None = None
    foreign: Callable[[str], Awaitable[Grant]] | None = None
    discovery: str | None = None

    async def admit(self, headers: Sequence[tuple[bytes, bytes]], client: str | None) -> Access:
        """Return the access of a request with these headers.

        Args:
            headers: the headers, by names in lower case.
            client: the address it comes from, if known.

        Raises:
            UnauthorizedError: it has no token, or one that is unknown or expired.
            ScopeError: it names a user other than the token's.
            InvalidInputError: the header Memorist-User or Memorist-Zone is blank, repeated or not UTF-8, or holds no
                user's or zone's name.
        """
        secret = bearer(header(headers, "Authorization"))
        if secret is not None and self.foreign is not None and not is_own(secret):
            grant = await self.foreign(secret)
        else:
            named = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
            tokens = Tokens(self.memory)
            grant = await admitted(tokens, secret, open=self.open, client=client, headers=named, resource=self.resource)
        grant.check(Right.READ)
        bound = replace(grant, tenant=grant.tenant or self.tenant, user=grant.user or self.user)
        scope = bound.scope(user=header(headers, USER_HEADER), agent=self.agent, session=self.session)
        memory = self.quotas.memory(self.memory, grant, scope).scoped(zone=header(headers, ZONE_HEADER))
        right = self.right if grant.right.includes(self.right) else grant.right
        return Access(memory, right, grant.token, self.origin)
