"""Which module of this package holds which command: it is imported when the command is first looked up."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer

__all__ = ["Commands", "new_typer"]

_MODULES: Mapping[str, str] = {
    "demo": "demo",
    "writing": "remember revise forget purge rate",
    "reading": "recall context recent browse get count history",
    "importing": "import",
    "files": "load export",
    "digest": "digest",
    "upkeep": "backup reindex",
    "checking": "stats doctor",
    "eval": "eval",
    "settings": "config",
    "migration": "migrate",
    "bus": "local2",
    "serve": "serve",
    "mcp": "mcp",
    "installing.commands": "install uninstall hook",
    "topics": "topics",
    "token": "token",
    "training": "mango",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


class Commands(Mapping[str, Any]):
    """The commands by name, in the order of the help."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            module = import_module(f"memorist.cli.{_MODULE_OF[name]}")
            part = new_typer()
            part.callback()(lambda: None)  # so that one command alone makes a group too
            module.register(part)
            self._loaded.update(typer.main.get_group(part).commands)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULE_OF)

    def __len__(self) -> int:
        return len(_MODULE_OF)


def new_typer(**settings: Any) -> typer.Typer:
    """Return an empty `Typer` whose commands look like all commands of this program."""
    return typer.Typer(rich_markup_mode="markdown", pretty_exceptions_enable=False, **settings)
