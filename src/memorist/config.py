"""Settings. Arguments and flags override the environment, which overrides a file, which overrides the defaults."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.audit.log import MODES, Mode
from memorist.errors import InvalidInputError, shown
from memorist.records.origins import TrustRules
from memorist.records.times import Clock, now, parse_duration
from memorist.records.zones import ZoneLike, machine_zone, zone_of
from memorist.secrets.policy import POLICIES, Policy
from memorist.system.handles import read_text
from memorist.system.places import default_url, expanded
from memorist.system.variables import PREFIX, VARIABLES, check_variables

if TYPE_CHECKING:
    from memorist.embedders.registry import EmbedderSpec
    from memorist.indexes import Index

_Number = TypeVar("_Number", int, float)

MIB = 1024 * 1024
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting of a memory.

    | field | variable | what it is |
    |---|---|---|
    | `url` | `MEMORIST_DB` | the store: a file's path, or a URL |
    | `index` | `MEMORIST_INDEX` | the URL of an index beside the store; see `memorist.indexes.open_index` |
    | `embedder` | `MEMORIST_EMBEDDER` | see `memorist.embedders.open_embedder` |
    | | `MEMORIST_MODEL` | the folder of a model; heeded where `MEMORIST_EMBEDDER` says nothing |
    | `key_from` | `MEMORIST_KEY_FROM` | where the key that encrypts a SQLite file is kept; see `memorist.stores.keys` |
    | `busy_timeout` | `MEMORIST_BUSY_TIMEOUT` | seconds to wait for another process's write |
    | `cache_bytes` | `MEMORIST_CACHE_BYTES` | most memory that the ranking cache may hold |
    | `largest_index` | `MEMORIST_LARGEST_INDEX` | most records of a user that are ranked whole, in memory |
    | `largest_record` | `MEMORIST_LARGEST_RECORD` | most characters of a record that another program sends, in all |
    | `trust` | `MEMORIST_TRUST` | trust in authors, as ``import=low,web=medium``; see `memorist.records.origins` |
    | `confirm` | `MEMORIST_CONFIRM` | whether what an agent asks for by its own tools waits for the user's yes |
    | `secrets` | `MEMORIST_SECRETS` | `mask`, `refuse` or `keep` keys and the like in texts; see `memorist.secrets` |
    | `zone` | `MEMORIST_ZONE` | the zone of times and days, where a call names none; by default this machine's |
    | `keep_traces` | `MEMORIST_KEEP_TRACES` | how long traces of calls are kept, as "7d" or in seconds; 0 keeps none |
    | `audit` | `MEMORIST_AUDIT` | what the store logs from now on: `off`, `changes` or `reads`; None leaves it |
    | `signing_key` | `MEMORIST_SIGNING_KEY` | the key that signs; by default ``signing.key`` beside the settings |
    | `reindexing` | | open a store of another embedder's vectors, to make them anew |
    | `clock` | | returns the present, in UTC; by default the system's time |

    A blank variable counts as not set.

    Raises:
        InvalidInputError: a number is out of range, or the url is blank.
    """

    url: str = field(default_factory=default_url, repr=False)  # these three may hold a password
    index: str | Index | None = field(default=None, repr=False)
    embedder: EmbedderSpec = field(default=None, repr=False)
    key_from: str | None = None
    busy_timeout: float = 30.0
    cache_bytes: int = 512 * MIB
    largest_index: int = 250_000
    largest_record: int = 1_200_000
    trust: TrustRules = field(default_factory=TrustRules)
    confirm: bool = False
    secrets: Policy | None = None
    zone: ZoneLike | None = None
    keep_traces: str | float = 0
    audit: Mode | None = None
    signing_key: Path | None = None
    reindexing: bool = False
    clock: Clock = now

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url.strip() or "\0" in self.url:
            raise InvalidInputError(f"the database must be a path or a URL, not {shown(self.url)}")
        _check_number("busy_timeout", self.busy_timeout, float)
        for name in ("cache_bytes", "largest_index", "largest_record"):
            _check_number(name, getattr(self, name), int)
        object.__setattr__(self, "keep_traces", _duration("keep_traces", self.keep_traces))
        _truth("confirm", self.confirm)
        if self.secrets is not None:
            _policy("secrets", self.secrets)
        if self.zone is not None:
            zone_of(self.zone)
        if self.audit is not None:
            _mode("audit", self.audit)

    @property
    def home(self) -> tzinfo:
        """The zone of calls that name none: `zone`, or this machine's."""
        return machine_zone() if self.zone is None else zone_of(self.zone)

    @classmethod
    def load(
        cls,
        env: Mapping[str, str] | None = None,
        file: Path | None = None,
        *,
        url: str | os.PathLike[str] | None = None,
        key_from: str | None = None,
    ) -> Settings:
        """Return the settings from the environment; a TOML file supplies those that the environment does not set.

        Args:
            env: the variables; by default those of this process.
            file: holds any of `NAMES`; by default none is read. The command reads `config_file()`.
            url: the store, in the place of theirs. Without any, it is in the home folder, which there may be none of.
            key_from: the value that will take the place of theirs.

        Raises:
            InvalidInputError: a variable or the file holds something else than it should, or a variable whose name
                begins with ``MEMORIST_`` is unknown; the text names it.
        """
        env = os.environ if env is None else env
        given = dict(from_file(file)) if file is not None else {}
        said = from_environment(env)
        check_variables(env, key_from=key_from or {**given, **said}.get("key_from"))
        # if the environment names an embedder, the file's embedder settings have no effect
        if "embedder" in said or "model" in said:
            given.pop("embedder", None)
            given.pop("model", None)
        fields = {**given, **said}
        if (model := fields.pop("model", None)) is not None:
            fields.setdefault("embedder", model)
        if "db" in fields:
            fields["url"] = fields.pop("db")
        if url is not None:
            fields["url"] = _expanded(url)
        return cls(**fields)

    def with_given(
        self,
        url: str | os.PathLike[str] | None = None,
        embedder: EmbedderSpec = None,
        index: str | Index | None = None,
        keep_traces: str | float | None = None,
        key_from: str | None = None,
        confirm: bool | None = None,
        zone: ZoneLike | None = None,
    ) -> Settings:
        """Return these settings with the values given (not None) in place of their own."""
        given: dict[str, Any] = {"embedder": embedder, "index": index, "keep_traces": keep_traces, "key_from": key_from}
        given |= {"confirm": confirm, "zone": zone}
        given["url"] = None if url is None else _expanded(url)
        return replace(self, **{name: value for name, value in given.items() if value is not None})


