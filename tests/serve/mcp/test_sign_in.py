"""MCP clients that bring no token: they sign in, by OAuth 2.1, at this server or at an OpenID provider."""

import base64
import hashlib
import json
import re
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from memorist.errors import InvalidInputError
from memorist.memory import Memory
from memorist.serve.app import create_app
from memorist.serve.auth import Tokens
from memorist.serve.mcp import Gate
from memorist.serve.mcp import create_app as create_mcp
from memorist.serve.oauth import OpenID, Resource, SignIn, page_of
from ports import free_port
from servers import running

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BACK = "http://127.0.0.1:3000/callback"
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add_memory", "arguments": {"content": "Likes tea"}},
}
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}


@dataclass
class Stored:
    """What a client keeps between its runs."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Browser:
    """A person's browser: opens the page that a client names, types a token, and is led back."""

    token: str
    more: dict[str, str] = field(default_factory=lambda: {"do": "allow"})
    back: dict[str, str] = field(default_factory=dict)
    pages: list[str] = field(default_factory=list)

    async def open(self, address: str) -> None:
        async with httpx2.AsyncClient(follow_redirects=True) as http:
            page = await http.get(address)
            assert page.status_code == 200, page.text
            self.pages.append(page.text)
            asked = re.search(r'name="asked" value="([^"]+)"', page.text)
            assert asked
            form = {"asked": asked[1], "token": self.token, **self.more}
            answer = await http.post(str(page.url), data=form, follow_redirects=False)
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"].startswith(BACK)
        assert "form-action 'self' http://127.0.0.1:3000" in page.headers["content-security-policy"]
        self.back = {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["location"]).query).items()}

    async def returned(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self.back.get("code", ""), state=self.back.get("state"), iss=self.back.get("iss")
        )


@asynccontextmanager
async def signed_in(
    url: str, browser: Browser, stored: Stored, *, mode: str = "auto", **more: Any
) -> AsyncIterator[Client]:
    """Connect the SDK's client, which signs in by the protocol alone."""
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(BACK)], client_name="Some <b>Chat</b>", token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(url, metadata, stored, redirect_handler=browser.open, callback_handler=browser.returned)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **more) as client,
    ):
        yield client


@dataclass
class Site:
    """A server that lets clients sign in, at its address."""

    url: str
    memory: Memory
    sign_in: SignIn


Serve = Callable[..., Awaitable[Site]]


@pytest.fixture
async def site(everyone: Memory) -> AsyncIterator[Site]:
    """`memorist serve --sign-in`, in this process."""
    origin = f"http://127.0.0.1:{(port := free_port())}"
    resource = Resource(origin)
    sign_in = SignIn(everyone, resource)
    gate = Gate(memory=everyone, resource=resource.url, origin=origin, discovery=resource.discovery)
    async with AsyncExitStack() as stack:
        mcp = create_mcp(gate, tools="connector", hosts=None)
        await stack.enter_async_context(mcp.router.lifespan_context(mcp))
        routes = [*mcp.routes, *resource.routes(origin), *sign_in.routes(), page_of(sign_in)]
        app = create_app(everyone, more=routes)
        await stack.enter_async_context(running(app, port=port))
        yield Site(origin, everyone, sign_in)


@pytest.fixture
async def tokens(everyone: Memory) -> dict[str, str]:
    """The tokens of two people, and one that only reads."""
    made = Tokens(everyone)
    return {
        "alice": (await made.create("alice", user="alice"))[0],
        "bob": (await made.create("bob", user="bob"))[0],
        "reader": (await made.create("reader", user="alice", right="read"))[0],
        "operator": (await made.create("operator", tenant=None, right="admin"))[0],
    }


async def texts(client: Client, query: str) -> list[str]:
    """Search as ChatGPT does, and read what was found."""
    found = await client.call_tool("search", {"query": query})
    assert not found.is_error and json.loads(found.content[0].text) == found.structured_content  # type: ignore[union-attr]
    ids = [each["id"] for each in found.structured_content["results"]]
    read = [await client.call_tool("fetch", {"id": id}) for id in ids]
    assert all(set(each.structured_content) == {"id", "title", "text", "url", "metadata"} for each in read)
    return [each.structured_content["text"] for each in read]


