"""Agent Framework's long-term memory, its conversation history, and the memory's tools in its form."""

from collections.abc import Callable, Collection, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from agent_framework import AgentSession, ContextProvider, FunctionTool, HistoryProvider, Message, SessionContext

from memorist import agents
from memorist.adapters.entries import SessionEntries, SessionEntry
from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.turns import answer, keep_turn, of_user
from memorist.agents import before_turn
from memorist.errors import InvalidInputError
from memorist.records.record import make_id


class MemoristContextProvider(ContextProvider):
    """Tells an agent what it needs before a run, and keeps what was said after it.

    ```python
    agent = Agent(client=client, context_providers=[MemoristContextProvider(memory.scoped(user="alice"))])
    ```

    The recalled text names the sessions that it comes from. Where the store or the embedder fails, the run goes on
    without, and that is logged.

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL.
        source_id: names the provider among those of an agent.
        user: returns the user of a session, where the memory is everyone's.
        tokens: the most tokens of the recalled context.
        min_confidence: as in `Memory.context`.
        keep: whether what was said is stored.

    Raises (from a run):
        InvalidInputError: `user` returned no user.
    """

    def __init__(
        self,
        memory: AnyMemory,
        source_id: str = "memorist",
        *,
        user: Callable[[AgentSession], str | None] | None = None,
        tokens: int = 600,
        min_confidence: float | None = None,
        keep: bool = True,
    ) -> None:
        super().__init__(source_id)
        self._memory = behind(memory, "agent_framework")
        self._user = user
        self._options: dict[str, Any] = {"tokens": tokens, "min_confidence": min_confidence}
        self._keep = keep
        self._asked: WeakKeyDictionary[SessionContext, list[dict[str, Any]]] = WeakKeyDictionary()

    async def before_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Add what was recalled for the input, if anything, as a message of the user, and keep the input.

        Texts that earlier providers added, such as the session's history, are not repeated.
        """
        memory = of_user(self._memory, self._user, session)
        said = context.get_messages(exclude_sources={self.source_id}, include_input=True)
        told = await before_turn(memory, _plain(said), **self._options)
        if self._keep and told.error is None:  # now, so that it is kept of a run that is killed, too
            asked = [{**each, "id": each["id"] or f"turn-{make_id()}"} for each in _plain(context.input_messages)]
            await keep_turn(memory, asked, session=session.session_id)
            self._asked[context] = asked
        if told.text:
            sessions = [item.record.scope.session for item in told.items]
            origins = sorted({name for name in sessions if name is not None} - {session.session_id})
            context.extend_messages(self, [Message("user", [told.text])], origin_session_ids=origins)

    async def after_run(
        self, *, agent: Any, session: AgentSession, context: SessionContext, state: dict[str, Any]
    ) -> None:
        """Keep the input and the answer, each once, under the session."""
        if self._keep:
            asked = self._asked.pop(context, None) or _plain(context.input_messages)
            said = [*asked, *_plain(context.response.messages if context.response else ())]
            await keep_turn(of_user(self._memory, self._user, session), said, session=session.session_id)


def _plain(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the texts of messages, with who said them."""
    return [
        {"role": each.role, "content": each.text, "id": each.message_id, "name": each.author_name}
        for each in messages
        if each.text.strip()
    ]


class MemoristHistoryProvider(HistoryProvider):
    """Keeps the messages of each session whole and in order; recall does not find them.

    ```python
    agent = Agent(client=client, context_providers=[MemoristHistoryProvider(memory.scoped(user="alice"))])
    ```

    Args:
        memory: an open memory, asynchronous or blocking, which is not closed here, or a path or URL.
        source_id: names the provider among those of an agent; each keeps a history of its own.
        limit: the most messages that a run is given, the newest; by default all.
        **options: as in Agent Framework's `HistoryProvider`.
    """

    def __init__(
        self, memory: AnyMemory, source_id: str = "memorist_history", *, limit: int | None = None, **options: Any
    ) -> None:
        super().__init__(source_id, **options)
        self._memory = behind(memory, "agent_framework")
        self._limit = limit

    async def get_messages(
        self, session_id: str | None, *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> list[Message]:
        """Return the messages of a session, oldest first."""
        return [Message.from_dict(each) for each in await self._entries(session_id).newest(self._limit)]

    async def save_messages(
        self, session_id: str | None, messages: Sequence[Message], *, state: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        """Add messages to a session: all of them or none.

        Raises:
            InvalidInputError: a message cannot be written as JSON.
        """
        await self._entries(session_id).append([SessionEntry(each.to_dict()) for each in messages])

    async def clear(self, session_id: str) -> int:
        """Remove every message of a session, and return how many there were."""
        return await self._entries(session_id).clear()

    def _entries(self, session_id: str | None) -> SessionEntries:
        if session_id is None:
            raise InvalidInputError("history needs a session; pass one to the run: agent.create_session()")
        return SessionEntries(self._memory.scoped(session=session_id), f"agent_framework/{self.source_id}")


def memory_tools(memory: AnyMemory, *, only: Collection[str] | None = None) -> list[FunctionTool]:
    """Return tools with which a model searches and changes the memory; see `memorist.agents.memory_tools`.

    Args:
        memory: what they read and write; a model cannot name another scope.
        only: the names of the tools wanted; by default all.
    """
    box = agents.memory_tools(behind(memory, "agent_framework"), only=only)

    def made(schema: agents.ToolSchema) -> FunctionTool:
        async def call(**arguments: Any) -> str:
            return (await answer(box, schema.name, arguments))[1]

        return FunctionTool(
            name=schema.name, description=schema.description, func=call, input_model=dict(schema.parameters)
        )

    return [made(schema) for schema in box.schemas]
