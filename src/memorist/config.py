"""Settings: what is given in code or as a flag comes first, then the environment, then the defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.errors import InvalidInputError

if TYPE_CHECKING:
    from memorist.embedders.registry import EmbedderSpec

__all__ = ["Settings", "default_url"]

_Number = TypeVar("_Number", int, float)

MIB = 1024 * 1024


def default_url() -> str:
    """Return ``memorist.db`` in the folder where this system keeps a user's data."""
    from platformdirs import user_data_path

    return str(user_data_path("memorist", appauthor=False) / "memorist.db")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that can be set of a memory.

    | field | variable | what it is |
    |---|---|---|
    | `url` | `MEMORIST_DB` | the store: a file's path, or a URL |
    | `embedder` | `MEMORIST_EMBEDDER` | see `memorist.embedders.open_embedder` |
    | | `MEMORIST_MODEL` | the folder of a model; heeded where `MEMORIST_EMBEDDER` says nothing |
    | `busy_timeout` | `MEMORIST_BUSY_TIMEOUT` | seconds to wait for another process's write |
    | `cache_bytes` | `MEMORIST_CACHE_BYTES` | most memory that the ranking cache may hold |
    | `reindexing` | | open a store of another embedder's vectors, to make them anew |

    A blank variable counts as not set.

    Raises:
        InvalidInputError: a number is out of range, or the url is blank.
    """

    url: str = field(default_factory=default_url)
    embedder: EmbedderSpec = None
    busy_timeout: float = 30.0
    cache_bytes: int = 512 * MIB
    reindexing: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url.strip() or "\0" in self.url:
            raise InvalidInputError(f"the database must be a path or a URL, not {self.url!r}")
        _check_number("busy_timeout", self.busy_timeout, float)
        _check_number("cache_bytes", self.cache_bytes, int)

    @classmethod
    def load(cls, env: Mapping[str, str] | None = None) -> Settings:
        """Return the settings that the environment describes.

        Args:
            env: the variables; by default those of this process.

        Raises:
            InvalidInputError: a variable holds something else than it should; the text names it.
        """
        env = os.environ if env is None else env
        given: dict[str, Any] = {
            "embedder": _text(env, "MEMORIST_EMBEDDER") or _folder(env, "MEMORIST_MODEL"),
            "busy_timeout": _number(env, "MEMORIST_BUSY_TIMEOUT", float),
            "cache_bytes": _number(env, "MEMORIST_CACHE_BYTES", int),
        }
        if (url := _text(env, "MEMORIST_DB")) is not None:
            given["url"] = _expanded(url)
        return cls(**{name: value for name, value in given.items() if value is not None})

    def with_given(self, url: str | os.PathLike[str] | None = None, embedder: EmbedderSpec = None) -> Settings:
        """Return these settings with what is given (not None) put in."""
        settings = self
        if url is not None:
            settings = replace(settings, url=_expanded(url))
        if embedder is not None:
            settings = replace(settings, embedder=embedder)
        return settings


def _expanded(url: str | os.PathLike[str]) -> str:
    """Return `url` as a text, with a leading ``~`` replaced by the home folder."""
    if isinstance(url, str):
        return str(Path(url).expanduser()) if url.startswith("~") else url
    if not isinstance(url, os.PathLike) or not isinstance(path := os.fspath(url), str):
        raise InvalidInputError(f"the database must be a path or a URL, not {url!r}")
    path = str(Path(path).expanduser())
    # What comes as a path is never a URL, whatever colons are in it.
    return f"sqlite:{path}" if ":" in path else path


def _text(env: Mapping[str, str], variable: str) -> str | None:
    return env.get(variable, "").strip() or None


def _folder(env: Mapping[str, str], variable: str) -> Path | None:
    text = _text(env, variable)
    return None if text is None else Path(text).expanduser()


def _number(env: Mapping[str, str], variable: str, read: Callable[[str], _Number]) -> _Number | None:
    text = _text(env, variable)
    if text is None:
        return None
    try:
        number = read(text)
    except ValueError as error:
        what = "a whole number" if read is int else "a number"
        raise InvalidInputError(f"{variable} must be {what}, not {text!r}") from error
    _check_number(variable, number, type(number))
    return number


def _check_number(name: str, number: object, form: type) -> None:
    fits = isinstance(number, int if form is int else int | float) and not isinstance(number, bool)
    if not fits or not math.isfinite(number) or number < 0:  # type: ignore[arg-type, operator]
        raise InvalidInputError(f"{name} must be a number of 0 or more, not {number!r}")
