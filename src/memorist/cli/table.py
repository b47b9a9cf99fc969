"""Which module of this package holds which command: it is imported when the command is first run."""

import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import CodeType
from typing import TYPE_CHECKING, cast

import click

if TYPE_CHECKING:
    from importlib.abc import InspectLoader

_MODULES: Mapping[str, str] = {
    "demo": "demo",
    "writing": "remember revise forget purge rate",
    "reading": "recall context recent browse get count history changes why",
    "inbox": "inbox",
    "importing": "import imports load",
    "files": "export",
    "digest": "digest",
    "upkeep": "backup reindex",
    "checking": "stats users doctor",
    "eval": "eval",
    "traces": "traces",
    "settings": "config",
    "migration": "migrate",
    "bundle": "bundle",
    "bus": "local2",
    "serve": "serve",
    "mcp": "mcp",
    "project": "project",
    "tidy": "tidy",
    "installing.commands": "install uninstall hook",
    "topics": "topics",
    "token": "token",
    "key": "key",
    "audit": "audit",
    "receipt": "receipt",
    "retention": "retention",
    "secrets": "secrets",
    "training": "mango",
}
_MODULE_OF = {name: f"memorist.cli.{module}" for module, names in _MODULES.items() for name in names.split()}


class Commands(Mapping[str, click.Command]):
    """The commands by name, in the order of the help. Each function has its command's name, with a trailing underscore
    for a keyword or a builtin."""

    def __getitem__(self, name: str) -> click.Command:
        module = import_module(_MODULE_OF[name])
        found: click.Command = getattr(module, name, None) or getattr(module, f"{name}_")
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_MODULE_OF)

    def __len__(self) -> int:
        return len(_MODULE_OF)

    def help_of(self, name: str) -> str:
        """Return the help of a command: its docstring, read from the compiled module without running the module.

        Raises:
            KeyError: there is no such command.
        """
        spec = find_spec(_MODULE_OF[name])
        assert spec is not None
        loader = cast("InspectLoader", spec.loader)
        code = loader.get_code(spec.name)
        if sys.flags.optimize > 1:  # without docstrings
            source = loader.get_source(spec.name) or ""
            code = compile(source, spec.origin or "", "exec", dont_inherit=True, optimize=0)
        assert code is not None
        found = (each for each in code.co_consts if isinstance(each, CodeType) and each.co_name.rstrip("_") == name)
        return inspect.cleandoc(next(found).co_consts[0])
