"""The servers that run on this machine: each leaves a file that says where, for programs of the same user.

Only the standard library's smallest modules are imported here, not even pathlib: a hook that finds a server has 40 ms.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from memorist.system.handles import read_file
from memorist.system.platforms import lives, state_folder


@contextmanager
def announced(url: str, db: str, *, default: bool) -> Iterator[None]:
    """Announce a server of this process to programs of the same user, until the block ends.

    Only this user can read the file. Where it cannot be written, the server runs without being found.

    Args:
        url: where it answers without a token.
        db: the store it serves.
        default: whether that is the store of a command that names none.
    """
    folder = os.path.join(state_folder(), "servers")
    file = os.path.join(folder, f"{os.getpid()}.json")
    with suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with open(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as out:
            json.dump({"url": url, "db": _named(db), "default": default}, out)
    try:
        yield
    finally:
        with suppress(OSError):
            os.unlink(file)


def running(db: str | None) -> str | None:
    """Return the URL of a server that runs on this machine, or None.

    Args:
        db: the store it must serve; None for the default one.
    """
    folder = os.path.join(state_folder(), "servers")
    with suppress(OSError):
        for name in os.listdir(folder):
            with suppress(OSError, ValueError, KeyError, TypeError):
                if not lives(int(name.removesuffix(".json"))):
                    continue
                told = json.loads(read_file(os.path.join(folder, name)))
                if told["default"] is True if db is None else told["db"] == _named(db):
                    return str(told["url"])
    return None


def _named(db: str) -> str:
    """Return one name for a store, however its file is written."""
    path = db.removeprefix("sqlite:")
    return db if "://" in path or path == ":memory:" else os.path.realpath(os.path.expanduser(path))
