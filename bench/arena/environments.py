"""An environment for each system, of the packages in `locks/`, whose hashes are checked as they are installed."""

import hashlib
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from systems_of import ALWAYS, System

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


class Environment:
    """A system's environment in a folder of work, made if it is not there.

    Attributes:
        python: its Python.
        seconds: what installing took.
    """

    def __init__(self, system: System, work: Path, *, here: bool = False, cached: bool = True) -> None:
        self.system, self.python, self.seconds = system, sys.executable, 0.0
        self._alone = not here and bool(system.packages)
        self._name = ALWAYS if ALWAYS in system.packages else system.name
        self._folder = work / "envs" / self._name
        if not self._alone:
            return
        self.python = str(self._folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python"))
        done = self._folder / "arena-made-of.json"
        made_of = {"packages": self.versions(), "lock": self._pins()}
        if not done.exists() or (kept := json.loads(done.read_text()))["made_of"] != made_of:
            kept = {"made_of": made_of, "seconds": self._make(work, cached)}
            done.write_text(json.dumps(kept), encoding="utf-8")
        self.seconds = kept["seconds"]

    def _pins(self) -> str:
        pins = HERE / "locks" / f"{self._name}.txt"
        return pins.read_text(encoding="utf-8") if pins.exists() else ""

    def _make(self, work: Path, cached: bool) -> float:
        """Install the packages; return how long that took, without finding out which they are."""
        _uv("venv", "-q", "--clear", "-p", sys.executable, str(self._folder))
        ours = self._name == ALWAYS
        wanted = work / f"{self._name}.in"
        wanted.write_text("\n".join(self.system.packages), encoding="utf-8")
        source = ROOT / "pyproject.toml" if ours else wanted
        locked = work / f"{self._name}.locked.txt"
        pins = HERE / "locks" / f"{self._name}.txt"
        given = ["-c", str(pins)] if pins.exists() else []
        _uv("pip", "compile", "-q", "--generate-hashes", "-p", self.python, str(source), *given, "-o", str(locked))
        start = time.perf_counter()
        into = ("-q", "-p", self.python, *(() if cached else ("--no-cache",)))
        _uv("pip", "install", *into, "--require-hashes", "-r", str(locked))
        if ours:
            _uv("pip", "install", *into, "--no-deps", str(ROOT))
        return time.perf_counter() - start

    def versions(self) -> list[str]:
        """Return the versions of the system's own packages."""
        if self._name == ALWAYS:
            return [_sources()]
        return list(self.system.packages)

    def weight(self) -> dict[str, Any]:
        """Return how many packages there are, and their megabytes; 0 where nothing was installed for it alone."""
        if not self._alone:
            return {"packages": 0, "MB": 0.0}
        [site] = [each for each in self._folder.rglob("site-packages") if each.is_dir()][:1]
        files = [each for each in site.rglob("*") if each.is_file() and each.suffix != ".pyc"]
        return {"packages": len(list(site.glob("*.dist-info"))), "MB": sum(each.stat().st_size for each in files) / 1e6}


def _uv(*arguments: str) -> None:
    try:
        from uv import find_uv_bin
    except ImportError as error:
        raise SystemExit("environments are made with uv: pip install '.[bench]'") from error
    subprocess.run([find_uv_bin(), *arguments], check=True, capture_output=True, text=True)


def _sources() -> str:
    """Return what Memorist's sources are, committed or not."""
    files = sorted((ROOT / "src" / ALWAYS).rglob("*.py"))
    return f"{ALWAYS}@{hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:16]}"
