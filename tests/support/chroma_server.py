"""A real `chroma run` server for tests, on a port of its own."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memorist.errors import StoreUnavailableError
from memorist.indexes import open_index
from ports import free_port

__all__ = ["running_server"]


@contextmanager
def running_server(folder: Path, port: int | None = None) -> Iterator[str]:
    """Run a server on `folder`, and yield its URL once it answers."""
    port = port or free_port()
    beside = Path(sys.executable).with_name("chroma")
    command = str(beside) if beside.exists() else shutil.which("chroma") or "chroma"
    server = subprocess.Popen(
        [command, "run", "--path", str(folder), "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(1200):
            try:
                index = open_index(f"chroma://127.0.0.1:{port}")
                index.open()
                index.close()
                break
            except StoreUnavailableError:
                try:
                    server.wait(0.1)
                except subprocess.TimeoutExpired:
                    continue
                raise
        yield f"chroma://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(120)
