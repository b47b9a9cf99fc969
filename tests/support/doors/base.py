"""What a door is: one way in, whose answers can be compared with Python's."""

import contextlib
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

from doors.calls import VERBS, Call
from doors.files import kept
from memorist import errors
from memorist.memory import Memory

KEPT = (
    "kind", "content", "cue", "key", "metadata", "payload", "source", "verified", "rating", "session", "happened_at",
    "version",
)  # fmt: skip


class Refused(Exception):
    """A door answered with an error; `family` names its class, or None where the door does not tell."""

    def __init__(self, family: str | None) -> None:
        super().__init__(family)
        self.family = family


def family_of(name: str) -> str:
    """Return the class of error that callers tell apart: what is wrong with a request is one."""
    return "InvalidInputError" if issubclass(getattr(errors, name), errors.InvalidInputError) else name


@contextlib.contextmanager
def refusing(verb: str) -> Iterator[None]:
    """Turn an error of ours, and Python's own for an argument that a function lacks, to what is compared."""
    try:
        yield
    except errors.MemoristError as error:
        public = next(each.__name__ for each in type(error).__mro__ if hasattr(errors, each.__name__))
        raise Refused(family_of(public)) from error
    except OSError as error:
        raise Refused(None) from error
    except TypeError as error:
        if "unexpected keyword argument" not in str(error):
            raise
        raise Refused("InvalidInputError") from error


def traced(plain: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return traces as JSON in the form of records: what was asked, and how many hits were given."""
    return [{"id": each["verb"], "content": each["question"], "version": len(each["hits"])} for each in plain]


def sourced(plain: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a provenance as JSON in the form of records, each with its depth and trust."""
    sources = [{**each["record"], "source": f"{each['depth']} {each['trust']}"} for each in plain["sources"]]
    return sources + [{"id": id} for id in plain["missing"]]


def changed(plain: dict[str, Any]) -> list[dict[str, Any]]:
    """Return changes as JSON in the form of records, each with what was before, and why."""
    pairs = [(each, each["former"]["content"]) for each in plain["changes"]]
    return [{**each["record"], "source": f"{each['score']:.2f} {each['signs']} {before}"} for each, before in pairs]


def drawn(plain: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what was derived as JSON in the form of records, each with how it was."""
    return [{**each, "source": how} for how in ("alone", "partly") for each in plain[how]]


def proposed(plain: dict[str, Any]) -> dict[str, Any]:
    """Return a proposal as JSON in the form of a record: what is asked, and its text."""
    return {"id": plain["id"], "kind": plain["verb"], "content": plain["content"]}


def logged(plain: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return entries of the audit log as JSON in the form of records: the verb, and what it did."""
    return [{"id": each["verb"], "content": str(each["records"])} for each in plain]


def halved(arguments: Mapping[str, Any]) -> bool:
    """Return whether an argument holds half of a character, which JSON can say, and neither a URL nor a browser."""
    return "\\ud800" in repr(arguments)


class Door:
    """One way in, to a database of its own."""

    verbs: ClassVar[Collection[str]] = VERBS
    shows: ClassVar[Collection[str]] = KEPT
    """The fields of a record that can be seen here."""
    in_zone: ClassVar[bool] = False
    """Whether times are shown in the zone of a call."""

    def __init__(self, memory: Memory, path: Path) -> None:
        self.memory = memory
        self.path = path

    def takes(self, call: Call) -> bool:
        """Whether the call can be made here at all."""
        return call.verb in self.verbs

    async def empty(self) -> str:
        """Return a tenant that has no records."""
        return f"t{uuid.uuid4().hex}"

    @asynccontextmanager
    async def ready(self) -> AsyncIterator["Door"]:
        """Run what answers."""
        yield self

    async def left(self, tenant: str) -> list[Any]:
        """Return what imports and hooks left in a tenant."""
        return await kept(self.memory, tenant)

    async def call(self, tenant: str, call: Call) -> Any:
        """Return the answer as JSON: a record, records, changes, a number.

        Raises:
            Refused: it is an error; a record that is not there is a NotFoundError.
        """
        raise NotImplementedError
