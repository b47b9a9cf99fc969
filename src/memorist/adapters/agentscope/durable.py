"""The short-term memory of an agent on disk: the messages of one session, and a summary of the oldest."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from memorist.adapters.agentscope.buffer import Buffer, Held, state_of
from memorist.adapters.agentscope.messages import read_state
from memorist.adapters.agentscope.models import as_chat_model
from memorist.adapters.agentscope.reading import blocks_of, said, searchable, words_of
from memorist.adapters.agentscope.types import Msg
from memorist.adapters.entries import KeyValue
from memorist.adapters.opening import AnyMemory, behind
from memorist.blocking_client import run
from memorist.kinds import Message, estimate_tokens
from memorist.language import summarize
from memorist.operations.arguments import whole
from memorist.records.origins import Author, joined
from memorist.system.locks import Lock

SUMMARISED = "summarised"
"""The mark of messages that are part of the summary."""


class DurableMemory(Buffer):
    """Keeps the messages of one session on disk, with the interface of `InMemoryMemory`.

    With a budget of tokens, the oldest messages are summarised when the budget is exceeded, until the others take
    half of it. Summarised messages stay on disk with the mark "summarised", and are returned where it is asked for.
    What is added is on disk when the call returns.

    ```python
    memory = DurableMemory(opened.scoped(user="alice", session="monday"), tokens=8000, model=chat_model)
    agent = ReActAgent(..., memory=memory)
    ```

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL.
        session: the conversation; by default the memory's own.
        tokens: the most tokens of all messages together; by default there is no limit.
        model: a chat model of this project or of AgentScope, which writes the summary; see
            `memorist.language.summarize` for the summary without one.
        count_tokens: returns how many tokens a text has; by default a quarter of its characters.

    Raises:
        InvalidInputError: the memory has no session, or the budget is not a positive number.
    """

    _hidden = SUMMARISED

    def __init__(
        self,
        memory: AnyMemory,
        *,
        session: str | None = None,
        tokens: int | None = None,
        model: Any = None,
        count_tokens: Callable[[str], int] = estimate_tokens,
    ) -> None:
        super().__init__()
        if tokens is not None:
            whole("tokens", tokens, 1)
        self._memory = memory = behind(memory, "agentscope").scoped(session=session)
        self._talk = self._memory.conversation()
        self._values = KeyValue(self._memory, "agentscope")
        self._labels = (memory.scope.agent or "", memory.scope.session or "")
        self._tokens = tokens
        self._model = as_chat_model(model)
        self._count_tokens = count_tokens
        self._summarising = Lock()

    async def size(self) -> int:
        """Return how many messages there are, summarised ones included."""
        return await self._talk.size()

    async def clear(self) -> None:
        """Delete every message and the summary."""
        await self._talk.clear()
        await self.update_compressed_summary("")

    async def update_compressed_summary(self, summary: str) -> None:
        """Set the summary of the messages that were removed."""
        if summary:
            held = joined(each.handle.record.origin.authors for each in await self._held())
            author = (held | Author.ASSISTANT) & ~Author.OPERATOR
            await self._values.put("summary", *self._labels, value=summary, author=author)
        else:
            await self._values.delete("summary", *self._labels)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as `InMemoryMemory` does. Blocks while it reads the disk."""

        async def read() -> dict[str, Any]:
            return state_of(await self._held(), await self._summary())

        return run(read)

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Replace all messages by those of a state. Blocks; they are on disk when this returns.

        Raises:
            KeyError: it has no "content", and `strict`; nothing was changed.
        """
        if (state := read_state(state_dict, strict)) is not None:
            run(lambda: self._restore(*state))

    # --- messages on disk ------------------------------------------------------------------------------

    async def _summary(self) -> str:
        return str(await self._values.get("summary", *self._labels) or "")

    async def _held(self) -> list[Held]:
        # Each read makes its messages anew, out of the store's JSON: a caller who changes one changes no other.
        return [
            Held(Msg.from_dict(dict(each.data or {})), list(each.metadata.get("marks", ())), each)
            for each in await self._talk.all()
        ]

    async def _add(self, messages: list[Msg], marks: list[str], allow_duplicates: bool) -> None:
        await self._talk.append([_stored(each, marks) for each in messages], allow_duplicates=allow_duplicates)
        async with self._summarising:  # each summary goes on from the one before
            await self._summarise()

    async def _drop(self, chosen: Sequence[Held]) -> int:
        return await self._talk.delete(*(each.handle.record.id for each in chosen)) if chosen else 0

    async def _set_marks(self, held: Held, marks: list[str]) -> None:
        await self._memory.revise(held.handle.record.id, metadata={"marks": marks})

    async def _restore(self, messages: list[Msg], marks: dict[str, list[str]], summary: str) -> None:
        stored = [_stored(each, marks.get(each.id, [])).to_dict() for each in messages]
        await self._talk.restore({"version": 1, "messages": stored})
        await self.update_compressed_summary(summary)

    # --- the budget ------------------------------------------------------------------------------------

    async def _summarise(self) -> None:
        """Summarise the oldest messages if all together exceed the budget."""
        if self._tokens is None:
            return
        found = [each for each in await self._held() if SUMMARISED not in each.marks]
        old = found[: self._cut(found)]
        if not old:
            return
        try:
            summary = await self._summary_of(old)
        except Exception as error:  # the edge to the model: the messages stay, and are tried again
            warnings.warn(f"Error summarising messages: {error}", stacklevel=3)
            return
        await self.update_compressed_summary(summary)
        for each in old:
            await self._set_marks(each, [*each.marks, SUMMARISED])

    def _cut(self, messages: list[Held]) -> int:
        """Return how many of the oldest messages to summarise."""
        sizes = [self._count_tokens(words_of(each.message)) for each in messages]
        if sum(sizes) <= (self._tokens or 0):
            return 0
        cut, left = 0, sum(sizes)
        while cut < len(messages) - 1 and (left > (self._tokens or 0) // 2 or _answers(messages[cut].message)):
            left -= sizes[cut]
            cut += 1
        return cut

    async def _summary_of(self, messages: list[Held]) -> str:
        """Return the summary so far with these messages in it."""
        spoken = [
            {"role": each.role, "name": each.name, "content": text, "happened_at": each.happened_at}
            for message, _, each in messages
            if (text := said(message) or words_of(message))
        ]
        previous = await self._summary()
        done = await summarize(
            spoken, model=self._model, previous=previous, keep_tokens=0, count_tokens=self._count_tokens
        )
        return done.text


def _stored(message: Msg, marks: list[str]) -> Message:
    return Message(
        content=searchable(message),  # the data holds the whole message
        role=message.role,
        name=message.name if message.name.strip() else None,
        id=message.id,
        metadata={"marks": marks} if marks else {},
        data=message.to_dict(),
        author=Author.TOOL if _answers(message) else None,  # AgentScope gives them the role "system"
    )


def _answers(message: Msg) -> bool:
    """Whether a message has results of tool calls; no model takes them without the calls before them."""
    return any(block.get("type") == "tool_result" for block in blocks_of(message))
