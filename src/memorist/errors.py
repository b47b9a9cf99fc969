"""Every error this package raises on purpose, as one tree, so that a caller can catch one error or a whole branch.

MemoristError
├── InvalidInputError          an argument is wrong; also a ValueError
│   ├── FormatError            a file or line to load is not in a form that can be read
│   └── UnknownArgumentError   a call has no such argument; also a TypeError
├── ScopeError                 a call would cross a wall between tenants or users
├── NotFoundError              the record named does not exist in this scope; also a LookupError
├── ConflictError              an id, a key or a version is taken
├── WaitingError               what an agent asks for waits for the user's yes
├── ClosedError                the memory is not open
├── StoreError                 the store could not do what was asked; nothing was half-written
│   ├── StoreBusyError         another process held the store for longer than the time-out
│   ├── StoreFullError         no space is left where the store writes
│   ├── StoreCorruptError      the file is damaged, or is something else
│   ├── StoreKeyError          the key of an encrypted store is missing, wrong, or not needed
│   ├── StoreUnavailableError  the store cannot be reached or opened
│   └── SchemaError            the store was written by another version that this one cannot use
├── EmbedderError              the embedder failed or answered something unusable
│   ├── EmbedderUnavailableError   it cannot be reached or loaded now
│   └── EmbedderMismatchError      the store holds vectors of another embedder
├── ModelError                 the chat model failed or refused
│   └── ModelUnavailableError      it cannot be reached or used now
├── BusError                   a message bus cannot be reached, is closed, or refused a message
├── SignatureError             a signed statement is not genuine, or the key is unusable
└── MissingExtraError          an optional package is not installed; also an ImportError
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

__all__ = [
    "BusError",
    "ClosedError",
    "ConflictError",
    "EmbedderError",
    "EmbedderMismatchError",
    "EmbedderUnavailableError",
    "FormatError",
    "InvalidInputError",
    "MemoristError",
    "MissingExtraError",
    "ModelError",
    "ModelUnavailableError",
    "NotFoundError",
    "SchemaError",
    "ScopeError",
    "SignatureError",
    "StoreBusyError",
    "StoreCorruptError",
    "StoreError",
    "StoreFullError",
    "StoreKeyError",
    "StoreUnavailableError",
    "UnknownArgumentError",
    "WaitingError",
    "embedder_mismatch",
    "error_of",
    "install_command",
    "missing_extra",
    "needs",
    "path_taken",
    "shown",
    "upgrade_advice",
]

_LONGEST_SHOWN = 60


class MemoristError(Exception):
    """Base of every error raised on purpose by this package."""


class InvalidInputError(MemoristError, ValueError):
    """An argument is wrong; the text says which, and what would be right."""


class FormatError(InvalidInputError):
    """A file or a line to load is not in a form that can be read."""


class UnknownArgumentError(InvalidInputError, TypeError):
    """A call names an argument that the verb does not have; the text names the nearest right one."""


class ScopeError(MemoristError):
    """A call would cross a wall: another tenant's or another user's records."""


class NotFoundError(MemoristError, LookupError):
    """The record named does not exist in this scope."""


class ConflictError(MemoristError):
    """An id or a key is taken, or the record was changed by someone else meanwhile."""


class WaitingError(MemoristError):
    """What an agent asks for is stored in the inbox, and is done when the user says yes; nothing else has changed.

    `proposal` is the id that `Admin.keep` and `Admin.drop` take; None where the error came from a server.
    """

    proposal: str | None = None


class ClosedError(MemoristError):
    """The memory is not open: not yet, or no longer."""


class StoreError(MemoristError):
    """The store could not do what was asked; nothing was half-written."""


class StoreBusyError(StoreError):
    """Another process held the store for longer than the time-out; the call can be repeated."""


class StoreFullError(StoreError):
    """No space is left where the store writes; what was acknowledged before is safe."""


class StoreCorruptError(StoreError):
    """The file is damaged, or is not a memory at all."""


class StoreKeyError(StoreError):
    """The key of an encrypted store cannot be read, or does not fit the store."""


class StoreUnavailableError(StoreError):
    """The store cannot be reached or opened."""


class SchemaError(StoreError):
    """The store was written by a version of this package that this one cannot use."""


class EmbedderError(MemoristError):
    """The embedder failed, or answered something that is not a vector for each text."""


class EmbedderUnavailableError(EmbedderError):
    """The embedder cannot be reached or loaded now; the call can be repeated."""


class EmbedderMismatchError(EmbedderError):
    """The store holds vectors of another embedder; ``memorist reindex`` makes them anew."""


class ModelError(MemoristError):
    """The chat model failed, or does not take what it was asked."""


class ModelUnavailableError(ModelError):
    """The chat model cannot be reached or used now; the call can be repeated."""


class BusError(MemoristError):
    """A message bus cannot be reached, is closed, or refused a message."""


class SignatureError(MemoristError):
    """A statement is not signed, was signed with another key, or was changed; or the installation's key is unusable."""


