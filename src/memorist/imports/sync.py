"""The blocking twin of `memorist.imports.load`, for the blocking memory of `memorist.sync`.

```python
from memorist.imports.sync import load
from memorist.sync import Memory

with Memory.open("agent.db", user="anna") as memory:
    print(load(memory, "chatgpt-export.zip").added)
```
"""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from memorist import imports
from memorist.twin import blocking

__all__ = ["load"]

_T = TypeVar("_T")


def _in_memory(function: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
    """Return the blocking twin of a function that takes a memory; the types cannot express that its memory blocks."""
    return blocking(function)


load = _in_memory(imports.load)
