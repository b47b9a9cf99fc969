"""`memorist.agents`, blocking, for the blocking memory of `memorist.sync`.

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

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from memorist import agents
from memorist.agents.tools import ToolFunction, ToolSchema
from memorist.blocking_client import BlockingClient, blocking_in_memory, blocking_method
from memorist.sync import Memory


class Toolbox(BlockingClient, of=agents.Toolbox):  # noqa: D101  # it has the text of its original
    if TYPE_CHECKING:
        schemas: list[ToolSchema]

        def add(self, function: ToolFunction, **given: Any) -> ToolSchema: ...

        call = blocking_method(agents.Toolbox.call)


def memory_tools(memory: Memory, *, only: Collection[str] | None = None) -> Toolbox:
    """Return the ready tools of a memory; see `memorist.agents.memory_tools`."""
    client: Any = memory
    return Toolbox(agents.memory_tools(client._async, only=only))


after_turn = blocking_in_memory(agents.after_turn)
before_turn = blocking_in_memory(agents.before_turn)