async def post(url: str, token: str | None = None) -> httpx2.Response:
    headers = HEADERS if token is None else {**HEADERS, "authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(timeout=60) as http:
        return await http.post(f"{url}/mcp", json=CALL, headers=headers)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_said_in_one_talk_known_in_the_next_corrected_and_forgotten(
    site: Site, tokens: dict[str, str], mode: str
) -> None:
    url, browser, stored = f"{site.url}/mcp", Browser(tokens["alice"]), Stored()
    async with signed_in(url, browser, stored, mode=mode) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == {
            "search", "fetch", "add_memory", "update_memory", "delete_memory",
        }  # fmt: skip
        added = await client.call_tool("add_memory", {"content": "Prefers homestays when she travels"})
        id = json.loads(added.content[0].text)["id"]  # type: ignore[union-attr]
    assert "Some &lt;b&gt;Chat&lt;/b&gt;" in browser.pages[0] and "127.0.0.1:3000" in browser.pages[0]
    async with signed_in(url, Browser("never asked"), stored, mode=mode) as client:
        [text] = await texts(client, "where does she like to stay?")
        assert text.startswith("<memory-") and "not instructions\n| " in text and "homestays" in text
        await client.call_tool("update_memory", {"id": id, "content": "Prefers small hotels when she travels"})
    async with signed_in(url, Browser(tokens["bob"]), Stored(), mode=mode) as client:
        assert await texts(client, "where does she like to stay?") == []
        assert (await client.call_tool("fetch", {"id": id})).is_error
    async with signed_in(url, Browser("never asked"), stored, mode=mode) as client:
        [text] = await texts(client, "where does she like to stay?")
        assert "small hotels" in text and "homestays" not in text
        await client.call_tool("delete_memory", {"id": id})
        assert await texts(client, "where does she like to stay?") == []
    alice = site.memory.scoped(user="alice")
    assert await alice.count(superseded=True) == 0
    await alice.purge()
    assert (await post(site.url, stored.tokens.access_token)).status_code == 401  # type: ignore[union-attr]


async def test_a_client_without_a_token_learns_where_it_gets_one(site: Site) -> None:
    refused = await post(site.url)
    assert refused.status_code == 401
    found = re.search(r'resource_metadata="([^"]+)"', refused.headers["www-authenticate"])
    assert found
    async with httpx2.AsyncClient() as http:
        resource = (await http.get(found[1])).json()
        issuer = resource["authorization_servers"][0]
        server = (await http.get(f"{issuer}/.well-known/oauth-authorization-server")).json()
    assert resource["resource"] == f"{site.url}/mcp" and resource["scopes_supported"] == ["memory:read", "memory:write"]
    assert server["issuer"] == issuer == site.url
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert "none" in server["token_endpoint_auth_methods_supported"]
    assert server["authorization_response_iss_parameter_supported"] is True


@dataclass
class Dance:
    """The protocol by hand, to send what a well-made client does not."""

    url: str
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))
    client: str = ""

    async def register(self, **metadata: Any) -> httpx2.Response:
        told = {"redirect_uris": [BACK], "client_name": "Chat", "token_endpoint_auth_method": "none", **metadata}
        async with httpx2.AsyncClient() as http:
            answer = await http.post(f"{self.url}/register", json=told)
        self.client = answer.json().get("client_id", "")
        return answer

    async def authorize(self, **changed: str | None) -> httpx2.Response:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self.client,
            "redirect_uri": BACK,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "state": "abc",
            "resource": f"{self.url}/mcp",
            **changed,
        }
        async with httpx2.AsyncClient() as http:
            given = {name: value for name, value in asked.items() if value is not None}
            return await http.get(f"{self.url}/authorize", params=given)

    async def code(self, token: str, **more: str) -> dict[str, str]:
        browser = Browser(token, {"do": "allow", **more})
        await browser.open((await self.authorize()).headers["location"])
        return browser.back

    async def token(self, **asked: str) -> httpx2.Response:
        told = {"client_id": self.client, **asked}
        if told.get("code") is not None:
            told = {
                "grant_type": "authorization_code", "redirect_uri": BACK, "code_verifier": self.verifier, **told
            }  # fmt: skip
        async with httpx2.AsyncClient() as http:
            return await http.post(f"{self.url}/token", data=told)


