"""The blocking twin of `memorist.imports.load`, for the blocking memory of `memorist.sync`.

```python
from memorist.imports.sync import load
from memorist.sync import Memory

with Memory.open("agent.db", user="anna") as memory:
    print(load(memory, "chatgpt-export.zip").added)
```
"""

from collections.abc import Callable

from memorist import imports
from memorist.twin import blocking

__all__ = ["load"]

load: Callable[..., imports.ImportReport] = blocking(imports.load)
"""The types cannot express that its memory blocks."""
