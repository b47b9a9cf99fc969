"""mem0's interface on this engine: the same calls, the same answers, one file, and no other package needed.

```python
from memorist.adapters.mem0 import Memory      # was: from mem0 import Memory

memory = Memory()
memory.add("Prefers homestays when she travels", user_id="alice")
memory.search("where does she like to stay?", filters={"user_id": "alice"})
```
"""

from memorist.adapters.mem0.blocking import Memory
from memorist.adapters.mem0.checks import MemoryNotFoundError, ValidationError
from memorist.adapters.mem0.memory import AsyncMemory

__all__ = ["AsyncMemory", "Memory", "MemoryNotFoundError", "ValidationError"]
