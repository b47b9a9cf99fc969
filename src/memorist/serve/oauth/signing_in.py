"""The server's own sign-in: who holds a token of the store lets a program in, without showing it the token."""

import secrets
from typing import Any, NoReturn
from urllib.parse import urlsplit

from mcp.server.auth.handlers.metadata import MetadataHandler
from mcp.server.auth.middleware.client_auth import AuthenticationError, ClientAuthenticator
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    AuthorizeError,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    RegistrationError,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.routes import build_metadata, cors_middleware, create_auth_routes
from mcp.server.auth.settings import ClientRegistrationOptions, RevocationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthMetadata, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from memorist.errors import InvalidInputError, MemoristError
from memorist.memory import Memory
from memorist.serve.auth import Grant, Right, Token, Tokens, UnauthorizedError, digest_of, is_loopback
from memorist.serve.oauth.kept import Kept
from memorist.serve.oauth.resource import SCOPES, Resource, right_of

_HOUR = 3600
_ASKED, _CODE, _UNUSED, _SIGNED_IN = 600.0, 60.0, float(_HOUR), 90 * 24 * float(_HOUR)
"""Seconds that the page waits and a code holds, and that a program is known before and after its sign-ins."""
_MOST_UNUSED = 500
"""The most programs that are known, and sign-ins that are open: anyone may ask for one."""
_LONGEST_CLIENT = 10_000
_REGISTRATION = ClientRegistrationOptions(enabled=True, valid_scopes=list(SCOPES), default_scopes=list(SCOPES))
_REVOCATION = RevocationOptions(enabled=True)
_WELL_KNOWN = "/.well-known/oauth-authorization-server"


class Code(AuthorizationCode):
    """A code that a program exchanges for tokens, with the sha256 of the token that it was signed in with."""

    parent: str
    right: Right
    name: str