def from_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """Return what the environment sets, by name.

    Raises:
        InvalidInputError: a variable does not hold what it should.
    """
    given = {}
    for name, read in NAMES.items():
        variable = PREFIX + name.upper()
        if text := env.get(variable, "").strip():
            given[name] = read(variable, text)
    return given


def from_file(path: Path) -> dict[str, Any]:
    """Return what a TOML file sets, by name; nothing where there is no file.

    Raises:
        InvalidInputError: the file is not TOML, or sets an unknown name.
    """
    return {name: NAMES[name](f"{name} in {path}", value) for name, value in _read(path).items() if name in NAMES}


def options_from_file(path: Path) -> dict[str, Any]:
    """Return what a TOML file sets of the command's own options, as it stands there.

    Raises:
        InvalidInputError: as for `from_file`.
    """
    return {name: value for name, value in _read(path).items() if name in COMMAND_NAMES}


def _read(path: Path) -> dict[str, Any]:
    try:
        text = read_text(path)
        import tomllib  # here: where there is no file, nothing is read

        read = tomllib.loads(text)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise InvalidInputError(f"the settings in {path} cannot be read: {error}") from error
    if unknown := sorted(read.keys() - {*NAMES, *COMMAND_NAMES}):
        raise InvalidInputError(
            f"{path} sets unknown names: {', '.join(unknown)}; available: {', '.join((*NAMES, *COMMAND_NAMES))}"
        )
    return read


