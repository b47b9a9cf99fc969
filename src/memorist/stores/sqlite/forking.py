"""What a fork does to open databases: the child inherits SQLite's notes of the locks, but not the locks.

If the child opened the same file with these notes, it would not lock it. So it first closes what it inherited. That
needs the mutexes of SQLite: a fork waits until no thread works in SQLite, and blocks new work until it is done.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from weakref import WeakSet

import apsw

from memorist.errors import ClosedError

_PATIENCE = 10.0
"""Seconds that a fork waits for what is under way; a rewrite of a large file takes longer."""

connections: "WeakSet[apsw.Connection]" = WeakSet()
"""The connections of this process to files."""


class _Gate:
    """Counts the threads that are at work in SQLite."""

    def __init__(self, *, useless: bool = False) -> None:
        self.turn = threading.Condition()
        self.inside = 0
        self.forking = False
        self.useless = useless
        """Whether this process was forked in the middle of something, so that its copy of SQLite may hang."""

    def close(self) -> None:
        self.turn.acquire()
        self.forking = True
        self.turn.wait_for(lambda: self.inside == 0, _PATIENCE)

    def open(self) -> None:
        self.forking = False
        self.turn.notify_all()
        self.turn.release()


_gate = _Gate()


@contextmanager
def operation() -> Iterator[None]:
    """Work in SQLite inside this; not within another one of the same thread.

    Raises:
        ClosedError: this process was forked in the middle of an operation.
    """
    gate = _gate
    with gate.turn:
        if gate.useless:
            raise ClosedError(
                "this process was forked while a memory was in use; start processes with the `spawn` method"
            )
        while gate.forking:
            gate.turn.wait()
        gate.inside += 1
    try:
        yield
    finally:
        with gate.turn:
            gate.inside -= 1
            gate.turn.notify_all()


def _start_anew() -> None:
    global _gate
    _gate = _Gate(useless=_gate.useless or _gate.inside > 0)
    if _gate.useless:
        return
    for connection in list(connections):
        with suppress(apsw.Error):  # the log belongs to the parent
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close(True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=lambda: _gate.close(), after_in_parent=lambda: _gate.open(), after_in_child=_start_anew)