async def test_what_a_client_must_send_is_asked_for(site: Site, tokens: dict[str, str]) -> None:
    dance = Dance(site.url)
    await dance.register()
    for changed, error in (
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"resource": "https://other.example/mcp"}, "invalid_target"),
        ({"scope": "memory:admin"}, "invalid_scope"),
    ):
        answer = await dance.authorize(**changed)
        assert parse_qs(urlsplit(answer.headers["location"]).query)["error"] == [error], changed
    assert (await dance.authorize(redirect_uri="https://evil.example/")).status_code == 400
    assert (await dance.authorize(client_id="nobody")).status_code == 400
    for uri in ("http://evil.example/", "javascript:alert(1)", "custom://x"):
        assert (await Dance(site.url).register(redirect_uris=[uri])).status_code == 400


async def test_a_code_holds_once_and_for_the_one_who_asked(site: Site, tokens: dict[str, str]) -> None:
    dance = Dance(site.url)
    await dance.register()
    back = await dance.code(tokens["alice"])
    assert back["state"] == "abc" and back["iss"] == site.url
    assert (await dance.token(code=back["code"], code_verifier="another" * 8)).json()["error"] == "invalid_grant"
    thief = Dance(site.url)
    await thief.register()
    assert (await thief.token(code=back["code"])).json()["error"] == "invalid_grant"
    granted = (await dance.token(code=back["code"])).json()
    assert granted["token_type"] == "Bearer" and granted["expires_in"] == 3600
    assert (await dance.token(code=back["code"])).json()["error"] == "invalid_grant"
    assert (await post(site.url, granted["access_token"])).status_code == 200


async def test_tokens_end_with_their_hour_their_renewal_and_what_they_were_derived_from(
    site: Site, tokens: dict[str, str], clock: Any
) -> None:
    dance = Dance(site.url)
    await dance.register()
    first = (await dance.token(code=(await dance.code(tokens["alice"]))["code"])).json()
    clock.advance(3601)
    expired = await post(site.url, first["access_token"])
    assert expired.status_code == 401 and "expired" in expired.text and "resource_metadata" in str(expired.headers)
    renewed = {"grant_type": "refresh_token", "refresh_token": first["refresh_token"]}
    second = (await dance.token(**renewed)).json()
    assert (await post(site.url, second["access_token"])).status_code == 200
    assert (await dance.token(**renewed)).json()["error"] == "invalid_grant"
    made = Tokens(site.memory)
    [name] = [token.grant.name for token in await made.list() if token.parent]
    assert name.startswith("Chat (")
    await made.revoke(name)
    assert (await post(site.url, second["access_token"])).status_code == 401
    third = (await dance.token(code=(await dance.code(tokens["alice"]))["code"])).json()
    await made.revoke("alice")
    assert (await post(site.url, third["access_token"])).status_code == 401
    last = await dance.token(grant_type="refresh_token", refresh_token=third["refresh_token"])
    assert last.json()["error"] == "invalid_grant"


async def test_a_token_for_mcp_opens_no_other_door_and_a_refresh_token_none(site: Site, tokens: dict[str, str]) -> None:
    dance = Dance(site.url)
    await dance.register()
    granted = (await dance.token(code=(await dance.code(tokens["alice"]))["code"])).json()
    async with httpx2.AsyncClient() as http:
        for kind in ("access_token", "refresh_token"):
            sent = {"authorization": f"Bearer {granted[kind]}"}
            assert (await http.get(f"{site.url}/v1/caller", headers=sent)).status_code == 401
        page = await dance.authorize()
        asked = parse_qs(urlsplit(page.headers["location"]).query)["asked"][0]
        form = {"asked": asked, "do": "allow"}
        for token in (granted["access_token"], granted["refresh_token"], "mem_nonsense", "", tokens["operator"]):
            answer = await http.post(f"{site.url}/sign-in", data={**form, "token": token})
            assert answer.status_code in (401, 422) and "location" not in answer.headers
    assert (await post(site.url, granted["refresh_token"])).status_code == 401


async def test_who_refuses_or_only_lets_read_is_obeyed(site: Site, tokens: dict[str, str]) -> None:
    dance = Dance(site.url)
    await dance.register()
    browser = Browser("", {"do": "refuse"})
    await browser.open((await dance.authorize()).headers["location"])
    assert browser.back["error"] == "access_denied" and "code" not in browser.back
    for token, more in ((tokens["alice"], {"only": "1"}), (tokens["reader"], {})):
        granted = (await dance.token(code=(await dance.code(token, **more))["code"])).json()
        assert granted["scope"] == "memory:read"
        refused = (await post(site.url, granted["access_token"])).json()["result"]
        assert refused["isError"] and "needs the right 'write'" in refused["content"][0]["text"]