class SignIn(OAuthAuthorizationServerProvider[Code, RefreshToken, AccessToken]):
    """An authorization server for one resource: this one.

    A refresh token is a token of the store, derived from the one that was signed in with: `memorist token list` shows
    it, and it ends when either is revoked. An access token is derived from it and holds for an hour.

    Args:
        memory: an open memory, bound to no tenant and no user.
        resource: what tokens are issued for.
    """

    def __init__(self, memory: Memory, resource: Resource) -> None:
        self.resource = resource
        self._tokens = Tokens(memory)
        self._kept = Kept(memory)

    def routes(self) -> list[Route]:
        """Return the routes of the protocol, without the page that people see."""
        issuer = AnyHttpUrl(self.resource.origin)
        made = create_auth_routes(self, issuer, client_registration_options=_REGISTRATION)
        metadata = build_metadata(issuer, None, _REGISTRATION, _REVOCATION).model_dump(mode="json", exclude_none=True)
        methods = [*metadata["token_endpoint_auth_methods_supported"], "none"]
        described = OAuthMetadata.model_validate(
            metadata
            | {
                "issuer": self.resource.origin,  # as it stands: clients compare it letter by letter
                "token_endpoint_auth_methods_supported": methods,
                "revocation_endpoint_auth_methods_supported": methods,
                "authorization_response_iss_parameter_supported": True,
            }
        )
        app = cors_middleware(MetadataHandler(described).handle, ["GET", "OPTIONS"])
        protocol = [route for route in made if route.path != _WELL_KNOWN]
        # The SDK's own refuses programs that have no secret.
        revoked = cors_middleware(self._revoked, ["POST", "OPTIONS"])
        return [
            Route(_WELL_KNOWN, app, methods=["GET", "OPTIONS"]),
            Route("/revoke", revoked, methods=["POST", "OPTIONS"]),
            *protocol,
        ]

    async def _revoked(self, request: Request) -> Response:
        """Revoke a token for the program that has it (RFC 7009); one that it does not have is no error."""
        try:
            client = await ClientAuthenticator(self).authenticate_request(request)
        except AuthenticationError as error:
            return JSONResponse({"error": "invalid_client", "error_description": error.message}, 401)
        secret = str((await request.form()).get("token") or "")
        token = await self.load_access_token(secret) or await self.load_refresh_token(client, secret)
        if token is not None and token.client_id == client.client_id:
            await self.revoke_token(token)
        return Response(headers={"cache-control": "no-store"})

    # Programs

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Return what a program registered with."""
        found = await self._kept.read("client", client_id)
        return None if found is None else OAuthClientInformationFull.model_validate(found)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what a program registers with; for an hour, unless someone signs in."""
        for uri in client_info.redirect_uris or ():
            parts = urlsplit(str(uri))
            near = parts.scheme == "http" and is_loopback(parts.hostname or "")
            if not near and parts.scheme != "https":
                raise RegistrationError("invalid_redirect_uri", "a redirect URI begins with https:// or is on loopback")
        plain = client_info.model_dump(mode="json", exclude_none=True)
        if len(str(plain)) > _LONGEST_CLIENT:
            raise RegistrationError("invalid_client_metadata", f"more than {_LONGEST_CLIENT:,} characters")
        if await self._kept.count("client") >= _MOST_UNUSED:
            raise RegistrationError("invalid_client_metadata", "too many programs are registered; try again in an hour")
        await self._kept.put("client", plain, _UNUSED, secret=client_info.client_id)

    # The page

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        """Return the address of the page on which a person decides."""
        if not self.resource.is_named(params.resource):
            raise AuthorizeError("invalid_target", f"tokens are issued for {self.resource.url} alone")
        if await self._kept.count("asked") >= _MOST_UNUSED:
            raise AuthorizeError("temporarily_unavailable", "too many sign-ins are open; try again in ten minutes")
        value = {"client": client.client_id, "name": _name_of(client), "params": params.model_dump(mode="json")}
        asked = await self._kept.put("asked", value, _ASKED)
        return construct_redirect_uri(f"{self.resource.origin}/sign-in", asked=asked)

    async def asked(self, secret: str) -> dict[str, Any]:
        """Return what the page asks a person: the program's `name`, its `params`, and the `client`.

        Raises:
            UnauthorizedError: nothing is asked under this secret, or no longer.
        """
        found = await self._kept.read("asked", secret)
        if found is None:
            raise UnauthorizedError("this sign-in has expired; start again from the program that asks")
        return found

    async def holder(self, token: str) -> Grant:
        """Return the access of the token that a person signs in with.

        Raises:
            UnauthorizedError: it is unknown or has expired, or was itself issued to a program.
            InvalidInputError: it is not of one tenant, or does not allow to read.
        """
        grant = await self._tokens.grant(token)
        if grant.tenant is None:
            raise InvalidInputError("an operator's token is not for programs; make one: memorist token create NAME")
        grant.check(Right.READ)
        return grant

    async def decide(self, secret: str, token: str | None, *, writes: bool) -> str:
        """Return where the person's browser goes: back to the program, with a code or with a refusal.

        Args:
            secret: what is asked.
            token: the token that the person signs in with; None refuses.
            writes: whether the program may change memories, where it asked for that and the token allows it.

        Raises:
            UnauthorizedError: as `asked` and `holder`.
            InvalidInputError: as `holder`.
        """
        asked = await self.asked(secret)
        params = AuthorizationParams.model_validate(asked["params"])
        grant = None if token is None else await self.holder(token)
        if not await self._kept.take("asked", secret):
            raise UnauthorizedError("this sign-in was answered before")
        answer = {"state": params.state, "iss": self.resource.origin}
        if grant is None or token is None:
            return construct_redirect_uri(str(params.redirect_uri), error="access_denied", **answer)
        may = writes and right_of(params.scopes).includes(Right.WRITE) and grant.right.includes(Right.WRITE)
        right = Right.WRITE if may else Right.READ
        value = {
            "scopes": _scopes_of(right),
            "client_id": asked["client"],
            "code_challenge": params.code_challenge,
            "redirect_uri": str(params.redirect_uri),
            "redirect_uri_provided_explicitly": params.redirect_uri_provided_explicitly,
            "resource": self.resource.url,
            "parent": digest_of(token),
            "right": right,
            "name": f"{asked['name']} ({secrets.token_hex(2)})",
        }
        code = await self._kept.put("code", value, _CODE, tenant=grant.tenant, user=grant.user)
        return construct_redirect_uri(str(params.redirect_uri), code=code, **answer)

    # Tokens

    async def load_authorization_code(self, client: OAuthClientInformationFull, authorization_code: str) -> Code | None:
        """Return a code that was not used yet."""
        found = await self._kept.read("code", authorization_code)
        # The store lets go of one that has expired; the SDK's own clock is not the store's.
        return None if found is None else Code(code=authorization_code, expires_at=float("inf"), **found)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: Code
    ) -> OAuthToken:
        """Return the first tokens of a program, for a code that holds once."""
        if not await self._kept.take("code", authorization_code.code):
            _refuse("the code was used before")
        await self._kept.keep("client", client.client_id, _SIGNED_IN)
        code = authorization_code
        return await self._issued(client, code.parent, code.name, code.right)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        """Return a program's own refresh token."""
        token = await self._tokens.find(refresh_token)
        if token is None or token.resource != self._endpoint(client.client_id):
            return None
        return RefreshToken(token=refresh_token, client_id=client.client_id, scopes=_scopes_of(token.grant.right))

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Return new tokens in the place of the old ones, which hold no longer."""
        token = await self._tokens.find(refresh_token.token)
        if token is None or token.parent is None or token.expired(self._tokens.clock()):
            _refuse("the refresh token has expired")
        if not await self._tokens.drop(refresh_token.token):
            _refuse("the refresh token was used before")
        await self._kept.keep("client", client.client_id, _SIGNED_IN)
        return await self._issued(client, token.parent, token.grant.name, right_of(scopes, token.grant.right))

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return an access token, for its revocation."""
        found = await self._tokens.find(token)
        if found is None or found.parent is None or found.resource != self.resource.url:
            return None
        parent = await self._tokens.of(found.parent)
        if parent is None:
            return None
        client = str(parent.resource).rpartition("/")[2]
        return AccessToken(token=token, client_id=client, scopes=_scopes_of(found.grant.right))

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Revoke a token; with a refresh token, those that were derived from it."""
        await self._tokens.drop(token.token)

    async def _issued(self, client: OAuthClientInformationFull, parent: str, name: str, right: Right) -> OAuthToken:
        endpoint = self._endpoint(client.client_id)
        try:
            refresh, _ = await self._derived(parent, name, right, endpoint, _SIGNED_IN, listed=True)
            access, token = await self._derived(digest_of(refresh), name, right, self.resource.url, _HOUR, listed=False)
        except MemoristError as error:
            _refuse(str(error))
        return OAuthToken(
            access_token=access,
            expires_in=_HOUR,
            scope=" ".join(_scopes_of(token.grant.right)),
            refresh_token=refresh,
        )

    async def _derived(
        self, parent: str, name: str, right: Right, resource: str, seconds: float, *, listed: bool
    ) -> tuple[str, Token]:
        return await self._tokens.derive(
            parent, name=name, right=right, resource=resource, expires_at=seconds, listed=listed
        )

    def _endpoint(self, client: str) -> str:
        """Return where the refresh tokens of a program are accepted."""
        return f"{self.resource.origin}/token/{client}"


def _refuse(why: str) -> NoReturn:
    raise TokenError("invalid_grant", why)


def _scopes_of(right: Right) -> list[str]:
    return [scope for scope, each in SCOPES.items() if right.includes(each)]


def _name_of(client: OAuthClientInformationFull) -> str:
    """Return a program's name as it calls itself, in one line."""
    return " ".join((client.client_name or "A program").split())[:60]
