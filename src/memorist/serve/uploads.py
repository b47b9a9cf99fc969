"""The files that browsers gave to this process: they have no names, and are removed with their user."""

import weakref
from typing import Protocol

from memorist.memory import Memory
from memorist.records.scope import Wall


class Upload(Protocol):
    """Files given for a memory."""

    memory: Memory

    def discard(self) -> None:
        """Stop the running work, and release the files."""


uploads: weakref.WeakSet[Upload] = weakref.WeakSet()
"""Those that are not removed yet."""


def forget(wall: Wall) -> None:
    """Discard all uploads that may hold data of a purged user."""
    for upload in list(uploads):
        scope = upload.memory.scope
        if scope.tenant == wall.tenant and scope.user in (None, wall.user):
            upload.discard()
