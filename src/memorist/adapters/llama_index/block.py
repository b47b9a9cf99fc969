"""A block of LlamaIndex's Memory: keeps what is said, and tells what matters to a question."""

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import BaseMemoryBlock, Memory
from llama_index.core.utils import get_tokenizer
from pydantic import Field, PrivateAttr

from memorist.adapters.opening import behind
from memorist.adapters.turns import keep_turn
from memorist.agents import after_turn, before_turn
from memorist.context.budget import LEAST_TOKENS

_REMEMBERED = 32
_OVERLAP = 8
"""Messages given again before new ones, by which their place is known."""
_ROLES = ("user", "assistant", "tool")
_SHOWN = ("image", "audio", "video", "document")
_Conversations: TypeAlias = OrderedDict[str, list[dict[str, str]]]


class MemoristMemoryBlock(BaseMemoryBlock[str]):
    """A block of LlamaIndex's `Memory` on a memory of ours.

    ```python
    block = MemoristMemoryBlock(memory=memory.scoped(user="alice"))
    chat = Memory.from_defaults(session_id="monday", memory_blocks=[block])
    ```

    Each time the chat memory is read, what was said so far becomes the conversation of LlamaIndex's `session_id`, each
    message once; the results of tools too, and for a picture "[image]". What leaves the short-term memory unread is
    kept then. A question is answered with what the user's whole memory knows, whatever the session.

    Attributes:
        memory: an open memory, asynchronous or blocking, or a path or URL.
        tokens: the most that the block may take, counted with LlamaIndex's own tokenizer.
        options: further arguments of `Memory.context`, such as `min_confidence` or `topics`.
        name: the block's name in the prompt.
        keep: whether messages are kept as they are read; otherwise only those that leave the short-term memory.
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
    keep: bool = True
    _told: "_Conversations" = PrivateAttr(default_factory=OrderedDict)
    _kept: "_Conversations" = PrivateAttr(default_factory=OrderedDict)

    def model_post_init(self, context: Any, /) -> None:
        super().model_post_init(context)
        behind(self.memory, "llama_index")  # now, so that what is no memory is no surprise in a turn

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        said = _plain(messages or ())
        if len(said) > 1 and said[-1] == said[-2]:  # LlamaIndex adds its `input` to a history that may end with it
            said = said[:-1]
        session = block_kwargs.get("session_id")
        told = await self._tell(said, self.tokens)
        if self.keep and session is not None:
            await keep_turn(behind(self.memory, "llama_index"), said, session=session, roles=_ROLES)
            _hold(self._kept, session, [*said])
        return told

    async def put(self, messages: Iterable[ChatMessage], session: str) -> None:
        """Keep messages that a `MemoristChatMemory` was given, after those that it was given or read before."""
        if self.keep and (said := _plain(messages)):
            before = self._kept.get(session, [])
            await keep_turn(
                behind(self.memory, "llama_index"), [*before[-_OVERLAP:], *said], session=session, roles=_ROLES
            )
            _hold(self._kept, session, [*before, *said])

    async def _aput(self, messages: list[ChatMessage]) -> None:
        memory = behind(self.memory, "llama_index")
        by_session: dict[str | None, list[ChatMessage]] = {}
        for message in messages:
            by_session.setdefault(message.additional_kwargs.get("session_id"), []).append(message)
        for session, said in by_session.items():
            kept, new = self._kept.get(session or "", []), _plain(said)
            while kept and new and kept[0] == new[0]:  # what leaves is the oldest of what `_aget` was given
                del kept[0], new[0]
            await after_turn(memory, new, session=session, roles=_ROLES)

    async def atruncate(self, content: str, tokens_to_truncate: int) -> str | None:
        """Return the best memories that fit into that many tokens fewer; None if too few tokens are left."""
        asked = self._told.get(content) if content else None  # LlamaIndex gives a list where nothing was told
        if asked is None or (left := self._count(content) - tokens_to_truncate) < LEAST_TOKENS:
            return None
        return await self._tell(asked, left) or None

    async def _tell(self, asked: list[dict[str, str]], tokens: int) -> str:
        memory = behind(self.memory, "llama_index")
        told = await before_turn(memory, asked, tokens=tokens, count_tokens=self._count, **self.options)
        _hold(self._told, told.text, asked)  # for atruncate, which is given the text alone
        return told.text

    def _count(self, text: str) -> int:
        return len(self.tokenizer_fn(text))


class MemoristChatMemory(Memory):
    """LlamaIndex's `Memory`, whose blocks of ours keep each message as it is put: the last answer too, at once.

    ```python
    chat = MemoristChatMemory.from_defaults(session_id="monday", memory_blocks=[block])
    ```
    """

    async def aput(self, message: ChatMessage) -> None:
        """Add a message to the chat store, and keep it."""
        await super().aput(message)
        await self._keep([message])

    async def aput_messages(self, messages: list[ChatMessage]) -> None:
        """Add messages to the chat store, and keep them."""
        await super().aput_messages(messages)
        await self._keep(messages)

    async def _keep(self, messages: list[ChatMessage]) -> None:
        for block in self.memory_blocks:
            if isinstance(block, MemoristMemoryBlock):
                await block.put(messages, self.session_id)


def _hold(conversations: _Conversations, name: str, said: list[dict[str, str]]) -> None:
    conversations[name] = said
    conversations.move_to_end(name)
    while len(conversations) > _REMEMBERED:
        conversations.popitem(last=False)


def _text(message: ChatMessage) -> str:
    """Return what a message says; of one that only shows something, what it shows."""
    shown = [f"[{each.block_type}]" for each in message.blocks if each.block_type in _SHOWN]
    return message.content or " ".join(shown)


def _plain(messages: Iterable[ChatMessage]) -> list[dict[str, str]]:
    said = ((message.role.value, _text(message)) for message in messages)
    return [{"role": role, "content": text} for role, text in said if text and text.strip()]
