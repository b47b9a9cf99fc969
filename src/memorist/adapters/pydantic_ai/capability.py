"""A capability of Pydantic AI: recalls before a run, keeps what was said after it, and offers tools."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextContent, TextPart, UserPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import FunctionToolset

from memorist.adapters.opening import behind
from memorist.adapters.turns import keep_turn, of_user
from memorist.agents import ToolSchema, before_turn, memory_tools
from memorist.context import Context
from memorist.memory import Memory


@dataclass
class MemoristCapability(AbstractCapability[Any]):
    """Tells an agent what the memory knows of a prompt, and keeps what was said.

    ```python
    remembering = MemoristCapability(memory, user=lambda ctx: ctx.deps.user)
    agent = Agent(model, deps_type=Deps, capabilities=[remembering])
    ```

    The context is put before the run's prompt in each request of the run. It is part of the user's message, not of the
    instructions, and never enters the message history. Messages are kept as the conversation of the run's
    `conversation_id`, each once. Where the store or the embedder fails, the run goes on without, and that is
    logged.

    Args:
        memory: an open memory, asynchronous or blocking, or a path or URL.
        user: returns the user for a run's context; by default the user of the memory's scope.
        tokens: the most tokens of the recalled context.
        keep: whether messages are stored.
        tools: the memory's ready tools that the agent gets: all, none, or those named.
        options: further arguments of `Memory.context`, such as `min_confidence` or `topics`.

    Raises (from a run):
        InvalidInputError: `user` returned no user, or an argument is wrong.
    """

    memory: Any
    user: Callable[[RunContext[Any]], str | None] | None = None
    tokens: int = field(default=600, kw_only=True)
    keep: bool = field(default=True, kw_only=True)
    tools: bool | frozenset[str] = field(default=False, kw_only=True)
    options: dict[str, Any] = field(default_factory=dict, kw_only=True)
    _told: Context | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        behind(self.memory, "pydantic_ai")  # now, so that what is no memory is no surprise in a run

    async def for_run(self, ctx: RunContext[Any]) -> "MemoristCapability":
        """Return this capability for one run."""
        return replace(self)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Put the context before the prompt, in this request alone."""
        messages = request_context.messages
        if self._told is None:
            said = _plain(messages)
            self._told = await before_turn(self._scoped(ctx), said, tokens=self.tokens, **self.options)
            if self.keep and self._told.error is None:  # now, so that it is kept of a run that is killed, too
                await keep_turn(self._scoped(ctx), said, session=ctx.conversation_id)
        position = next((n for n in range(len(messages) - 1, -1, -1) if _is_prompt(messages[n])), None)
        if not self._told.text or position is None:
            return request_context
        prompt = messages[position]
        part = UserPromptPart([TextContent(self._told.text)])
        changed = replace(prompt, parts=[part, *prompt.parts])  # type: ignore[arg-type, unused-ignore]
        return replace(request_context, messages=[*messages[:position], changed, *messages[position + 1 :]])

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Keep what was said."""
        if self.keep:
            said = _plain(result.all_messages())
            await keep_turn(self._scoped(ctx), said, session=ctx.conversation_id, told=self._told)
        return result

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the memory's tools, or None if the agent gets none."""
        if not self.tools:
            return None
        only = None if self.tools is True else self.tools
        return FunctionToolset(
            [self._tool(schema) for schema in memory_tools(behind(self.memory, "pydantic_ai"), only=only).schemas]
        )

    def _tool(self, schema: ToolSchema) -> Tool[Any]:
        async def call(ctx: RunContext[Any], **arguments: Any) -> Any:
            result = await memory_tools(self._scoped(ctx)).call(schema.name, arguments)
            if not result.success:
                raise ToolFailed(result.error)
            return result.data

        return Tool.from_schema(call, schema.name, schema.description, dict(schema.parameters), takes_ctx=True)

    def _scoped(self, ctx: RunContext[Any]) -> Memory:
        return of_user(behind(self.memory, "pydantic_ai"), self.user, ctx)


def _is_prompt(message: ModelMessage) -> bool:
    return isinstance(message, ModelRequest) and any(isinstance(part, UserPromptPart) for part in message.parts)


def _plain(messages: list[ModelMessage]) -> list[dict[str, str]]:
    """Return what user and model said, without tools, thinking and media."""
    said: list[dict[str, str]] = []
    for message in messages:
        role = "assistant" if isinstance(message, ModelResponse) else "user"
        texts = [text for part in message.parts for text in _texts(part)]
        if any(text.strip() for text in texts):
            said.append({"role": role, "content": "\n".join(texts)})
    return said


def _texts(part: Any) -> list[str]:
    if isinstance(part, TextPart):
        return [part.content]
    if not isinstance(part, UserPromptPart):
        return []
    items = [part.content] if isinstance(part.content, str) else part.content
    return [item if isinstance(item, str) else item.content for item in items if isinstance(item, str | TextContent)]
