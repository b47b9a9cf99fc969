"""Agent Framework's long-term memory."""

from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from agent_framework import AgentSession, ContextProvider, Message, SessionContext

from memorist.adapters.turns import behind, keep_turn, of_user
from memorist.agents import before_turn
from memorist.memory import Memory
from memorist.records.record import make_id
from memorist.twin import Twin


class MemoristContextProvider(ContextProvider):
    """Tells an agent what it needs before a run, and keeps what was said after it.

    ```python
    agent = Agent(client=client, context_providers=[MemoristContextProvider(memory.scoped(user="alice"))])
    ```

    The recalled text names the sessions that it comes from. Where the store or the embedder fails, the run goes on
    without, and that is logged.

    Args:
        memory: an open memory, asynchronous or blocking; it is not closed here.
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
        memory: Memory | Twin,
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
