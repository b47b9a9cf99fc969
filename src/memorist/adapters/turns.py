"""What the adapters do around a turn of an agent: whose memory is meant, what is kept, and how a tool is answered."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from memorist.agents import Toolbox, after_turn
from memorist.errors import EmbedderError, InvalidInputError, StoreError
from memorist.memory import Memory

_T = TypeVar("_T")

log = logging.getLogger("memorist.adapters")


def of_user(memory: Memory, user: Callable[[_T], str | None] | None, context: _T) -> Memory:
    """Return the memory of the user whom `user` names for a framework's context; without `user`, `memory` itself.

    Raises:
        InvalidInputError: `user` returned None.
    """
    if user is None:
        return memory
    name = user(context)
    if name is None:
        raise InvalidInputError("`user` returned no name; omit `user` to use the shared memory")
    return memory.scoped(user=name)


async def keep_turn(memory: Memory, messages: Iterable[Any], **options: Any) -> None:
    """Store what was said, as `after_turn` does; when the store or the embedder fails, log it."""
    try:
        await after_turn(memory, messages, **options)
    except (StoreError, EmbedderError) as error:
        log.warning("memory failed, so this turn was not stored: %s", error)


async def answer(tools: Toolbox, name: str, arguments: Mapping[str, Any] | str) -> tuple[bool, str]:
    """Return whether a call succeeded, and the text for the model: the result as JSON, or the error."""
    result = await tools.call(name, arguments)
    if not result.success:
        return False, f"error: {result.error}"
    return True, result.data if isinstance(result.data, str) else json.dumps(result.data, ensure_ascii=False)
