"""A memory on a server, with the names of one in this process: ``Memory.connect("http://…")``."""

from memorist.remote.memory import RemoteMemory

__all__ = ["RemoteMemory"]
