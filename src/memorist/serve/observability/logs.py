"""The log of a server, on stderr: a line for each entry, as text or JSON, and never what an exception says.

The message of an exception may quote what it failed on, and that may be a memory's text. So a traceback is written
with its classes, files and lines alone.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

__all__ = ["LogFormat", "start_logging"]

LogFormat = Literal["text", "json"]


def start_logging(form: LogFormat | None = None, stream: TextIO | None = None) -> logging.Handler:
    """Send this process's log to stderr.

    Args:
        form: "text" or "json", with a line for each request; None writes only what goes wrong, as text.
        stream: where to, if not to stderr.

    Returns:
        What writes it, to be removed from the root logger again.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.setLevel(logging.WARNING if form is None else logging.INFO)
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("memorist").setLevel(logging.WARNING if form is None else logging.INFO)
    return handler


class JsonLines(logging.Formatter):
    """Each entry is a JSON object on a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        entry: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": _message(record),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            entry["exception"] = _frames(record.exc_info[1])
        return json.dumps(entry, ensure_ascii=True)


class TextLines(logging.Formatter):
    """Each entry is a line for people, with its fields behind it."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line, and a traceback below it."""
        moment = datetime.fromtimestamp(record.created, UTC)
        fields = "".join(f" {name}={_plain(value)}" for name, value in getattr(record, "fields", {}).items())
        line = (
            f"{moment:%Y-%m-%d %H:%M:%S} {record.levelname.lower()} {record.name}: {_plain(_message(record))}{fields}"
        )
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + "\n".join(_frames(record.exc_info[1]))
        return line


def _message(record: logging.LogRecord) -> str:
    """Return the first line of what an entry says, which in libraries' entries is their own words.

    asyncio puts the exception that nobody caught into the lines below it.
    """
    arguments = record.args
    if isinstance(arguments, tuple):
        arguments = tuple(_class_of(each) for each in arguments)
    said = str(_class_of(record.msg))
    return (said % arguments if arguments else said).partition("\n")[0]


def _class_of(value: object) -> object:
    return type(value).__name__ if isinstance(value, BaseException) else value


def _frames(error: BaseException) -> list[str]:
    """Return where an exception, and each that led to it, was raised: classes, files and lines."""
    told: list[str] = []
    seen: set[int] = set()
    now: BaseException | None = error
    while now is not None and id(now) not in seen:
        seen.add(id(now))
        told.append(type(now).__name__)
        told += [f"  {each.filename}:{each.lineno} in {each.name}" for each in traceback.extract_tb(now.__traceback__)]
        now = now.__cause__ or (None if now.__suppress_context__ else now.__context__)
    return told


def _plain(value: object) -> str:
    """Return a value on one line, whatever characters are in it."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value))