class MissingExtraError(MemoristError, ImportError):
    """An optional package is not installed; the text names the pip command."""


def embedder_mismatch(stored: str | None, given: str | None) -> EmbedderMismatchError:
    """Return the error for a store that holds vectors of the embedder `stored`, opened with `given`."""
    return EmbedderMismatchError(
        f"the store holds vectors of the embedder {stored!r}, not of {given!r}; "
        "open it with that embedder, or run: memorist reindex"
    )


def embedder_resized(fingerprint: str | None, stored: int, given: int) -> EmbedderMismatchError:
    """Return the error for a store whose vectors have another length than those of the embedder with its name."""
    return EmbedderMismatchError(
        f"the store holds vectors of {stored} numbers, and the embedder {fingerprint!r} gives {given} now: another "
        "model is behind its name; open it with the model that it was, or run: memorist reindex"
    )


def path_taken(path: object) -> InvalidInputError:
    """Return the error for a file that was to be made, but exists."""
    return InvalidInputError(f"{path} exists; choose another path")


def missing_extra(package: str, extra: str) -> MissingExtraError:
    """Return the error for an optional `package` that the extra `extra` of this package brings."""
    return MissingExtraError(f"{package} is not installed; run: {install_command(extra)}")


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Import an optional package in this block, or raise the error that names the extra which brings it."""
    try:
        yield
    except ImportError as error:
        raise missing_extra(package, extra) from error


def install_command(extra: str | None = None) -> str:
    """Return the pip command that adds an extra to this installation, or upgrades it, from where it came (PEP 610)."""
    from urllib.parse import unquote, urlsplit

    origin = _origin()
    package, upgrade = ("memorist", "--upgrade ") if extra is None else (f"memorist[{extra}]", "")
    if origin is None:  # from a package index
        return f"pip install {upgrade}'{package}'"
    url = origin["url"]
    if "dir_info" in origin:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {upgrade}{editable}'{unquote(urlsplit(url).path)}{package.removeprefix('memorist')}'"
    if "vcs_info" in origin:
        revision = "" if extra is None else f"@{origin['vcs_info']['commit_id']}"
        url = f"{origin['vcs_info']['vcs']}+{url}{revision}"
    return f"pip install {upgrade}'{package} @ {url}'"


def upgrade_advice() -> str:
    """Return how to come to a newer version: where this one came from a file, that file is not newer."""
    from urllib.parse import unquote, urlsplit

    origin = _origin() or {}
    path = unquote(urlsplit(origin.get("url", "")).path)
    if "archive_info" in origin:
        return f"install a newer wheel than {path.rpartition('/')[2]}: pip install --upgrade WHEEL"
    before = f"update its source in {path}, and run" if "dir_info" in origin else "upgrade it"
    return f"{before}: {install_command()}"


def _origin() -> Any:
    """Return where this installation came from (PEP 610); None for a package index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        return json.loads(distribution("memorist").read_text("direct_url.json") or "null")
    except (PackageNotFoundError, ValueError):
        return None


def shown(value: object) -> str:
    """Return how an error shows a value: as Python writes it, a long one cut."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a whole number of over 4,300 digits, or lists nested too deep
        return f"{type(value).__name__} too long to show"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text):,} characters)"


def error_of(problem: Mapping[str, object]) -> MemoristError:
    """Return the error that a problem document of a server reports, in its own class."""
    name, detail = problem.get("error"), str(problem.get("detail") or "the server answered with an error")
    kind = globals().get(str(name)) if name in __all__ else None
    return kind(detail) if isinstance(kind, type) and issubclass(kind, MemoristError) else MemoristError(detail)
