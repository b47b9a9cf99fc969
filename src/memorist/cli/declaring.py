"""Commands of Click from functions: the annotation of a parameter says how it is given on the command line.

Click alone is imported here: a library that reads annotations takes longer to load than most commands take to run.
"""

from collections.abc import Awaitable, Callable
from enum import Enum
from functools import cached_property, partial, wraps
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any, Literal, TypeAlias, Unpack, get_args, get_origin

import click

from memorist.cli.running import foreseen, run
from memorist.system.docstrings import docstring_of
from memorist.system.hints import read_hint

Function: TypeAlias = Callable[..., None] | Callable[..., Awaitable[None]]
_TYPES: dict[type, Any] = {str: str, int: int, float: float, bool: bool, Path: click.Path(path_type=Path)}
_RANGES: dict[type, Any] = {int: click.IntRange, float: click.FloatRange}


class Option:
    """How an option is given.

    Args:
        names: as ``--limit``, ``-n``; by default the parameter's name. ``--a/--b`` sets a truth value
            to true or false.
        help: what it is. By default the text of the field of the request that has its name; see `command`.
        more: what is said after that text: how the command line writes it.
        metavar: what its value is called.
        envvar: the environment variable that sets it.
        min, max: the limits of a number, both allowed.
        parser: makes the value from the text that is given.
        settings: any other of `click.Option`.
    """

    def __init__(
        self,
        *names: str,
        help: str | None = None,
        more: str = "",
        metavar: str | None = None,
        min: float | None = None,
        max: float | None = None,
        parser: Callable[[str], Any] | None = None,
        **settings: Any,
    ) -> None:
        self.names, self.help, self.more, self.metavar = names, help, more, metavar
        self.min, self.max, self.parser, self.settings = min, max, parser, settings

    def made(self, name: str, kind: Any, asks: str | None, *, several: bool, **default: Any) -> click.Parameter:
        """Return the parameter for Click; without a `default` it must be given."""
        names = self.names or (f"--{name.replace('_', '-')}",)
        return _Option(
            [name, *names],
            partial(self.text_of, name, asks),
            type=self.type_of(kind),
            metavar=self.metavar,
            is_flag=kind is bool,
            multiple=several,
            show_default=kind is not bool,
            show_envvar=True,
            **default,
            **self.settings,
        )

    def text_of(self, name: str, asks: str | None) -> str:
        """Return the help of the parameter."""
        if self.help is not None:
            return self.help
        from memorist.operations import requests
        from memorist.verbs.texts import texts_of

        text = texts_of(getattr(requests, str(asks)))[name]
        return f"{text[0].upper()}{text[1:]} {self.more}".rstrip()

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

    def made(self, name: str, kind: Any, asks: str | None, *, several: bool, **default: Any) -> click.Parameter:
        shown = (self.metavar or name.upper()) + ("..." if several else "")
        return _Argument(
            [name],
            partial(self.text_of, name, asks),
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
        return value if isinstance(value, self._kind) else self._kind(super().convert(value, param, ctx))


class _Option(click.Option):
    """An option whose text is made when it is shown: the requests take longer to load than most commands to run."""

    def __init__(self, names: list[str], tell: Callable[[], str], **settings: Any) -> None:
        self._tell = tell
        super().__init__(names, **settings)

    @property
    def help(self) -> str | None:
        return self._tell()

    @help.setter
    def help(self, text: str | None) -> None:
        """Ignore the text that Click sets: it was given none."""


class _Argument(click.Argument):
    """An argument with a help text, which Click has from 8.5 on."""

    def __init__(self, names: list[str], tell: Callable[[], str], **settings: Any) -> None:
        super().__init__(names, **settings)
        self._tell = tell

    @property
    def about(self) -> str:
        return self._tell()


class Command(click.Command):
    """A command from a function, whose help tells of its arguments too.

    Args:
        function: what it calls. Its docstring is the help, and its name the command's: with dashes, and without the
            underscore behind a keyword or a builtin.
        asks: the name of the type of request that it makes.
        settings: any other of `click.Command`.
    """

    def __init__(self, function: Function, asks: str | None = None, **settings: Any) -> None:
        name = function.__name__.rstrip("_").replace("_", "-")
        super().__init__(name, callback=_callback(function), help=docstring_of(function), **settings)
        self._function, self.asks = function, asks
        del self.params  # Click's own attribute; it is empty

    @cached_property
    def params(self) -> list[click.Parameter]:  # type: ignore[override]  # it is no property, and can be set
        """Those of the function, made when they are first needed: only one command of a module is run."""
        return parameters(self._function, self.asks)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        arguments = [each for each in self.get_params(ctx) if isinstance(each, _Argument)]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl([(each.metavar or "", each.about) for each in arguments])
        super().format_options(ctx, formatter)


def command(asks: str | None = None, **settings: Any) -> Callable[[Function], click.Command]:
    """Return what makes a command of a function, which is run to its end if it is asynchronous; see `running.run`.

    Args:
        asks: the name of the type of request that it makes. A parameter that is a field of it has the field's text.
        settings: any of `click.Command`.
    """
    return lambda function: Command(function, asks, **settings)


class Group(click.Group):
    """A command of commands."""

    def subcommand(self, function: Function) -> click.Command:
        """Add a command; see `Command`."""
        made = Command(function)
        self.add_command(made)
        return made


def group(function: Callable[[], None]) -> Group:
    """Make a group of commands; the function's docstring is the help."""
    return Group(function.__name__, help=docstring_of(function), no_args_is_help=True)


def parameters(function: Function, asks: str | None = None) -> list[click.Parameter]:
    """Return the parameters of a function for Click, without the first one if that takes the context."""
    hints = {
        name: hint
        for name, hint in function.__annotations__.items()
        if name != "return" and hint is not click.Context and getattr(hint, "__origin__", None) is not Unpack
    }
    names, values = list(hints), getattr(function, "__defaults__", None) or ()
    defaults = {name: {"default": value} for name, value in zip(names[len(names) - len(values) :], values, strict=True)}
    made = [_parameter(name, hint, asks, **defaults.get(name, {})) for name, hint in hints.items()]
    return made + [_parameter(name, hint, asks, default=None) for name, hint in _spread(function).items()]


def _spread(function: Function) -> dict[str, Any]:
    """Return the hints of the options that a function takes as ``**options: Unpack[Options]``, of those given."""
    spread = (hint for hint in function.__annotations__.values() if getattr(hint, "__origin__", None) is Unpack)
    return {name: each for hint in spread for name, each in hint.__args__[0].__annotations__.items()}


def _parameter(name: str, hint: Any, asks: str | None, **default: Any) -> click.Parameter:
    [kind], _, notes = read_hint(hint)
    how: Option = notes[0] if notes else Option()
    several = get_origin(kind) is tuple
    return how.made(name, get_args(kind)[0] if several else kind, asks, several=several, **default)


def _callback(function: Function) -> Function:
    spread = _spread(function)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> None:
        given = {name: value for name, value in kwargs.items() if name not in spread or value not in (None, ())}
        if iscoroutinefunction(function):
            run(lambda: function(*args, **given))
            return
        with foreseen():
            function(*args, **given)

    return click.pass_context(called) if click.Context in function.__annotations__.values() else called
