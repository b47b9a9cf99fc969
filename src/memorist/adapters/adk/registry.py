"""The services by URL, for ADK's command line and its ``services.yaml``."""

from typing import Any

from memorist.adapters.adk.memory import MemoristMemoryService
from memorist.adapters.adk.sessions import MemoristSessionService
from memorist.adapters.opening import memory_at
from memorist.memory import Memory

_SCHEME = "memorist"


def register() -> None:
    """Register both services for ``memorist:`` URLs with ADK; call it in ADK's ``services.py``."""
    from google.adk.cli.service_registry import get_service_registry

    registry = get_service_registry()
    registry.register_memory_service(_SCHEME, memory_service)
    registry.register_session_service(_SCHEME, session_service)


def memory_service(uri: str, **kwargs: Any) -> MemoristMemoryService:
    """Return a memory service at a URL.

    Args:
        uri: ``memorist:`` and what `Memory.open` takes (a file, ``postgresql://…``), a server's
            ``http://…``, or nothing for the user's own database.
        **kwargs: further arguments of ADK, without effect.
    """
    return MemoristMemoryService(_opened(uri))


def session_service(uri: str, **kwargs: Any) -> MemoristSessionService:
    """Return a session service at a URL, as `memory_service`; at the same URL both share one memory."""
    return MemoristSessionService(_opened(uri))


def _opened(uri: str) -> Memory:
    """Return the memory at a URL, open until the process ends."""
    url = uri.removeprefix(f"{_SCHEME}:")
    if url.startswith("///"):
        url = url[2:]  # as in other URLs of files
    return memory_at(url or None)
