"""Docstrings as texts of the program: the help of a command, what a model is told of a tool, a server's description."""

import ast
import inspect
import sys
import textwrap
from typing import Any, TypeVar

_Described = TypeVar("_Described")


def docstring_of(described: Any) -> str:
    """Return the docstring of a function or a class without its indentation, "" where there is none.

    Python drops docstrings under ``-OO`` (PYTHONOPTIMIZE=2). There it is read from the source.
    """
    found = inspect.getdoc(described) or ""
    if sys.flags.optimize < 2:
        return found
    try:
        source = textwrap.dedent(inspect.getsource(described))
        module = compile(source, "<source>", "exec", flags=ast.PyCF_ONLY_AST, dont_inherit=True, optimize=0)
        return ast.get_docstring(module.body[0]) or found  # type: ignore[attr-defined]
    except (OSError, SyntaxError, TypeError):  # there is no source
        return found


def with_docstring(described: _Described) -> _Described:
    """Return the function or class, with its docstring where other packages look for one, under ``-OO`` too."""
    if sys.flags.optimize >= 2:
        described.__doc__ = docstring_of(described)
    return described
