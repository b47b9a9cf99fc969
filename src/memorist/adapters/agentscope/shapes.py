"""`Msg`, `ToolResponse` and `StateModule` as AgentScope 1.x has them, for where it is not installed."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

Block = dict[str, Any]
"""A part of a message: text, thinking, tool_use, tool_result, image, audio or video, by its `type`."""

_ROLES = ("user", "assistant", "system")


def _timestamp() -> str:
    return datetime.now().strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


class Msg:
    """What someone said.

    Args:
        name: the speaker's.
        content: a text, or a list of blocks.
        role: "user", "assistant" or "system".
        metadata: the caller's own fields; {} where there are none.
        timestamp: when it was said, local time to the millisecond; by default now.
    """

    def __init__(
        self,
        name: str,
        content: str | Sequence[Block],
        role: str,
        metadata: dict[str, Any] | None = None,
        timestamp: str | None = None,
    ) -> None:
        if not isinstance(content, str | list):
            raise AssertionError(f"The content must be a string or a list of blocks, but got {type(content)}.")
        if role not in _ROLES:
            raise AssertionError(f"The role must be one of {', '.join(_ROLES)}, but got {role!r}.")
        self.name = name
        self.content = content
        self.role = role
        self.metadata = metadata or {}
        self.id = uuid.uuid4().hex[:22]
        self.timestamp = timestamp or _timestamp()

    def to_dict(self) -> dict[str, Any]:
        """Return its fields as plain values; `from_dict` turns them back into the same message."""
        return {name: getattr(self, name) for name in ("id", "name", "role", "content", "metadata", "timestamp")}

    @classmethod
    def from_dict(cls, json_data: Mapping[str, Any]) -> "Msg":
        """Return the message that `to_dict` described, its id included."""
        optional = {name: json_data.get(name) for name in ("metadata", "timestamp")}
        message = cls(json_data["name"], json_data["content"], json_data["role"], **optional)
        message.id = json_data.get("id", message.id)
        return message

    def get_text_content(self, separator: str = "\n") -> str | None:
        """Return the text, or the text blocks joined by `separator`; None where there is none."""
        if isinstance(self.content, str):
            return self.content
        texts = [block["text"] for block in self.content if block.get("type") == "text"]
        return separator.join(texts) if texts else None

    def get_content_blocks(self, block_type: str | list[str] | None = None) -> list[Block]:
        """Return the blocks of this type, or of these; all by default. A text is one text block."""
        blocks = [{"type": "text", "text": self.content}] if isinstance(self.content, str) else list(self.content)
        wanted = [block_type] if isinstance(block_type, str) else block_type
        return blocks if wanted is None else [block for block in blocks if block["type"] in wanted]

    def has_content_blocks(self, block_type: str | list[str] | None = None) -> bool:
        """Return whether there is a block of this type."""
        return bool(self.get_content_blocks(block_type))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"Msg({fields})"


@dataclass
class ToolResponse:
    """What a tool function returns: blocks, and what its caller may want to know besides."""

    content: list[Any]
    metadata: dict[str, Any] | None = None
    stream: bool = False
    is_last: bool = True
    is_interrupted: bool = False
    id: str = field(default_factory=lambda: f"{_timestamp()}_{uuid.uuid4().hex[:6]}")


class StateModule:
    """Something whose state can be saved: its attributes named by `register_state`, and the modules in it."""

    def __init__(self) -> None:
        self._registered: dict[str, tuple[Callable[[Any], Any] | None, Callable[[Any], Any] | None]] = {}

    def register_state(
        self,
        attr_name: str,
        custom_to_json: Callable[[Any], Any] | None = None,
        custom_from_json: Callable[[Any], Any] | None = None,
    ) -> None:
        """Make an attribute part of the state; two functions convert a value that is not JSON to JSON and back."""
        getattr(self, attr_name)
        self._registered[attr_name] = (custom_to_json, custom_from_json)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as plain values."""
        state: dict[str, Any] = {name: module.state_dict() for name, module in self._modules().items()}
        for name, (to_json, _) in self._registered.items():
            value = getattr(self, name)
            state[name] = deepcopy(value) if to_json is None else to_json(value)
        return state

    def load_state_dict(self, state_dict: dict[str, Any], strict: bool = True) -> None:
        """Take over a state.

        Args:
            state_dict: what `state_dict` returned; it is not changed.
            strict: refuse a state that lacks something; otherwise what is missing stays as it is.

        Raises:
            KeyError: something is missing; nothing was changed.
        """
        modules = self._modules()
        missing = [name for name in (*modules, *self._registered) if name not in state_dict]
        if missing and strict:
            raise KeyError(f"Key '{missing[0]}' not found in state_dict.")
        for name, module in modules.items():
            if name in state_dict:
                module.load_state_dict(state_dict[name], strict)
        for name, (_, from_json) in self._registered.items():
            if name in state_dict:
                value = deepcopy(state_dict[name])
                setattr(self, name, value if from_json is None else from_json(value))

    def _modules(self) -> dict[str, "StateModule"]:
        return {name: value for name, value in vars(self).items() if isinstance(value, StateModule)}


class MemoryShape(StateModule):
    """Where AgentScope's own buffer class would stand."""


class LongTermMemoryShape(StateModule):
    """Where AgentScope's own long-term memory class would stand."""
