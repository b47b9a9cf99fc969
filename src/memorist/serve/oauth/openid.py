"""Access tokens of an OpenID provider: signed JWTs, checked by the provider's published keys."""

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import httpx2
import jwt

from memorist.errors import InvalidInputError, StoreUnavailableError, shown
from memorist.serve.auth import Grant, UnauthorizedError
from memorist.serve.oauth.resource import right_of

_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Those with a public key: a token may not choose one whose key is a secret, or none."""
_REREAD = 60.0
"""Seconds before the keys are read again for a token whose key is not among them."""
_PATIENCE = 10.0
_PATHS = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")


@dataclass(slots=True, eq=False)
class OpenID:
    """Checks the access tokens of an OpenID provider.

    Args:
        issuer: the provider's address, as its tokens name it.
        audience: whom tokens must be issued for: this server's address, or the name that the provider has for it.
        claim: the claim that names the user.
        users: the users that are admitted; empty admits each one to whom the provider issues a token.
        tenant: the tenant of all of them.

    Raises:
        InvalidInputError: the issuer is not an address.
    """

    issuer: str
    _: KW_ONLY
    audience: str
    claim: str = "sub"
    users: Collection[str] = ()
    tenant: str | None = None
    _keys: dict[str | None, jwt.PyJWK] = field(default_factory=dict, init=False)
    _read_at: float = field(default=float("-inf"), init=False)
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    def __post_init__(self) -> None:
        if not self.issuer.startswith(("https://", "http://127.0.0.1", "http://localhost", "http://[::1]")):
            raise InvalidInputError(f"an OpenID provider's address begins with https://, not {shown(self.issuer)}")

    async def grant(self, token: str) -> Grant:
        """Return the access that a token grants: the scope ``memory:read`` alone only reads.

        Raises:
            UnauthorizedError: it is not a token of the provider's for this server and one of the users, or has expired.
            StoreUnavailableError: the provider's keys cannot be read.
        """
        try:
            key = await self._key(jwt.get_unverified_header(token))
            claims = jwt.decode(
                token,
                key,
                algorithms=_ALGORITHMS,
                audience=self.audience,
                issuer=self.issuer,
                options={"require": ["exp", "iss", "aud", self.claim]},
            )
        except jwt.ExpiredSignatureError as error:
            raise UnauthorizedError("the token has expired") from error
        except jwt.InvalidAudienceError as error:
            raise UnauthorizedError(f"the token was not issued for {self.audience}") from error
        except jwt.PyJWTError as error:
            raise UnauthorizedError(f"the token is not a valid access token of {self.issuer}: {error}") from error
        user = claims[self.claim]
        if not isinstance(user, str) or (self.claim == "email" and claims.get("email_verified") is False):
            raise UnauthorizedError(f"the token's claim {shown(self.claim)} names no user")
        if self.users and user not in self.users:
            raise UnauthorizedError("this user is not admitted here")
        grant = Grant(name=user, tenant=self.tenant, user=user, right=right_of(_scopes(claims)), token=None)
        grant.scope()  # raises where the name cannot be a user's
        return grant

    async def _key(self, header: Mapping[str, Any]) -> jwt.PyJWK:
        """Return the key that a token says it is signed with; keys that the provider has added are read once a minute.

        Raises:
            jwt.PyJWTError: the provider has no such key.
            StoreUnavailableError: its keys cannot be read.
        """
        name = header.get("kid")
        async with self._reading:
            if name not in self._keys and time.monotonic() - self._read_at > _REREAD:
                self._keys = await self._published()
                self._read_at = time.monotonic()
        if name not in self._keys:
            raise jwt.InvalidKeyError("it is signed with a key that the issuer does not publish")
        return self._keys[name]

    async def _published(self) -> dict[str | None, jwt.PyJWK]:
        try:
            async with httpx2.AsyncClient(timeout=_PATIENCE) as http:
                metadata = await self._metadata(http)
                answer = await http.get(metadata["jwks_uri"])
                answer.raise_for_status()
                keys = jwt.PyJWKSet.from_dict(answer.json()).keys
        except (httpx2.HTTPError, ValueError, KeyError, TypeError, jwt.PyJWTError) as error:
            raise StoreUnavailableError(f"the keys of {self.issuer} cannot be read: {error}") from error
        return {key.key_id: key for key in keys}

    async def _metadata(self, http: httpx2.AsyncClient) -> dict[str, Any]:
        for path in _PATHS:
            answer = await http.get(self.issuer.rstrip("/") + path)
            if answer.status_code != 404:
                break
        answer.raise_for_status()
        metadata: dict[str, Any] = answer.json()
        if metadata["issuer"] != self.issuer:
            raise ValueError(f"the provider calls itself {shown(metadata['issuer'])}; name it so")
        return metadata


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """Return the scopes of a token: one text, or a list, as some providers write it."""
    named = claims.get("scope", claims.get("scp", ()))
    return named.split() if isinstance(named, str) else [each for each in named if isinstance(each, str)]
