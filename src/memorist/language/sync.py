"""`memorist.language`, blocking: the same steps, for the blocking memory of `memorist.sync`.

```python
from memorist.language.sync import Digest, keep_facts
from memorist.sync import Memory

with Memory.open("agent.db") as memory:
    keep_facts(memory, "I moved to Oslo last week", model="ollama:qwen3")
    print(Digest(memory, "ollama:qwen3").run().left)
```

Everything else, such as `open_chat_model` and the classes of the results, is in `memorist.language`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from memorist import language
from memorist import memory as asynchronous
from memorist.blocking_client import BlockingClient, blocking, blocking_in_memory
from memorist.language.models import ChatModelSpec
from memorist.sync import Memory

__all__ = [
    "Digest",
    "draw_experiences",
    "extract_facts",
    "keep_experiences",
    "keep_facts",
    "keep_guidelines",
    "reconcile",
    "reflect",
    "rewrite_question",
    "summarize",
    "write_guidelines",
]


class Digest(BlockingClient, of=language.Digest):  # noqa: D101  # it has the text of its original
    if TYPE_CHECKING:

        def __init__(
            self,
            memory: Memory | asynchronous.Memory,
            model: ChatModelSpec | None,
            *,
            prompts: language.Prompts | None = None,
            batch: int = ...,
            concurrency: int = ...,
            nearest: int = ...,
            again: bool = False,
        ) -> None: ...
        def pending(self) -> int: ...
        def run(self, progress: Callable[[int, int], None] | None = None) -> language.DigestReport: ...


draw_experiences = blocking(language.draw_experiences)
extract_facts = blocking(language.extract_facts)
keep_experiences = blocking_in_memory(language.keep_experiences)
keep_facts = blocking_in_memory(language.keep_facts)
keep_guidelines = blocking_in_memory(language.keep_guidelines)
reconcile = blocking_in_memory(language.reconcile)
reflect = blocking(language.reflect)
rewrite_question = blocking(language.rewrite_question)
summarize = blocking(language.summarize)
write_guidelines = blocking(language.write_guidelines)
