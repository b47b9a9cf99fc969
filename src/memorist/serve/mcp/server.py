"""The server: answers the SDK's requests from the memory in the caller's scope."""

import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from typing import Any, TypeVar

from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    CompleteRequestParams,
    CompleteResult,
    Completion,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    ResourceTemplateReference,
    TextContent,
    Tool,
    ToolAnnotations,
)

from memorist import __version__
from memorist.agents.tools import Toolbox, ToolSchema
from memorist.arguments import unknown_arguments
from memorist.engine.traced import Call, Telemetry, Watch
from memorist.errors import InvalidInputError, MemoristError, NotFoundError, ScopeError
from memorist.serve.auth import Right
from memorist.serve.mcp import resources
from memorist.serve.mcp.access import Access
from memorist.serve.mcp.calls import ObservedCalls
from memorist.serve.mcp.core import CORE_INSTRUCTIONS, ToolSet, call_core_tool, core_tools
from memorist.serve.mcp.prompt import INSTRUCTIONS, PROMPT, prompt_of
from memorist.serve.mcp.tools import TOOLS, MemoryTools

__all__ = ["AccessOf", "create_server"]

log = logging.getLogger("memorist.serve")

Context = ServerRequestContext[Any, Any]
AccessOf = Callable[[Context], Access]
_T = TypeVar("_T")
_P = TypeVar("_P")

_FAILED = "the server failed; its log says more"


def create_server(
    access: Access | AccessOf,
    *,
    tools: ToolSet = "all",
    telemetry: Telemetry | None = None,
    ended: Callable[[Call], None] | None = None,
) -> Server[Any]:
    """Return an MCP server, to be run on a transport of the SDK.

    Args:
        access: the memory and the right; one for all requests, or a function that returns it for each.
        tools: which tools are offered: "core", the five that a model needs, or "all".
        telemetry: gets the spans; by default OpenTelemetry with the program's own providers.
        ended: called with each call of a verb that has ended, to be counted.
    """
    telemetry = telemetry or Telemetry()
    watch = Watch(telemetry, ended)

    def find(context: Context) -> Access:
        found = access(context) if callable(access) else access
        return replace(found, memory=found.memory.traced(watch))

    def answering(answer: Callable[[Access, _P], Awaitable[_T]]) -> Callable[[Context, _P], Awaitable[_T]]:
        @wraps(answer)
        async def handle(context: Context, params: _P) -> _T:
            try:
                return await answer(find(context), params)
            except MCPError:
                raise
            except Exception as error:
                raise _as_protocol_error(error) from None

        return handle

    core = tools == "core"
    prompts: dict[str, Any] = {} if core else {
        "on_list_prompts": answering(_list_prompts), "on_get_prompt": answering(_get_prompt)
    }  # fmt: skip
    server: Server[Any] = Server(
        "memorist",
        title="Memorist",
        version=__version__,
        description="Long-term memory for LLM agents",
        instructions=CORE_INSTRUCTIONS if core else INSTRUCTIONS,
        on_list_tools=answering(_list_core_tools if core else _list_tools),
        on_call_tool=answering(_call_core_tool if core else _call_tool),
        on_list_resources=answering(_list_resources),
        on_list_resource_templates=answering(_list_resource_templates),
        on_read_resource=answering(_read_resource),
        on_completion=answering(_complete),
        **prompts,
    )
    server.middleware[:] = [ObservedCalls(telemetry)]
    return server


# --- tools -------------------------------------------------------------------------------------------


async def _list_tools(access: Access, params: PaginatedRequestParams | None) -> ListToolsResult:
    tools = MemoryTools(access.memory)
    return ListToolsResult(
        tools=[_tool(tools, name) for name, spec in TOOLS.items() if access.right.includes(spec.right)]
    )


async def _list_core_tools(access: Access, params: PaginatedRequestParams | None) -> ListToolsResult:
    return ListToolsResult(tools=core_tools(access))


