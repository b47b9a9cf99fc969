"""Write ``src/memorist/sync.pyi``, the types of `memorist.sync`, from the asynchronous classes.

Run it after a change to `Memory` or a view; with ``--check`` it only tells whether the file is up to date.
"""

import ast
import builtins
import inspect
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from signatures import arguments_of

from memorist import sync
from memorist.twin import Twin, blocking_name, blocking_text

TARGET = Path(sync.__file__).with_suffix(".pyi")
WIDTH = 120
HEADER = '''\
# Written by tools/make_sync_stub.py; do not edit.
# ruff: noqa
# fmt: off
"""The blocking twin of `Memory` and its views."""

'''
Function = ast.FunctionDef | ast.AsyncFunctionDef
Imports = defaultdict[str, set[str]]


def make_stub() -> str:
    """Return the text of the stub."""
    twins = {name: getattr(sync, name) for name in sync.__all__}
    classes = {name: twin._of for name, twin in twins.items() if issubclass(twin, Twin)}
    imports: Imports = defaultdict(set)
    bodies = [_class_stub(name, original, imports) for name, original in classes.items()]
    for names in imports.values():
        names.difference_update(classes)
    lines = [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(imports.items()) if names]
    lines += ["from memorist import memory as asynchronous", "from memorist.twin import Twin"]
    public = f"__all__ = [{', '.join(repr(name) for name in sync.__all__)}]".replace("'", '"')
    return HEADER + "\n".join(lines) + f"\n\n{public}\n\n" + "\n\n".join(bodies)


def _class_stub(name: str, original: type, imports: Imports) -> str:
    lines = [f"class {name}(Twin):", _indented(f'"""{blocking_text(inspect.getdoc(original) or "")}\n"""')]
    taken = "asynchronous.Memory" if name == "Memory" else "Memory | asynchronous.Memory"
    lines.append(_indented(f"\ndef __init__(self, memory: {taken}) -> None: ..."))
    for base in original.__mro__[:-1]:
        lines += _members(base, imports)
    return "\n".join(lines) + "\n"


def _members(original: type, imports: Imports) -> Iterator[str]:
    """Yield the stubs of the methods that a class defines itself, and note what they import."""
    module = inspect.getmodule(original)
    assert module is not None
    tree = ast.parse(inspect.getsource(module))
    [node] = [each for each in ast.walk(tree) if isinstance(each, ast.ClassDef) and each.name == original.__name__]
    for function in _interface(node):
        yield _indented("\n" + _function_stub(function, module))
        for used in _names(function):
            if (origin := _origin(used, tree, module)) is not None:
                imports[origin].add(used)


def _interface(node: ast.ClassDef) -> Iterator[Function]:
    """Yield the public methods; of an overloaded one the overloads, with the text on the first."""
    functions = [each for each in node.body if isinstance(each, Function) and blocking_name(each.name)]
    overloaded = {each.name for each in functions if _decorators(each) == ["overload"]}
    texts = {each.name: ast.get_docstring(each) for each in functions if "overload" not in _decorators(each)}
    for function in functions:
        if function.name in overloaded and not _decorators(function):
            continue
        text = texts.pop(function.name, None)
        function.body = [ast.Expr(ast.Constant(text))] if text else []
        function.returns = _returns(function)
        yield function


def _returns(function: Function) -> ast.expr | None:
    returned = function.returns
    if isinstance(returned, ast.Subscript) and ast.unparse(returned.value) == "AsyncIterator":
        return ast.Subscript(ast.Name("Iterator"), returned.slice)
    return returned


def _function_stub(function: Function, module: ModuleType) -> str:
    lines = [f"@{each}" for each in _decorators(function)]
    source = inspect.getsource(module).splitlines()[function.lineno - 1]
    ignored = "  # type: ignore[overload-overlap]" if "overload-overlap" in source else ""
    parameters = list(arguments_of(function.args, _parameter))
    head, tail = f"def {blocking_name(function.name)}(", f") -> {_plain(function.returns)}:"
    text = ast.get_docstring(function)
    end = "" if text else " ..."
    if len(one := f"{head}{', '.join(parameters)}{tail}{end}{ignored}") <= WIDTH - 4:
        lines.append(one)
    else:
        lines += [head + ignored, *(f"    {each}," for each in parameters), tail + end]
    if text:
        lines.append(_indented(f'"""{text}\n"""' if "\n" in text else f'"""{text}"""'))
    return "\n".join(lines)


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg if argument.annotation is None else f"{argument.arg}: {_plain(argument.annotation)}"
    if default is None:
        return text
    return f"{text} = {ast.unparse(default) if isinstance(default, ast.Constant) else '...'}".replace("Ellipsis", "...")


def _plain(annotation: ast.expr | None) -> str:
    """Return an annotation without quotes around names: a stub knows later ones too."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation) if annotation is not None else "None"


def _decorators(function: Function) -> list[str]:
    return [ast.unparse(each) for each in function.decorator_list]


def _names(function: Function) -> set[str]:
    """Return the names that a stub of the function needs."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
    annotations = [_plain(each.annotation) for each in every if each is not None and each.annotation is not None]
    trees = [ast.parse(text) for text in (*annotations, _plain(function.returns), *_decorators(function))]
    return {each.id for tree in trees for each in ast.walk(tree) if isinstance(each, ast.Name)}


def _origin(name: str, tree: ast.Module, module: ModuleType) -> str | None:
    """Return the module to import a name from; None for a built-in one."""
    if name == "Iterator":
        return "collections.abc"
    for each in ast.walk(tree):
        if isinstance(each, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in each.names):
            return each.module
    return None if hasattr(builtins, name) else module.__name__


def _indented(text: str) -> str:
    return textwrap.indent(text, "    ")


def main() -> None:
    """Write the stub, or check it."""
    stub = make_stub()
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(stub, encoding="utf-8")
    elif not TARGET.exists() or TARGET.read_text(encoding="utf-8") != stub:
        sys.exit(f"{TARGET.name} is not up to date; run: python tools/make_sync_stub.py")


if __name__ == "__main__":
    main()