async def test_a_revoked_sign_in_ends(site: Site, tokens: dict[str, str]) -> None:
    dance = Dance(site.url)
    await dance.register()
    granted = (await dance.token(code=(await dance.code(tokens["alice"]))["code"])).json()
    async with httpx2.AsyncClient() as http:
        told = {"client_id": dance.client, "token": granted["refresh_token"]}
        assert (await http.post(f"{site.url}/revoke", data=told)).status_code == 200
    assert (await post(site.url, granted["access_token"])).status_code == 401


async def test_the_command_lets_a_client_sign_in(serve: Any, reopen: Any, db: Any) -> None:
    async with reopen() as memory:
        secret, _ = await Tokens(memory).create("alice", user="alice")
    url = serve("--sign-in", "--tools", "connector", command=("serve",), says="Serving at ")
    async with signed_in(f"{url}/mcp", Browser(secret), Stored()) as client:
        await client.call_tool("add_memory", {"content": "Is allergic to peanuts"})
        assert "peanuts" in (await texts(client, "may she eat peanuts?"))[0]


async def test_the_command_says_what_is_missing(serve: Any, db: Any) -> None:
    for options, said in (
        (("--sign-in",), "memorist token create"),
        (("--sign-in", "--openid", "https://id.example"), "choose one"),
    ):
        with pytest.raises(AssertionError, match=said):
            serve(*options, command=("serve",), says="Serving at ")
    for address in ("memory.example.org", "http://memory.example.org", "https://example.org/memory"):
        with pytest.raises(InvalidInputError, match="public address"):
            Resource(address)


@dataclass
class Provider:
    """An OpenID provider, with one key that it publishes."""

    url: str
    key: rsa.RSAPrivateKey

    def token(self, key: rsa.RSAPrivateKey | None = None, kid: str = "one", **claims: Any) -> str:
        told = {"iss": self.url, "aud": "http://127.0.0.1:8765/mcp", "sub": "alice", "exp": 4_000_000_000, **claims}
        given = {name: value for name, value in told.items() if value is not None}
        return jwt.encode(given, key or self.key, algorithm="RS256", headers={"kid": kid})


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = {**jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": "one", "alg": "RS256"}
    answers = dict[str, Any]()

    async def answer(request: Any) -> JSONResponse:
        return JSONResponse(answers[request.url.path])

    app = Starlette(routes=[Route("/{path:path}", answer)])
    async with running(app) as url:
        answers["/.well-known/openid-configuration"] = {"issuer": url, "jwks_uri": f"{url}/keys"}
        answers["/keys"] = {"keys": [public]}
        yield Provider(url, key)


async def test_tokens_of_an_openid_provider_are_checked(everyone: Memory, provider: Provider) -> None:
    resource = Resource("http://127.0.0.1:8765")
    checks = OpenID(provider.url, audience=resource.url, users=("alice", "bob"))
    gate = Gate(memory=everyone, resource=resource.url, discovery=resource.discovery, foreign=checks.grant)
    mcp = create_mcp(gate, hosts=None)
    async with mcp.router.lifespan_context(mcp), running(mcp) as url:
        assert (await post(url, provider.token())).status_code == 200
        other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        hs256 = jwt.encode({"iss": provider.url, "aud": resource.url, "sub": "alice", "exp": 4e9}, "x" * 32)
        for token, said in (
            (provider.token(aud="https://other.example"), "was not issued for"),
            (provider.token(aud=None), "not a valid access token"),
            (provider.token(exp=1_000_000_000), "expired"),
            (provider.token(iss="https://other.example"), "not a valid access token"),
            (provider.token(sub="mallory"), "not admitted"),
            (provider.token(sub=None), "not a valid access token"),
            (provider.token(key=other), "not a valid access token"),
            (provider.token(key=other, kid="two"), "does not publish"),
            (hs256, "not a valid access token"),
            ("opaque", "not a valid access token"),
        ):
            refused = await post(url, token)
            assert refused.status_code == 401 and said in refused.text, (said, refused.text)
            assert "resource_metadata=" in refused.headers["www-authenticate"]
        reading = (await post(url, provider.token(scope="openid memory:read"))).json()["result"]
        assert reading["isError"] and "needs the right 'write'" in reading["content"][0]["text"]
    assert await everyone.scoped(user="alice").count() == 1
    assert await everyone.scoped(user="bob").count() == 0
