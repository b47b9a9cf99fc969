"""A block of LlamaIndex's Memory: keeps what leaves the short-term memory, and tells what matters to a question."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr

from memorist.agents import after_turn, before_turn
from memorist.twin import asynchronous

_LEAST_TOKENS = 16
_REMEMBERED = 32


class MemoristMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's `Memory` on a memory of ours.

    ```python
    block = MemoristMemoryBlock(memory=memory.scoped(user="alice"))
    chat = Memory.from_defaults(session_id="monday", memory_blocks=[block])
    ```

    The messages that leave the short-term memory become the conversation of LlamaIndex's `session_id`, each once. A
    question is answered with what the user's whole memory knows, whatever the session.

    Attributes:
        memory: an open memory, asynchronous or blocking.
        tokens: the most that the block may take, counted with LlamaIndex's own tokenizer.
        options: further arguments of `Memory.context`, such as `min_confidence` or `topics`.
        name: the block's name in the prompt.
        priority: 1, so that it is shortened where the token limit is exceeded; 0 never shortens it.

    Raises (from LlamaIndex's calls):
        InvalidInputError: an option is wrong, or there is no session.
        StoreError, EmbedderError: messages could not be kept; they are still in LlamaIndex.
    """

    name: str = "long_term_memory"
    description: str | None = "What is known from earlier conversations."
    priority: int = 1
    memory: Any = Field(exclude=True, repr=False)
    tokens: int = 600
    options: dict[str, Any] = Field(default_factory=dict)
    tokenizer_fn: Callable[[str], Any] = Field(default_factory=get_tokenizer, exclude=True, repr=False)
    _told: "OrderedDict[str, list[dict[str, str]]]" = PrivateAttr(default_factory=OrderedDict)

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        return await self._tell(_plain(messages or ()), self.tokens)

    async def _aput(self, messages: list[ChatMessage]) -> None:
        memory = asynchronous(self.memory).through("llama_index")
        by_session: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            by_session.setdefault(message.additional_kwargs.get("session_id"), []).append(message)
        for session, said in by_session.items():
            await after_turn(memory, _plain(said), session=session)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the best memories that fit into that many tokens fewer; None if too few tokens are left."""
        left = self._count(content) - tokens_to_truncate
        asked = self._told.get(content)
        if asked is None or left < _LEAST_TOKENS:
            return None
        return await self._tell(asked, left) or None

    async def _tell(self, asked: list[dict[str, str]], tokens: int) -> str:
        memory = asynchronous(self.memory).through("llama_index")
        told = await before_turn(memory, asked, tokens=tokens, count_tokens=self._count, **self.options)
        self._told[told.text] = asked  # for atruncate, which is given the text alone
        self._told.move_to_end(told.text)
        while len(self._told) > _REMEMBERED:
            self._told.popitem(last=False)
        return told.text

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


def _plain(messages: Iterable[ChatMessage]) -> list[dict[str, str]]:
    said = ((message.role.value, message.content) for message in messages)
    return [{"role": role, "content": text} for role, text in said if text and text.strip()]
