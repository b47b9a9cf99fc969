"""The blocking twin of `memorist.agents`, for the blocking memory of `memorist.sync`.

```python
from memorist.agents.sync import after_turn, before_turn, memory_tools
from memorist.sync import Memory

with Memory.open("agent.db", user="alice", session="monday") as memory:
    told = before_turn(memory, messages)
    ...
    after_turn(memory, messages)
```

What makes no calls, such as `read_messages` and `frame`, is in `memorist.agents`.
"""

from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from memorist import agents
from memorist.agents.tools import ToolFunction, ToolSchema
from memorist.sync import Memory
from memorist.twin import Twin, blocking, blocking_method

__all__ = ["Toolbox", "after_turn", "before_turn", "memory_tools"]

_T = TypeVar("_T")


def _in_memory(function: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
    """Return the twin of a function that takes a memory; a type checker cannot put the blocking one in its place."""
    return blocking(function)


class Toolbox(Twin, of=agents.Toolbox):  # noqa: D101  # it has the text of its original
    if TYPE_CHECKING:
        schemas: list[ToolSchema]

        def add(self, function: ToolFunction, **given: Any) -> ToolSchema: ...

        call = blocking_method(agents.Toolbox.call)


def memory_tools(memory: Memory, *, only: Collection[str] | None = None) -> Toolbox:
    """Return the ready tools of a memory; see `memorist.agents.memory_tools`."""
    twin: Any = memory
    return Toolbox(agents.memory_tools(twin._async, only=only))


after_turn = _in_memory(agents.after_turn)
before_turn = _in_memory(agents.before_turn)
