"""Pydantic AI: a capability that recalls and keeps, the harness's memory files, and stored conversations."""

from typing import TYPE_CHECKING

from memorist.adapters.lazy import lazy_names

if TYPE_CHECKING:
    from memorist.adapters.pydantic_ai.capability import MemoristCapability
    from memorist.adapters.pydantic_ai.conversations import MemoristConversationStore
    from memorist.adapters.pydantic_ai.files import MemoristMemoryStore

__all__ = ["MemoristCapability", "MemoristConversationStore", "MemoristMemoryStore"]

_MODULES = {
    "MemoristCapability": "capability",
    "MemoristConversationStore": "conversations",
    "MemoristMemoryStore": "files",
}
_EXTRAS = {"pydantic_ai": "pydantic-ai", "pydantic_ai_harness": "pydantic-ai-harness"}
__getattr__ = lazy_names(__name__, _MODULES, extras=_EXTRAS)
