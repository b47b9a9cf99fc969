"""Docstrings as texts of the program: the help of a command, what a model is told of a tool, a server's description."""

import ast
import inspect
import re
import sys
import textwrap
from typing import Any, TypeVar

_Described = TypeVar("_Described")

_SECTION = re.compile(r"(Args|Arguments|Parameters|Returns?|Raises|Yields?|Examples?|Notes?)(?: \(.*\))?:\s*$")
_ARGUMENT = re.compile(r"(\s*)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")


def docstring_of(described: Any) -> str:
    """Return the docstring of a function or a class without its indentation, "" where there is none.

    Python drops docstrings under ``-OO`` (PYTHONOPTIMIZE=2). There it is read from the source. What has a ``__text__``
    was made while the program runs, and that is its docstring.
    """
    if (text := getattr(described, "__text__", None)) is not None:
        return str(text)
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


def read_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Return the description of a function and of each of its arguments.

    Args:
        text: a docstring without its indentation, as `inspect.getdoc` returns it.

    Returns:
        The description, with blank lines between its paragraphs and each list item on a line of its own; and a
        text for each argument, in one line.
    """
    section = ""
    described: list[str] = []
    arguments: list[str] = []
    for line in text.splitlines():
        heading = _SECTION.match(line)
        if heading is not None:
            section = heading[1]
        elif not section:
            described.append(line)
        elif section in ("Args", "Arguments", "Parameters"):
            arguments.append(line)
    paragraphs = re.split(r"\n\s*\n", "\n".join(described))
    summary = "\n\n".join(joined for each in paragraphs if (joined := _joined(each)))
    return summary, _argument_texts(arguments)


def _joined(paragraph: str) -> str:
    items = re.split(r"\n(?=\s*- )", paragraph)
    return "\n".join(" ".join(item.split()) for item in items)


def _argument_texts(lines: list[str]) -> dict[str, str]:
    texts: dict[str, list[str]] = {}
    depth = next((len(line) - len(line.lstrip()) for line in lines if line.strip()), 0)
    name = None
    for line in lines:
        found = _ARGUMENT.match(line)
        if found is not None and len(found[1]) == depth:
            name = found[2]
            texts[name] = [found[3]]
        elif name is not None:
            texts[name].append(line)
    return {name: " ".join(" ".join(parts).split()) for name, parts in texts.items()}
