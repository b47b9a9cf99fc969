"""The server as a protected resource (RFC 9728): its address, and where clients get tokens for it."""

from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

from mcp.server.auth.handlers.metadata import ProtectedResourceMetadataHandler
from mcp.server.auth.routes import cors_middleware
from mcp.shared.auth import ProtectedResourceMetadata
from starlette.routing import Route

from memorist.errors import InvalidInputError, shown
from memorist.serve.auth import Right, is_loopback

SCOPES = {"memory:read": Right.READ, "memory:write": Right.WRITE}
"""The scopes of tokens, and the right that each grants."""
_WELL_KNOWN = "/.well-known/oauth-protected-resource"


@dataclass(frozen=True, slots=True)
class Resource:
    """The server's MCP endpoint, as its clients call it.

    Args:
        origin: the server's public address, such as ``https://memory.example.org``.
        path: the endpoint's.

    Raises:
        InvalidInputError: the address has more than a scheme, a host and a port, or is not encrypted.
    """

    origin: str
    path: str = "/mcp"

    def __post_init__(self) -> None:
        parts = urlsplit(self.origin)
        if not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment or parts.username:
            raise InvalidInputError(
                f"the public address must be as https://memory.example.org, without a path, not {shown(self.origin)}"
            )
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname)):
            raise InvalidInputError(f"the public address must begin with https://, not {shown(self.origin)}")
        object.__setattr__(self, "origin", f"{parts.scheme}://{parts.netloc}")

    @property
    def url(self) -> str:
        """The address that tokens are issued for."""
        return self.origin + self.path

    @property
    def discovery(self) -> str:
        """The address of the metadata."""
        return self.origin + _WELL_KNOWN + self.path

    def is_named(self, resource: str | None) -> bool:
        """Return whether a client that asks for a token means this server."""
        return resource is None or resource.rstrip("/") in (self.url, self.origin)

    def routes(self, issuer: str) -> list[Route]:
        """Return the routes of the metadata, which name the issuer of tokens."""
        metadata = ProtectedResourceMetadata.model_validate(
            {
                "resource": self.url,
                "authorization_servers": [issuer],
                "scopes_supported": list(SCOPES),
                "resource_name": "Memorist",
            }
        )
        app = cors_middleware(ProtectedResourceMetadataHandler(metadata).handle, ["GET", "OPTIONS"])
        return [Route(path, app, methods=["GET", "OPTIONS"]) for path in (_WELL_KNOWN + self.path, _WELL_KNOWN)]


def right_of(scopes: Collection[str] | None, default: Right = Right.WRITE) -> Right:
    """Return the highest right that scopes grant; the default where they name none of ours."""
    granted = [right for scope, right in SCOPES.items() if scope in (scopes or ())]
    return granted[-1] if granted else default