def _expanded(url: str | os.PathLike[str]) -> str:
    """Return `url` as a text, with a leading ``~`` replaced by the home folder."""
    if isinstance(url, str):
        return str(expanded(url)) if url.startswith("~") else url
    if not isinstance(url, os.PathLike) or not isinstance(path := os.fspath(url), str):
        raise InvalidInputError(f"the database must be a path or a URL, not {shown(url)}")
    path = str(expanded(path))
    # A `Path` is never a URL, even if it contains colons; that of a drive belongs to the path.
    return f"sqlite:{path}" if ":" in os.path.splitdrive(path)[1] else path


def _word(name: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidInputError(f"{name} must be a string, not {shown(value)}")
    return value.strip()


def _mode(name: str, value: object) -> Mode:
    if value not in MODES:
        raise InvalidInputError(f"{name} must be one of {', '.join(MODES)}, not {shown(value)}")
    return value


def _policy(name: str, value: object) -> Policy:
    if value not in POLICIES:
        raise InvalidInputError(f"{name} must be one of {', '.join(POLICIES)}, not {shown(value)}")
    return value


def _truth(name: str, value: object) -> bool:
    said = value if isinstance(value, bool) else _TRUTHS.get(str(value).strip().lower())
    if said is None:
        raise InvalidInputError(f"{name} must be true or false, not {shown(value)}")
    return said


def _folder(name: str, value: object) -> Path:
    return expanded(_word(name, value))


def _duration(name: str, value: object) -> float:
    """Return a length of time in seconds: given as a number of seconds, or as a text such as "7d"."""
    worded = isinstance(value, str) and any(map(str.isalpha, value))
    if (seconds := parse_duration(value if worded else _number(name, value, float))) is None:  # type: ignore[arg-type]
        raise InvalidInputError(f"{name} must be a duration such as 7d or 12h, or seconds, not {shown(value)}")
    return seconds


def _number(name: str, value: object, read: Callable[[str], _Number]) -> _Number:
    try:
        number: Any = read(value) if isinstance(value, str) else value
    except ValueError as error:
        what = "a whole number" if read is int else "a number"
        raise InvalidInputError(f"{name} must be {what}, not {shown(value)}") from error
    _check_number(name, number, int if read is int else float)
    return read(number)


def _check_number(name: str, number: object, form: type) -> None:
    fits = isinstance(number, int if form is int else int | float) and not isinstance(number, bool)
    if not fits or not math.isfinite(number) or number < 0:  # type: ignore[arg-type, operator]
        raise InvalidInputError(f"{name} must be a number of 0 or more, not {shown(number)}")


def _trust(name: str, value: object) -> TrustRules:
    """Return the rules in a TOML table, or in ``author=level`` with commas between."""
    if isinstance(value, str):
        pairs = [part.partition("=") for part in value.split(",")]
        value = {author.strip(): level.strip() for author, _, level in pairs}
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{name} must map authors to levels of trust, not {shown(value)}")
    return TrustRules(value)


NAMES: Mapping[str, Callable[[str, object], Any]] = {
    "db": lambda name, value: _expanded(_word(name, value)),
    "index": _word,
    "embedder": _word,
    "model": _folder,
    "key_from": _word,
    "busy_timeout": partial(_number, read=float),
    "cache_bytes": partial(_number, read=int),
    "largest_index": partial(_number, read=int),
    "largest_record": partial(_number, read=int),
    "trust": _trust,
    "confirm": _truth,
    "secrets": _policy,
    "zone": _word,
    "keep_traces": _duration,
    "audit": _mode,
    "signing_key": _folder,
}
"""What can be set from outside, and what reads it: in a file by this name, in the environment as MEMORIST_NAME."""

COMMAND_NAMES = tuple(name.lower() for name in VARIABLES["options of commands"])
"""What can be set from outside, by the same names, of the options of commands: for the command line alone."""
