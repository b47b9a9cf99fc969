"""OAuth 2.1 for MCP clients that bring no token of their own: a sign-in of this server's, or an OpenID provider's."""

from memorist.errors import needs

with needs("mcp", "mcp"):
    from memorist.serve.oauth.openid import OpenID
    from memorist.serve.oauth.page import page_of
    from memorist.serve.oauth.resource import SCOPES, Resource
    from memorist.serve.oauth.signing_in import SignIn

__all__ = ["SCOPES", "OpenID", "Resource", "SignIn", "page_of"]
