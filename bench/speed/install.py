"""What it takes to install and import Memorist: seconds, packages, megabytes.

    python bench/speed/install.py [WHEEL]

Without a wheel only the import of the package that this Python sees is timed, each time in a new process. With one
(`pip wheel --no-deps .`) it is installed by pip, with what it depends on, into a new environment, and that is weighed
and timed. pip and setuptools, which an environment brings along, do not count.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import common

TIMES = 7


def seconds(python: str, statement: str) -> float:
    """Median time of a statement in a new process, less that of a process that does nothing."""

    def once(code: str) -> float:
        start = time.perf_counter()
        subprocess.run([python, "-c", code], check=True)
        return time.perf_counter() - start

    once(statement)
    return max(statistics.median(once(statement) - once("pass") for _ in range(TIMES)), 0.0)


def installed(wheel: Path, folder: Path) -> tuple[str, dict[str, Any]]:
    """Install a wheel into a new environment; return its Python and what came."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
    [site] = {Path(each) for each in _run(python, "import site; print(*site.getsitepackages()[:1])").split()}
    before = _size(site)
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel.resolve()], check=True)
    listed = subprocess.run([python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True)
    names = {each["name"] for each in json.loads(listed.stdout)} - {"pip", "setuptools"}
    return python, {"packages": len(names), "MB": (_size(site) - before) / 1e6}


def _run(python: str, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout


def _size(folder: Path) -> int:
    """Bytes of the files as they were installed, without compiled caches."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file() and each.suffix != ".pyc")


def main() -> None:
    parser = common.parser(__doc__)
    parser.add_argument("wheel", type=Path, nargs="?")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        python, row = (sys.executable, {}) if given.wheel is None else installed(given.wheel, Path(folder))
        row["import memorist, s"] = seconds(python, "import memorist")
        row["ready to open, s"] = seconds(python, "import memorist.memory, memorist.stores.sqlite")
    common.report([row], given.out)


if __name__ == "__main__":
    main()
