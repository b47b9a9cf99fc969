"""Write the stubs: ``src/memorist/sync.pyi`` from the asynchronous classes, and what is made from requests.

Run it after a change to `Memory`, a view or a request; with ``--check`` it only tells whether the files are up to date.
"""

import ast
import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from declared import HEADER, make_stubs
from stubs import (
    Function,
    Imports,
    class_node,
    decorators,
    docstring,
    function_stub,
    import_lines,
    indented,
    names_in,
    origin_of,
    plain,
)

from memorist import sync
from memorist.blocking_client import BlockingClient, blocking_name, blocking_text

TARGET = Path(sync.__file__).with_suffix(".pyi")


def make_stub() -> str:
    """Return the text of the stub."""
    clients = {name: getattr(sync, name) for name in sync.__all__}
    classes = {name: client._of for name, client in clients.items() if issubclass(client, BlockingClient)}
    imports: Imports = defaultdict(set)
    bodies = [_class_stub(name, original, imports) for name, original in classes.items()]
    for names in imports.values():
        names.difference_update(classes)
    lines = [
        *import_lines(imports),
        "from memorist import memory as asynchronous",
        "from memorist.blocking_client import BlockingClient",
    ]
    public = f"__all__ = [{', '.join(repr(name) for name in sync.__all__)}]".replace("'", '"')
    about = '"""The blocking client of `Memory` and its views."""\n\n'
    return HEADER + about + "\n".join(lines) + f"\n\n{public}\n\n" + "\n\n".join(bodies)


def _class_stub(name: str, original: type, imports: Imports) -> str:
    lines = [f"class {name}(BlockingClient):", indented(docstring(blocking_text(inspect.getdoc(original) or "")))]
    taken = "asynchronous.Memory" if name == "Memory" else "Memory | asynchronous.Memory"
    lines.append(indented(f"\ndef __init__(self, memory: {taken}) -> None: ..."))
    for base in original.__mro__[:-1]:
        lines += _members(base, imports)
    return "\n".join(lines) + "\n"


def _members(original: type, imports: Imports) -> Iterator[str]:
    """Yield the stubs of the methods that a class defines itself, and note what they import."""
    node, tree, source = class_node(original)
    for function in _interface(node):
        yield indented("\n" + _function_stub(function, source.splitlines()[function.lineno - 1]))
        for used in names_in(function):
            if (origin := origin_of(used, tree, original.__module__)) is not None:
                imports[origin].add(used)


def _interface(node: ast.ClassDef) -> Iterator[Function]:
    """Yield the public methods; of an overloaded one the overloads, with the text on the first."""
    functions = [each for each in node.body if isinstance(each, Function) and blocking_name(each.name)]
    overloaded = {each.name for each in functions if decorators(each) == ["overload"]}
    texts = {each.name: ast.get_docstring(each) for each in functions if "overload" not in decorators(each)}
    for function in functions:
        if function.name in overloaded and not decorators(function):
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


def _function_stub(function: Function, line: str) -> str:
    ignored = "  # type: ignore[overload-overlap]" if "overload-overlap" in line else ""
    return function_stub(f"def {blocking_name(function.name)}", function, _parameter, ignored)


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg if argument.annotation is None else f"{argument.arg}: {plain(argument.annotation)}"
    if default is None:
        return text
    return f"{text} = {ast.unparse(default) if isinstance(default, ast.Constant) else '...'}".replace("Ellipsis", "...")


def main() -> None:
    """Write the stubs, or check them."""
    check = "--check" in sys.argv[1:]
    for path, text in make_stubs().items():
        _written(path, text, check=check)
    _written(TARGET, make_stub(), check=check)  # it is made from the others


def _written(path: Path, stub: str, *, check: bool) -> None:
    if not check:
        path.write_text(stub, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != stub:
        sys.exit(f"{path.name} is not up to date; run: python tools/make_sync_stub.py")


if __name__ == "__main__":
    main()
