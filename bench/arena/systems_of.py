"""The systems that are compared: each is one file, read without being run, since only its environment can run it."""

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "systems"
ALWAYS = "memorist"
"""What the others are compared with."""


@dataclass(frozen=True)
class System:
    """A file with `PACKAGES` and a class `Memory`; what else it may say is in README.md."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.path.read_text(encoding="utf-8"))

    def _constant(self, name: str, default: Any) -> Any:
        for each in self._tree.body:
            if isinstance(each, ast.Assign) and any(isinstance(to, ast.Name) and to.id == name for to in each.targets):
                return ast.literal_eval(each.value)
        return default

    @property
    def title(self) -> str:
        return (ast.get_docstring(self._tree) or self.name).splitlines()[0]

    @property
    def packages(self) -> tuple[str, ...]:
        return tuple(self._constant("PACKAGES", ()))

    @property
    def wants(self) -> str:
        """What its own default needs and cannot be had here; empty if nothing."""
        return str(self._constant("WANTS", ""))

    @property
    def variants(self) -> tuple[str, ...]:
        """`own` for its documented default, `ours` with our embedder."""
        return ("own",) * (not self.wants) + ("ours",) * bool(self._constant("EMBEDS", True))

    @property
    def keeps(self) -> bool:
        """Whether it keeps anything on disk."""
        return bool(self._constant("KEEPS", True))

    @property
    def lists(self) -> bool:
        return "ids" in self._methods

    @property
    def deletes(self) -> bool:
        return self.lists and "delete" in self._methods

    @cached_property
    def _methods(self) -> set[str]:
        classes = (each for each in self._tree.body if isinstance(each, ast.ClassDef) and each.name == "Memory")
        return {each.name for one in classes for each in one.body if isinstance(each, ast.FunctionDef)}

    @cached_property
    def digest(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()[:16]


def systems(names: Sequence[str] | None) -> list[System]:
    """Return the systems that are named, or all; the first is always Memorist."""
    paths = [_path(name) for name in names] if names else sorted(FOLDER.glob("*.py"))
    return [System(path) for path in dict.fromkeys([FOLDER / f"{ALWAYS}.py", *paths])]


def _path(name: str) -> Path:
    path = Path(name).resolve() if name.endswith(".py") else FOLDER / f"{name}.py"
    if not path.is_file():
        known = ", ".join(sorted(each.stem for each in FOLDER.glob("*.py")))
        raise SystemExit(f"there is no system {name}; there are {known}, and any FILE.py of yours")
    return path
