"""A command under the system calls that a systemd unit allows: `python seccomp.py UNIT COMMAND…`.

The filter is made as systemd makes it: of what `SystemCallFilter` lists, with the sets of the installed systemd.
"""

import ctypes
import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from ctypes.util import find_library
from pathlib import Path
from shutil import which

_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
MISSING = which("systemd-analyze") is None or find_library("seccomp") is None


def calls_of(names: str) -> Iterator[str]:
    """Yield the system calls that names of calls and of sets stand for."""
    for name in names.split():
        if not name.startswith("@"):
            yield name
            continue
        listed = subprocess.run(["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True)
        inner = [line.strip() for line in listed.stdout.splitlines()[1:]]
        yield from calls_of(" ".join(each for each in inner if not each.startswith("#")))


def limit(unit: Path) -> None:
    """Allow this process, for good, only what a unit allows."""
    settings = [line.partition("=")[::2] for line in unit.read_text(encoding="utf-8").splitlines()]
    allowed = set[str]()
    for value in [value for name, value in settings if name == "SystemCallFilter"]:
        change = allowed.difference_update if value.startswith("~") else allowed.update
        change(calls_of(value.removeprefix("~")))
    denied = _KILL
    for value in [value for name, value in settings if name == "SystemCallErrorNumber"]:
        denied = _ERRNO | getattr(errno, value)
    library = ctypes.CDLL(find_library("seccomp"), use_errno=True)
    library.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(library.seccomp_init(ctypes.c_uint32(denied)))
    for name in sorted(allowed):
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number >= 0:  # the others are of other machines
            assert library.seccomp_rule_add(context, ctypes.c_uint32(_ALLOW), number, 0) == 0, name
    assert library.seccomp_load(context) == 0


if __name__ == "__main__":
    limit(Path(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
