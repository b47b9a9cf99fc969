"""How a stub is written: functions from their source, and the imports that they need."""

import ast
import builtins
import inspect
import sys
import textwrap
from collections import defaultdict
from pathlib import Path
from typing import Any

from signatures import Shown, arguments_of

__all__ = [
    "Function",
    "Imports",
    "class_node",
    "decorators",
    "docstring",
    "function_stub",
    "import_lines",
    "indented",
    "names_in",
    "origin_of",
    "plain",
    "source_of",
]

WIDTH = 120
Function = ast.FunctionDef | ast.AsyncFunctionDef
Imports = defaultdict[str, set[str]]


def source_of(module: Any) -> str:
    """Return the source that tells a module's types: its stub, where it has one."""
    stub = Path(inspect.getfile(module)).with_suffix(".pyi")
    return stub.read_text(encoding="utf-8") if stub.exists() else inspect.getsource(module)


def class_node(original: type) -> tuple[ast.ClassDef, ast.Module, str]:
    """Return a class as its module's source or stub has it, that module, and the source."""
    source = source_of(sys.modules[original.__module__])
    tree = ast.parse(source)
    [node] = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == original.__name__]
    return node, tree, source


def function_stub(head: str, function: Function, show: Shown, ignored: str = "") -> str:
    """Return the stub of a function, which begins with `head`; `show` writes its arguments."""
    lines = [f"@{each}" for each in decorators(function)]
    parameters = list(arguments_of(function.args, show))
    tail = f") -> {plain(function.returns)}:"
    text = ast.get_docstring(function)
    end = "" if text else " ..."
    if len(one := f"{head}({', '.join(parameters)}{tail}{end}{ignored}") <= WIDTH - 4:
        lines.append(one)
    else:
        lines += [f"{head}({ignored}", *(f"    {each}," for each in parameters), tail + end]
    if text:
        lines.append(indented(docstring(text)))
    return "\n".join(lines)


def docstring(text: str) -> str:
    """Return a text as a docstring."""
    return f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'


def plain(annotation: ast.expr | None) -> str:
    """Return an annotation without quotes around names: a stub knows later ones too."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation) if annotation is not None else "None"


def decorators(function: Function) -> list[str]:
    """Return the decorators of a function."""
    return [ast.unparse(each) for each in function.decorator_list]


def names_in(function: Function) -> set[str]:
    """Return the names that the types of a function have."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    annotations = [plain(each.annotation) for each in every if each is not None and each.annotation is not None]
    trees = [ast.parse(text) for text in (*annotations, plain(function.returns), *decorators(function))]
    return {each.id for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Name)}


def origin_of(name: str, tree: ast.Module, module: str) -> str | None:
    """Return the module to import a name from that `tree`, the source of `module`, has; None for a built-in one."""
    if name == "Iterator":
        return "collections.abc"
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in each.names):
            return each.module
    return None if hasattr(builtins, name) else module


def import_lines(imports: Imports) -> list[str]:
    """Return the imports of a stub."""
    return [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items()) if names]


def indented(text: str) -> str:
    """Return a text one step further in."""
    return textwrap.indent(text, "    ")
