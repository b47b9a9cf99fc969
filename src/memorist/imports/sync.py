"""The blocking versions of `memorist.imports.load` and `export`, for the blocking memory of `memorist.sync`.

```python
from memorist.imports.sync import load
from memorist.sync import Memory

with Memory.open("agent.db", user="anna") as memory:
    print(load(memory, "chatgpt-export.zip").added)
```
"""

from memorist import imports
from memorist.blocking_client import blocking_in_memory

__all__ = ["export", "load"]

export = blocking_in_memory(imports.export)
load = blocking_in_memory(imports.load)
