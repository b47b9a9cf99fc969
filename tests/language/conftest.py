from collections.abc import AsyncIterator, Iterator

import pytest

from chatserver import ChatServer, chat_server
from memorist.language import ChatModel


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with chat_server() as running:
        yield running


@pytest.fixture
async def model(server: ChatServer) -> AsyncIterator[ChatModel]:
    """The real client of that server, which tries only once."""
    pytest.importorskip("openai")
    from memorist.language.endpoint import OpenAIChatModel

    opened = OpenAIChatModel("m", base_url=server.url, max_retries=0)
    yield opened
    await opened.close()
