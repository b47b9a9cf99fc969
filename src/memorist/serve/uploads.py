"""The files that browsers gave to this process: they have no names, and go with whoever they are about."""

import os
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from memorist.memory import Memory
from memorist.scope import Wall

_BEFORE = "memorist-import-"
"""How folders of uploads began while they had names."""
_OLD = 3600.0


class Upload(Protocol):
    """Files given for a memory."""

    memory: Memory

    def discard(self) -> None:
        """Stop what is under way, and let the files go."""


_here: weakref.WeakSet[Upload] = weakref.WeakSet()


def noted(upload: Upload) -> None:
    """Remember an upload as long as it is there."""
    _here.add(upload)


def forget(wall: Wall) -> None:
    """Let go of all uploads that may hold something of a user, who was purged."""
    for upload in list(_here):
        scope = upload.memory.scope
        if scope.tenant == wall.tenant and scope.user in (None, wall.user):
            upload.discard()


def sweep() -> None:
    """Remove the folders of uploads that servers of an earlier version left behind when they were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_BEFORE}*"):
        with suppress(OSError):
            found = folder.lstat()
            ours = not hasattr(os, "getuid") or found.st_uid == os.getuid()
            if ours and folder.is_dir() and not folder.is_symlink() and time.time() - found.st_mtime > _OLD:
                shutil.rmtree(folder)
