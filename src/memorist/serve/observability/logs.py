"""The log of a server, on stderr: a line for each entry, as text or JSON, without the messages of exceptions.

The message of an exception may quote a memory's text. So a traceback is written with only its classes, files and
lines.
"""

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

LogFormat = Literal["text", "json"]


def start_logging(form: LogFormat | None = None, stream: TextIO | None = None) -> logging.Handler:
    """Send this process's log to stderr.

    Args:
        form: "text" or "json", with a line for each request; None writes only errors, as text.
        stream: the stream to write to; by default stderr.

    Returns:
        The handler, which the caller removes from the root logger.
    """
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    handler.setLevel(logging.WARNING if form is None else logging.INFO)
    root = logging.getLogger()
    root.addHandler(handler)
    logging.getLogger("memorist").setLevel(logging.WARNING if form is None else logging.INFO)
    return handler


class JsonLines(logging.Formatter):
    """Formats each entry as a JSON object on one line."""

    def format(self, record: logging.LogRecord) -> str:
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
    """Formats each entry as a readable line, followed by its fields."""

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC)
        fields = "".join(f" {name}={_plain(value)}" for name, value in getattr(record, "fields", {}).items())
        line = (
            f"{moment:%Y-%m-%d %H:%M:%S} {record.levelname.lower()} {record.name}: {_plain(_message(record))}{fields}"
        )
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + "\n".join(_frames(record.exc_info[1]))
        return line


def _message(record: logging.LogRecord) -> str:
    """Return the first line of an entry's message, which is a library's own text.

    asyncio puts an uncaught exception into the following lines.
    """
    arguments = record.args
    if isinstance(arguments, tuple):
        arguments = tuple(_class_of(each) for each in arguments)
    said = str(_class_of(record.msg))
    return (said % arguments if arguments else said).partition("\n")[0]


def _class_of(value: object) -> object:
    return type(value).__name__ if isinstance(value, BaseException) else value


def _frames(error: BaseException) -> list[str]:
    """Return where an exception and its causes were raised: classes, files and lines."""
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
    """Return a value on one line, with control characters escaped."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value))
