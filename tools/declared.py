"""The stubs of what is made from requests when it is imported: methods, and types of keyword arguments."""

import ast
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from inspect import get_annotations
from pathlib import Path
from typing import Any

from stubs import (
    WIDTH,
    Imports,
    class_node,
    docstring,
    function_stub,
    import_lines,
    indented,
    origin_of,
    plain,
)

from memorist.kinds import options as search_options
from memorist.operations import options, requests
from memorist.operations.request import Narrowed, Takes, arguments_of
from memorist.system.docstrings import docstring_of, read_docstring
from memorist.verbs import declared

HEADER = """\
# Written by tools/make_sync_stub.py; do not edit.
# ruff: noqa
# fmt: off
"""
_FORMS = {"place": "args", "name": "kwonlyargs"}


def make_stubs() -> dict[Path, str]:
    """Return the texts of the stubs, in the order in which they need one another."""
    return {
        _path(options): _options(options, {"Bounds": "TypedDict", "Narrowing": "Bounds"}, Narrowed),
        _path(search_options): _options(search_options, {"SearchOptions": "Bounds"}, requests.Recall),
        _path(declared): _methods(),
    }


def _path(module: Any) -> Path:
    return Path(module.__file__).with_suffix(".pyi")


# --- methods -------------------------------------------------------------------------------------------


def _methods() -> str:
    imports: Imports = defaultdict(set)
    bodies = list[str]()
    for owner in (declared.MemoryVerbs, declared.AdminVerbs):
        kinds = [_kind_of(name) for name in vars(owner) if not name.startswith("_")]
        lines = [f"class {owner.__name__}(Asking):", indented(docstring(owner.__doc__ or ""))]
        lines += [indented("\n" + _method(kind, imports)) for kind in kinds]
        bodies.append("\n".join(lines) + "\n")
    imports["memorist.verbs.making"].add("Asking")
    return _stub(declared, imports, bodies)


def _kind_of(verb: str) -> type[requests.Request[Any]]:
    kind: type[requests.Request[Any]] = getattr(requests, verb.capitalize())
    return kind


def _method(kind: type[requests.Request[Any]], imports: Imports) -> str:
    arguments = ast.arguments([], [ast.arg("self")], None, [], [], None, [])
    for each in arguments_of(kind):
        annotation, default = _declared(kind, each.name, imports)
        made = ast.arg(each.name, annotation)
        if each.by == "each":
            arguments.vararg = made
        elif each.by == "place":
            arguments.args.append(made)
            arguments.defaults += [] if default is None else [default]
        else:
            arguments.kwonlyargs.append(made)
            arguments.kw_defaults.append(default)
    if issubclass(kind, Narrowed):
        arguments.kwarg = ast.arg("narrowing", ast.parse("Unpack[Narrowing]", mode="eval").body)
        imports["typing"].add("Unpack")
        imports["memorist.operations.options"].add("Narrowing")
    node, tree, _ = class_node(kind)
    [base] = node.bases
    assert isinstance(base, ast.Subscript)
    returns = _imported(base.slice, tree, kind.__module__, imports)
    text = ast.get_docstring(node)
    body: list[ast.stmt] = [ast.Expr(ast.Constant(text))]
    function = ast.AsyncFunctionDef(kind.verb, arguments, body, [], returns, lineno=0)
    return function_stub(f"async def {kind.verb}", function, _argument)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    text = argument.arg if argument.annotation is None else f"{argument.arg}: {plain(argument.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def _declared(kind: type, name: str, imports: Imports) -> tuple[ast.expr, ast.expr | None]:
    """Return the type that a caller gives for a field, and its default, as the source has them."""
    owner = next(each for each in kind.__mro__ if name in get_annotations(each))
    node, tree, _ = class_node(owner)
    [field] = [each for each in node.body if isinstance(each, ast.AnnAssign) and ast.unparse(each.target) == name]
    annotation = _given(field.annotation)
    default = field.value
    if isinstance(default, ast.Call):  # field(default=…)
        [default] = [each.value for each in default.keywords if each.arg == "default"]
    module = owner.__module__
    if default is not None:
        default = _imported(default, tree, module, imports)
    return _imported(annotation, tree, module, imports), default


def _given(annotation: ast.expr) -> ast.expr:
    """Return the type in an annotation: that of `Takes`, where there is one."""
    if not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Annotated"):
        return annotation
    assert isinstance(annotation.slice, ast.Tuple)
    held, *notes = annotation.slice.elts
    for note in notes:
        if isinstance(note, ast.Call) and ast.unparse(note.func) == Takes.__name__ and note.args:
            return note.args[0]
    return held


def _imported(expression: ast.expr, tree: ast.Module, module: str, imports: Imports) -> ast.expr:
    """Return an expression whose names the stub imports; of a name in a module, only the name."""

    class Naming(ast.NodeTransformer):
        def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
            owner = ast.unparse(node.value)
            for each in ast.walk(tree):
                if isinstance(each, ast.ImportFrom) and any(alias.asname == owner for alias in each.names):
                    [name] = [alias.name for alias in each.names if alias.asname == owner]
                    imports[f"{each.module}.{name}"].add(node.attr)
                    return ast.Name(node.attr)
            return self.generic_visit(node)

        def visit_Name(self, node: ast.Name) -> ast.AST:
            if (origin := origin_of(node.id, tree, module)) is not None:
                imports[origin].add(node.id)
            return node

    return Naming().visit(ast.parse(ast.unparse(expression), mode="eval").body)  # type: ignore[no-any-return]


# --- types of keyword arguments ------------------------------------------------------------------------


def _options(module: Any, bases: dict[str, str], kind: type[requests.Request[Any]]) -> str:
    imports: Imports = defaultdict(set)
    there = set[str]()
    bodies = list[str]()
    texts = read_docstring(docstring_of(Narrowed))[1]
    for name, base in bases.items():
        if base == "TypedDict":
            imports["typing"].add(base)
        elif base not in bases:
            imports["memorist.operations.options"].add(base)
            there |= set(getattr(options, base).__annotations__)
        made = getattr(module, name)
        fields = [each for each in made.__annotations__ if each not in there]
        there |= set(fields)
        about = "\n".join([made.__doc__, *_about(fields, texts)])
        lines = [f"class {name}({base}, total=False):", indented(docstring(about)), ""]
        lines += [f"    {each}: {plain(_declared(kind, each, imports)[0])}" for each in fields]
        bodies.append("\n".join(lines) + "\n")
    return _stub(module, imports, bodies)


def _about(fields: Iterable[str], texts: dict[str, str]) -> Iterator[str]:
    """Yield the section of a docstring that tells what the fields are, where that is told here."""
    told = [each for each in fields if each in texts]
    if told:
        yield from ("", "Args:")
    for each in told:
        text = f"{each}: {texts[each]}"
        yield from textwrap.wrap(text, WIDTH - 4, initial_indent="    ", subsequent_indent="        ")


def _stub(module: Any, imports: Imports, bodies: list[str]) -> str:
    imports.pop(module.__name__, None)
    about = docstring((module.__doc__ or "").partition("\n")[0])
    names = f"__all__ = {list(module.__all__)}\n\n".replace("'", '"') if hasattr(module, "__all__") else ""
    return f"{HEADER}{about}\n\n" + "\n".join(import_lines(imports)) + f"\n\n{names}" + "\n\n".join(bodies)
