"""What the tools know of a function's arguments in the order of its line."""

import ast
from collections.abc import Callable, Iterator

__all__ = ["Shown", "arguments_of"]

Shown = Callable[[ast.arg, ast.expr | None], str]


def arguments_of(arguments: ast.arguments, show: Shown) -> Iterator[str]:
    """Yield each argument as `show` writes it, given its default or None, with the stars where they belong."""
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [*[None] * (len(positional) - len(arguments.defaults)), *arguments.defaults]
    for each, default in zip(positional, defaults, strict=True):
        yield show(each, default)
    if arguments.vararg:
        yield f"*{show(arguments.vararg, None)}"
    elif arguments.kwonlyargs:
        yield "*"
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield show(each, default)
    if arguments.kwarg:
        yield f"**{show(arguments.kwarg, None)}"
