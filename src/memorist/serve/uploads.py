"""The files that browsers gave to this process: they have no names, and are removed with their user."""

import os
import shutil
import tempfile
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from memorist.memory import Memory
from memorist.records.scope import Wall

_BEFORE = "memorist-import-"
"""The prefix of upload folders, from versions in which uploads had names."""
_OLD = 3600.0


class Upload(Protocol):
    """Files given for a memory."""

    memory: Memory

    def discard(self) -> None:
        """Stop the running work, and release the files."""


_here: weakref.WeakSet[Upload] = weakref.WeakSet()


def noted(upload: Upload) -> None:
    """Keep track of an upload until it is removed."""
    _here.add(upload)


def forget(wall: Wall) -> None:
    """Discard all uploads that may hold data of a purged user."""
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
