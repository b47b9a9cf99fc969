"""A model's call of one of `memorist.agents.memory_tools`, answered as a framework hands it on: with a text."""

import json
from collections.abc import Mapping
from typing import Any

from memorist.agents import Toolbox


async def answer(tools: Toolbox, name: str, arguments: Mapping[str, Any] | str) -> tuple[bool, str]:
    """Return whether a call succeeded, and the text for the model: the result as JSON, or the error."""
    result = await tools.call(name, arguments)
    if not result.success:
        return False, f"error: {result.error}"
    return True, result.data if isinstance(result.data, str) else json.dumps(result.data, ensure_ascii=False)
