from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from typing import Any

import httpx
import pytest

from memorist.memory import Memory
from memorist.serve.app import Limits, create_app
from memorist.serve.auth import Tokens

Client = Callable[..., Any]


@pytest.fixture
def tokens(everyone: Memory) -> Tokens:
    return Tokens(everyone)


@pytest.fixture
async def client(everyone: Memory) -> AsyncIterator[Client]:
    """Return a function that returns a client of a server of this test's memory."""
    async with AsyncExitStack() as stack:

        async def make(
            token: str | None = None, *, open: bool = True, host: str = "localhost", **limits: Any
        ) -> httpx.AsyncClient:
            app = create_app(everyone, open=open, limits=Limits(**limits))
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
            made = httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers)
            return await stack.enter_async_context(made)

        yield make


@pytest.fixture
async def http(client: Client) -> httpx.AsyncClient:
    """A client on this machine, of a server that asks for no token there."""
    made: httpx.AsyncClient = await client()
    return made