async def _call_core_tool(access: Access, params: CallToolRequestParams) -> CallToolResult:
    return await call_core_tool(access, params)


def _tool(tools: MemoryTools, name: str) -> Tool:
    spec, schema = TOOLS[name], ToolSchema.of(getattr(tools, name))
    return Tool(
        name=name,
        title=spec.title,
        description=schema.description,
        input_schema=dict(schema.parameters),
        output_schema=dict(spec.output),
        annotations=ToolAnnotations(
            title=spec.title,
            read_only_hint=spec.right == Right.READ,
            destructive_hint=spec.destructive,
            idempotent_hint=spec.idempotent,
            open_world_hint=False,
        ),
    )


async def _call_tool(access: Access, params: CallToolRequestParams) -> CallToolResult:
    spec = TOOLS.get(params.name)
    if spec is None:
        raise MCPError(INVALID_PARAMS, f"there is no tool {params.name!r}; there are: {', '.join(TOOLS)}")
    try:
        access.check(params.name, spec.right)
    except ScopeError as error:
        return _failed(str(error))
    toolbox = Toolbox([_told(getattr(MemoryTools(access.memory), params.name))])
    try:
        unknown_arguments(params.name, params.arguments or {}, toolbox.schemas[0].parameters["properties"])
    except InvalidInputError as error:
        return _failed(str(error))
    result = await toolbox.call(params.name, params.arguments)
    if not result.success:
        return _failed(result.error or _FAILED)
    text = json.dumps(result.data, ensure_ascii=False)
    return CallToolResult(content=[TextContent(text=text)], structured_content=result.data)


def _told(tool: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Return a tool that reports only expected errors to its caller."""

    @wraps(tool)
    async def call(**arguments: Any) -> Any:
        try:
            return await tool(**arguments)
        except MemoristError:
            raise
        except Exception as error:
            _report(error)
            raise MemoristError(_FAILED) from None

    return call


def _failed(reason: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=reason)], is_error=True)


# --- resources ---------------------------------------------------------------------------------------


async def _list_resources(access: Access, params: PaginatedRequestParams | None) -> ListResourcesResult:
    return await resources.list_resources(access.memory, params.cursor if params else None)


async def _list_resource_templates(
    access: Access, params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=[resources.TEMPLATE])


async def _read_resource(access: Access, params: ReadResourceRequestParams) -> ReadResourceResult:
    return await resources.read_resource(access.memory, str(params.uri))


async def _complete(access: Access, params: CompleteRequestParams) -> CompleteResult:
    of_topics = (
        isinstance(params.ref, ResourceTemplateReference)
        and params.ref.uri == resources.TEMPLATE.uri_template
        and params.argument.name == "name"
    )
    if not of_topics:
        return CompleteResult(completion=Completion(values=[]))
    return CompleteResult(completion=await resources.completed(access.memory, params.argument.value))


# --- the prompt --------------------------------------------------------------------------------------


async def _list_prompts(access: Access, params: PaginatedRequestParams | None) -> ListPromptsResult:
    return ListPromptsResult(prompts=[PROMPT])


async def _get_prompt(access: Access, params: GetPromptRequestParams) -> GetPromptResult:
    if params.name != PROMPT.name:
        raise NotFoundError(f"there is no prompt {params.name!r}; there is {PROMPT.name}")
    return prompt_of()


# --- what goes wrong ---------------------------------------------------------------------------------


def _as_protocol_error(error: Exception) -> MCPError:
    if isinstance(error, InvalidInputError | NotFoundError | ScopeError):
        return MCPError(INVALID_PARAMS, str(error))
    if isinstance(error, MemoristError):
        return MCPError(INTERNAL_ERROR, str(error))
    _report(error)
    return MCPError(INTERNAL_ERROR, _FAILED)


def _report(error: Exception) -> None:
    """Log where an unexpected error was raised, but not its message, which may quote a memory's text."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("%s\n%s", type(error).__name__, frames)
