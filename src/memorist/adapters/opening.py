"""A memory where an adapter is given the place of one: opened once for each place and process, and shared."""

import os
import threading
from os import PathLike
from pathlib import Path
from typing import TypeAlias, TypeGuard

from memorist.blocking_client import BlockingClient, asynchronous, run
from memorist.errors import InvalidInputError, shown
from memorist.memory import Memory

AnyMemory: TypeAlias = Memory | BlockingClient | str | PathLike[str]
"""What an adapter takes for a memory: an open one, asynchronous or blocking, which its caller closes; or its place, as
`Memory.open` or (``http://…``) `Memory.connect` takes it.

What is opened at a place is open until the process ends or `close_opened` is called: adapters at one place share it,
and none knows when the last one is done."""

_SERVERS = ("http://", "https://")
_opened: dict[tuple[int, str], Memory] = {}
_opening = threading.Lock()


def behind(memory: AnyMemory, door: str) -> Memory:
    """Return the asynchronous memory of an adapter, through its door.

    Args:
        memory: an open memory, asynchronous or blocking, or the place of one.
        door: the adapter's name.

    Raises:
        InvalidInputError: it is neither.
        StoreError, EmbedderError: there is no memory to be opened at the place.
    """
    found = memory_at(memory) if is_place(memory) else asynchronous(memory)
    if not isinstance(found, Memory):
        raise InvalidInputError(
            f"pass an open Memory of `memorist` or `memorist.sync`, or the path or URL of one, not {shown(memory)}"
        )
    return found.through(door)


def is_place(memory: object) -> TypeGuard[str | PathLike[str]]:
    """Return whether this is the place of a memory: a path or a URL."""
    return isinstance(memory, str | PathLike)


def memory_at(place: str | PathLike[str] | None) -> Memory:
    """Return the memory at a path or a URL, which is opened at the first call; None is the user's own database."""
    name = "" if place is None else os.fspath(place)
    if name and "://" not in name and ":memory:" not in name and not name.startswith("sqlite:"):
        name = str(Path(name).expanduser().resolve())
    key = os.getpid(), name  # a process that was forked opens its own
    with _opening:
        if key not in _opened:
            made = Memory.connect(name) if name.startswith(_SERVERS) else Memory.open(name or None)
            _opened[key] = run(made.__aenter__)
        return _opened[key]


def close_opened() -> None:
    """Close what adapters opened at a path or URL; they cannot be used any more. The next one opens it anew."""
    with _opening:
        own = [key for key in _opened if key[0] == os.getpid()]
        memories = [_opened.pop(key) for key in own]
    for memory in memories:
        run(memory.close)
