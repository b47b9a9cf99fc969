"""Commands of Click from functions: the annotation of a parameter says how it is given on the command line.

Click alone is imported here: a library that reads annotations by itself takes longer to load than most commands work.
"""

from collections.abc import Callable
from enum import Enum
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click

__all__ = ["Argument", "Option", "command", "group"]

_TYPES: dict[type, Any] = {str: str, int: int, float: float, bool: bool, Path: click.Path(path_type=Path)}
_RANGES: dict[type, Any] = {int: click.IntRange, float: click.FloatRange}


class Option:
    """How an option is given.

    Args:
        names: as ``--limit``, ``-n``; by default the parameter's name. ``--a/--b`` sets a truth value
            to true or false.
        help: what it is.
        metavar: what its value is called.
        envvar: the environment variable that sets it.
        min, max: the limits of a number, both allowed.
        parser: makes the value from the text that is given.
        settings: any other of `click.Option`.
    """

    def __init__(
        self,
        *names: str,
        help: str,
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        parser: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> None:
        self.names, self.help, self.metavar = names, help, metavar
        self.min, self.max, self.parser, self.settings = min, max, parser, settings

    def made(self, name: str, kind: Any, *, several: bool, **default: Any) -> click.Parameter:
        """Return the parameter for Click; without a `default` it must be given."""
        names = self.names or (f"--{name.replace('_', '-')}",)
        return click.Option(
            [name, *names],
            type=self.type_of(kind),
            help=self.help,
            metavar=self.metavar,
            is_flag=kind is bool,
            multiple=several,
            show_default=kind is not bool,
            show_envvar=True,
            **default,
            **self.settings,
        )

    def type_of(self, kind: Any) -> Any:
        """Return Click's type of a value."""
        if self.parser is not None:
            return click.types.FuncParamType(self.parser)
        if get_origin(kind) is Literal:
            return click.Choice(get_args(kind))
        if isinstance(kind, type) and issubclass(kind, Enum):
            return _Member(kind)
        if self.min is not None or self.max is not None:
            return _RANGES[kind](self.min, self.max)
        return _TYPES[kind]


class Argument(Option):
    """How an argument is given: by its place, not its name. See `Option`."""

    def made(self, name: str, kind: Any, *, several: bool, **default: Any) -> click.Parameter:
        """Return the parameter for Click; without a `default` it must be given."""
        shown = (self.metavar or name.upper()) + ("..." if several else "")
        return _Argument(
            [name],
            self.help,
            type=self.type_of(kind),
            metavar=f"[{shown}]" if default else shown,
            nargs=-1 if several else 1,
            required=not default,
            **({} if several else default),
            **self.settings,
        )


class _Member(click.Choice):  # type: ignore[type-arg]  # generic from Click 8.2 on
    """A member of an enumeration, by its value."""

    def __init__(self, kind: type[Enum]) -> None:
        super().__init__([each.value for each in kind])
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Enum:
        """Return the member of a value, or a member as it is."""
        return value if isinstance(value, self._kind) else self._kind(super().convert(value, param, ctx))


class _Argument(click.Argument):
    """An argument with a help text, which Click has from 8.5 on."""

    def __init__(self, names: list[str], about: str, **settings: Any) -> None:
        super().__init__(names, **settings)
        self.about = about


class Command(click.Command):
    """A command whose help tells of its arguments too."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write arguments and options."""
        arguments = [each for each in self.get_params(ctx) if isinstance(each, _Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(each.metavar or "", each.about) for each in arguments])
        super().format_options(ctx, formatter)


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., None]], click.Command]:
    """Return what makes a command of a function; its docstring is the help.

    Args:
        name: by default the function's.
        settings: any of `click.Command`.
    """
    return lambda function: Command(
        name or function.__name__, callback=_passing(function), params=parameters(function), help=function.__doc__,
        **settings,
    )  # fmt: skip


class Group(click.Group):
    """A command of commands."""

    def subcommand(self, name: str | None = None) -> Callable[[Callable[..., None]], click.Command]:
        """Return what adds a command; see `command`."""

        def add(function: Callable[..., None]) -> click.Command:
            made = command(name)(function)
            self.add_command(made)
            return made

        return add


def group(function: Callable[[], None]) -> Group:
    """Make a group of commands; the function's docstring is the help."""
    return Group(function.__name__, help=function.__doc__, no_args_is_help=True)


def parameters(function: Callable[..., None]) -> list[click.Parameter]:
    """Return the parameters of a function for Click, without the first one if that takes the context."""
    hints = function.__annotations__
    names = [name for name, hint in hints.items() if hasattr(hint, "__metadata__")]
    values = function.__defaults__ or ()
    defaults = dict(zip(names[len(names) - len(values) :], values, strict=True))
    return [_parameter(name, hints[name], **{"default": defaults[name]} if name in defaults else {}) for name in names]


def _parameter(name: str, hint: Any, **default: Any) -> click.Parameter:
    kind = hint.__origin__
    if get_origin(kind) in (Union, UnionType):
        [kind] = [each for each in get_args(kind) if each is not type(None)]
    several = get_origin(kind) is tuple
    made: click.Parameter = hint.__metadata__[0].made(
        name, get_args(kind)[0] if several else kind, several=several, **default
    )
    return made


def _passing(function: Callable[..., None]) -> Callable[..., None]:
    return click.pass_context(function) if click.Context in function.__annotations__.values() else function
