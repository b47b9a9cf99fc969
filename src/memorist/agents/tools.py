"""Tools for a model to call: declared as typed functions with docstrings, checked, and never raising."""

import inspect
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

from memorist.agents.parameters import as_declared, check_value, schema_of, types_of
from memorist.errors import InvalidInputError, WaitingError
from memorist.operations.arguments import unknown_arguments
from memorist.system.docstrings import docstring_of, read_docstring

ToolFunction: TypeAlias = Callable[..., Any] | Callable[..., Awaitable[Any]]

_SCOPE_NAMES = frozenset(
    {
        "user", "user_id", "userid", "user_name", "username", "owner", "owner_id", "tenant", "tenant_id",
        "scope", "memory_scope", "workspace_id", "for_user", "on_behalf_of",
    }
)  # fmt: skip
"""Arguments that name a scope, which a model never chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a tool call: its data, or with `success` False what went wrong.

    Args:
        success: whether the tool did what it should.
        data: what it returned.
        error: what went wrong, for the model.
        exception: what was raised, for the program; not in `to_dict`.
    """

    success: bool
    data: Any = None
    error: str | None = None
    exception: Exception | None = field(default=None, compare=False, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return {"success": self.success, "data": self.data, "error": self.error}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSchema:
    """What a model is told of a tool.

    Args:
        name: the tool's name.
        description: what it does and when to use it.
        parameters: a JSON schema of its arguments, an object.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]

    @classmethod
    def of(
        cls,
        function: ToolFunction,
        *,
        name: str | None = None,
        description: str | None = None,
        arguments: Mapping[str, str] | None = None,
    ) -> "ToolSchema":
        """Return the schema of a function: names and types from its signature, texts from its docstring.

        Args:
            function: blocking or async; its docstring says what it does and, under ``Args:``, what each
                argument is.
            name: instead of the function's own.
            description: instead of the docstring's.
            arguments: a text for each argument, instead of the docstring's.

        Raises:
            InvalidInputError: it is not a function, or an argument has no type or no text, is positional only, or
                names a user.
        """
        types = types_of(function)
        called = name or function.__name__
        summary, texts = read_docstring(docstring_of(function))
        texts |= arguments or {}
        properties: dict[str, Any] = {}
        required: list[str] = []
        for argument in _arguments(function):
            named = f"the argument {argument.name!r} of the tool {called!r}"
            if argument.name in _SCOPE_NAMES:
                raise InvalidInputError(
                    f"the tool {called!r} takes {argument.name!r}: a tool may not take a user id; use "
                    "memory.scoped(user=…)"
                )
            if argument.kind is inspect.Parameter.POSITIONAL_ONLY:
                raise InvalidInputError(f"{named} cannot be passed by name")
            if argument.name not in types or not texts.get(argument.name):
                raise InvalidInputError(f"{named} needs a type annotation and a description")
            schema = schema_of(types[argument.name]) | {"description": texts[argument.name]}
            if argument.default is inspect.Parameter.empty:
                required.append(argument.name)
            elif argument.default is not None:
                default = argument.default
                schema["default"] = default.value if isinstance(default, Enum) else default
            properties[argument.name] = schema
        parameters: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            parameters["required"] = required
        return cls(name=called, description=description or summary, parameters=parameters)

    @property
    def openai(self) -> dict[str, Any]:
        """The schema in the form of OpenAI's "function" tools, which most chat models' servers take."""
        return {"type": "function", "function": self.plain}

    @property
    def responses(self) -> dict[str, Any]:
        """The schema in the form of OpenAI's Responses API."""
        return {"type": "function", **self.plain}

    @property
    def anthropic(self) -> dict[str, Any]:
        """The schema in the form of Anthropic's tools."""
        return {"name": self.name, "description": self.description, "input_schema": dict(self.parameters)}

    @property
    def plain(self) -> dict[str, Any]:
        """The schema as name, description and parameters."""
        return {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}


def _arguments(function: ToolFunction) -> list[inspect.Parameter]:
    collecting = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [each for each in inspect.signature(function).parameters.values() if each.kind not in collecting]


@dataclass(frozen=True, slots=True)
class _Tool:
    schema: ToolSchema
    function: ToolFunction
    types: Mapping[str, Any]


@dataclass(slots=True)
class Toolbox:
    """Tools by name, and a model's calls of them.

    ```python
    def memory_tools(memory: Memory) -> Toolbox:
        async def save_memory(content: str) -> dict[str, str]:
            '''Save something worth remembering.

            Args:
                content: what to remember, in a sentence that can be understood alone.
            '''
            return {"saved_id": (await memory.notes.add(content, author="assistant")).id}

        return Toolbox([save_memory])
    ```

    A tool works in the scope of the `Memory` that its function was made with. An argument that names a user is
    dropped.
    """

    functions: Iterable[ToolFunction]
    _tools: dict[str, _Tool] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._tools = {}
        for function in self.functions:
            self.add(function)

    def add(
        self,
        function: ToolFunction,
        *,
        name: str | None = None,
        description: str | None = None,
        arguments: Mapping[str, str] | None = None,
    ) -> ToolSchema:
        """Add a tool; arguments and errors as in `ToolSchema.of`. A name that is taken is an error too."""
        schema = ToolSchema.of(function, name=name, description=description, arguments=arguments)
        if schema.name in self._tools:
            raise InvalidInputError(f"a tool {schema.name!r} is already registered")
        self._tools[schema.name] = _Tool(schema, function, types_of(function))
        return schema

    @property
    def schemas(self) -> list[ToolSchema]:
        """The schemas of all tools, in the order they were added."""
        return [tool.schema for tool in self._tools.values()]

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    async def call(self, name: str, arguments: Mapping[str, Any] | str | None = None) -> ToolResult:
        """Carry out a call that a model asked for. Nothing is raised.

        Args:
            name: the tool's name.
            arguments: by name, or as the text of a JSON object.

        Returns:
            What the function returned; or, with `success` False, the error: no such tool, an argument that is
            missing, unknown or of the wrong type, or an exception of the function. Where what is asked for waits for
            the user's yes, a text that says so.
        """
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            known = ", ".join(self._tools) or "none"
            return ToolResult(success=False, error=f"there is no tool {name!r}; available: {known}")
        try:
            given = _checked(tool, _as_mapping(arguments))
            outcome = tool.function(**given)
            data = await outcome if inspect.isawaitable(outcome) else outcome
        except WaitingError as waiting:
            return ToolResult(success=True, data=str(waiting), exception=waiting)
        except Exception as error:  # whatever the tool does, the agent's turn goes on and is told
            return ToolResult(success=False, error=str(error) or type(error).__name__, exception=error)
        return data if isinstance(data, ToolResult) else ToolResult(success=True, data=data)


def _as_mapping(arguments: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments) if arguments.strip() else {}
        except ValueError as error:
            raise InvalidInputError(f"the arguments are not JSON: {error}") from error
    if arguments is None:
        return {}
    if not isinstance(arguments, Mapping):
        raise InvalidInputError(f"the arguments must be an object, not {type(arguments).__name__}")
    return arguments


def _checked(tool: _Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    schema = tool.schema
    properties: Mapping[str, Mapping[str, Any]] = schema.parameters["properties"]
    required = schema.parameters.get("required", ())
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in properties:
            if str(name).lower() in _SCOPE_NAMES:
                continue
            unknown_arguments(schema.name, [name], properties)
        if value is None and name not in required:
            continue  # how many models leave an argument out
        given[name] = as_declared(check_value(name, value, properties[name]), tool.types[name])
    missing = [name for name in required if name not in given]
    if missing:
        raise InvalidInputError(f"{schema.name} needs the argument{'s' * (len(missing) > 1)} {', '.join(missing)}")
    return given
