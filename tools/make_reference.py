"""Write ``docs/reference/*.md`` from the docstrings and the command line.

Run it after a change to either; with ``--check`` it only tells whether the pages are up to date.
"""

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from signatures import arguments_of
from stubs import class_node

from memorist.cli.app import app

TARGET = Path(__file__).parent.parent / "docs" / "reference"
HEADER = "<!-- Written by tools/make_reference.py; do not edit. -->\n\n"
WIDTH = 100

# A page, its title, and its modules, each with the names to show; "" for all that the module exports.
PAGES = {
    "memory": (
        "Memory",
        {"memorist.memory": "Memory", "memorist.admin": "Admin", "memorist.operations.requests": "Narrowing Bounds"},
    ),
    "requests": ("Requests and engines", {"memorist.operations.requests": "-", "memorist.engine.base": "Engine"}),
    "sync": ("The blocking client", {"memorist.sync": "-"}),
    "records": (
        "Records and scopes",
        {
            "memorist.records.record": "",
            "memorist.records.origins": "Author Origin TrustRules",
            "memorist.records.scope": "Scope",
        },
    ),
    "kinds": ("Kinds of memory", {"memorist.kinds": ""}),
    "filters": (
        "Filters and times",
        {"memorist.records.filters": "parse_where", "memorist.records.times": "parse_time"},
    ),
    "loading": (
        "Loading exports",
        {"memorist.operations.lines": "LoadReport BadLine"},
    ),
    "imports": (
        "Importing from other programs",
        {
            "memorist.imports": "load read survey find readers imports undo ImportReport Import Survey Found",
            "memorist.imports.sync": "-",
            "memorist.imports.reader": "",
            "memorist.imports.sources": "",
        },
    ),
    "settings": (
        "Settings",
        {
            "memorist.config": "Settings from_environment from_file options_from_file",
            "memorist.system.places": "config_file default_url",
        },
    ),
    "errors": ("Errors", {"memorist.errors": "-"}),
    "embedders": (
        "Embedders",
        {
            "memorist.embedders": "open_embedder Embedder Role OnnxEmbedder CallableEmbedder Prefixes prefixes_for",
            "memorist.embedders.openai": "OpenAIEmbedder",
            "memorist.embedders.hub": "HubEmbedder FastembedEmbedder SentenceTransformersEmbedder",
        },
    ),
    "stores": ("The contract of a store", {"memorist.stores.base": ""}),
    "agents": ("Around an agent", {"memorist.agents": "", "memorist.agents.caller": "serving"}),
    "language": (
        "With a chat model",
        {
            "memorist.language": "",
            "memorist.language.sync": "-",
            "memorist.language.endpoint": "OpenAIChatModel",
            "memorist.language.callables": "CallableChatModel",
        },
    ),
    "serving": (
        "Serving and observing",
        {
            "memorist.serve.auth": "Right Grant Token Tokens",
            "memorist.serve.limits": "Limits",
            "memorist.engine.traced": "Telemetry Watch",
        },
    ),
    "testing": ("Testing", {"memorist.testing": ""}),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def make_pages() -> dict[str, str]:
    """Return the text of every page by its file's name."""
    pages = {f"{name}.md": _page(title, modules) for name, (title, modules) in PAGES.items()}
    pages["cli.md"] = "\n\n".join(["# The command `memorist`", *_commands(app, "memorist")])
    links = [f"- [{text.splitlines()[0].removeprefix('# ')}]({name})" for name, text in pages.items()]
    pages["README.md"] = "\n".join(["# Reference", "", "Names, arguments and errors, as the code says.", "", *links])
    return {name: f"{HEADER}{text}\n" for name, text in pages.items()}


# --- names ---------------------------------------------------------------------------------------------


def _page(title: str, modules: dict[str, str]) -> str:
    parts = [f"# {title}"]
    for place, names in modules.items():
        module = import_module(place)
        parts += [f"## `{place}`", _text(module)]
        for name in module.__all__ if names == "" else names.replace("-", "").split():
            parts += _entry(getattr(module, name))
    return "\n\n".join(part for part in parts if part)


def _entry(value: object) -> Iterator[str]:
    """Yield the paragraphs on a class or function; an alias or a constant has none."""
    if inspect.isfunction(value):
        yield from (f"### {value.__name__}", _code(_signature(_node(value))), _text(value))
    elif inspect.isclass(value):
        node, _, _ = class_node(value)
        text = ast.get_docstring(node) or inspect.cleandoc(value.__doc__ or "")
        yield from (f"### {value.__name__}", _code(_class(node)), _markdown(text))
        for name, member in _members(value).items():
            function = inspect.unwrap(getattr(member, "__func__", member))
            if isinstance(member, property) and not name.startswith("_"):
                yield f"**`.{name}`**: {_text(member)}"
            elif inspect.isfunction(function) and not name.startswith("_"):
                yield from (f"#### .{name}", _code(_signature(_node(function))), _text(function))


def _members(value: type) -> dict[str, object]:
    """Return what a class and its bases of this package define."""
    bases = [each for each in value.__mro__ if each.__module__.partition(".")[0] == "memorist" and each is not value]
    own = vars(value)
    inherited = [
        each for each in bases if each.__name__ in ("Verbs", "MemoryVerbs", "AdminVerbs", "View", "SearchedView")
    ]
    return {**own, **{name: each for base in inherited for name, each in vars(base).items() if name not in own}}


def _node(value: Any) -> ast.stmt:
    """Return a function as its source or its module's stub has it."""
    module = inspect.getmodule(value)
    if hasattr(value, "__signature__"):  # a verb, whose owner stands before its name
        owner, _, name = value.__qualname__.rpartition(".")
        node, _, _ = class_node(getattr(module, owner))
        return next(each for each in node.body if isinstance(each, Function) and each.name == name)
    source = textwrap.dedent(inspect.getsource(value))
    return ast.parse(source).body[0]


def _class(node: ast.stmt) -> str:
    """Return a class's line, the fields or members it declares, and, where that has a text, how one is made."""
    assert isinstance(node, ast.ClassDef)
    lines = [f"class {node.name}" + (f"({', '.join(map(ast.unparse, node.bases))})" if node.bases else "")]
    for each in node.body:
        text = ast.unparse(each)
        if isinstance(each, ast.AnnAssign | ast.Assign) and not text.startswith("_"):
            lines.append(f"    {text}")
        elif isinstance(each, Function) and each.name == "__init__" and _has_arguments(each, node):
            lines.append(textwrap.indent(_signature(each, made=node.name), "    "))
    return "\n".join(lines)


def _has_arguments(constructor: Function, node: ast.ClassDef) -> bool:
    """Tell whether a text says how to make one; what is made for its user has none."""
    return any("Args:" in (ast.get_docstring(each) or "") for each in (constructor, node))


def _signature(node: ast.stmt, made: str = "") -> str:
    """Return the line that defines a function, as its source has it; a long one with a line for each argument."""
    assert isinstance(node, Function)
    word = "" if made else "async def " if isinstance(node, ast.AsyncFunctionDef) else "def "
    begin = f"{word}{made or node.name}("
    end = f") -> {ast.unparse(node.returns).strip(chr(39))}" if node.returns and not made else ")"
    arguments = [each for each in arguments_of(node.args, _argument) if each not in ("self", "cls")]
    if len(one := f"{begin}{', '.join(arguments)}{end}") <= WIDTH:
        return one
    return "\n".join([begin, *(f"    {each}," for each in arguments), end])


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return ast.unparse(argument) + (f" = {ast.unparse(default)}" if default else "")


# --- texts ---------------------------------------------------------------------------------------------

_SECTION = re.compile(r"(Args|Attributes|Returns|Raises|Raises \(on entering\)):")
_ITEM = re.compile(r"(\*{0,2}\w+(?:, \w+)*): (.*)")


def _code(text: str) -> str:
    return f"```python\n{text}\n```"


def _text(value: object) -> str:
    """Return the docstring of a value as Markdown."""
    return _markdown(inspect.cleandoc(getattr(value, "__doc__", None) or ""))


def _markdown(text: str) -> str:
    """Return a docstring as Markdown: its sections as lists, a drawing as it is."""
    if "├──" in text:
        first, _, drawing = text.partition("\n\n")
        return f"{first}\n\n```text\n{drawing}\n```"
    lines: list[str] = []
    section = False
    for line in text.splitlines():
        if _SECTION.fullmatch(line):
            lines += [f"**{line}**", ""]
        elif section and line.startswith("    ") and not line.startswith("     "):
            item = _ITEM.fullmatch(line.strip())
            lines.append(f"- `{item[1]}`: {item[2]}" if item else f"{'- ' if not lines[-1] else '  '}{line.strip()}")
        else:
            lines.append(f"  {line.strip()}" if section and line else line)
        section = bool(_SECTION.fullmatch(line)) or (section and (not line or line.startswith(" ")))
    return re.sub(r"(?<!`)``(?!`)", "`", "\n".join(lines))


# --- the command ---------------------------------------------------------------------------------------


def _commands(command: Any, name: str) -> Iterator[str]:
    """Yield the paragraphs on a command and those below it."""
    yield from (f"## `{name}`", inspect.cleandoc(command.help or ""))
    rows = [f"- `{_usage(each)}`: {getattr(each, 'about', None) or each.help}" for each in command.params]
    if rows:
        yield "\n".join(rows)
    if command.epilog:
        yield command.epilog
    for each, inner in getattr(command, "commands", {}).items():
        yield from _commands(inner, f"{name} {each}")


def _usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return (parameter.metavar or parameter.name or "").strip("[]").upper()
    return ", ".join(parameter.opts)


def main() -> None:
    """Write the pages, or check them."""
    pages = make_pages()
    there = {each.name: each.read_text(encoding="utf-8") for each in TARGET.glob("*.md")}
    if "--check" in sys.argv[1:]:
        if there != pages:
            changed = [name for name in sorted({*there, *pages}) if there.get(name) != pages.get(name)]
            sys.exit(f"docs/reference is not up to date ({', '.join(changed)}); run: python tools/make_reference.py")
        return
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in there.keys() - pages.keys():
        (TARGET / name).unlink()
    for name, text in pages.items():
        (TARGET / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
