"""Strict parsing of headers, query strings and forms: UTF-8 only, no duplicates, no unknown parameters."""

import re
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import parse_qsl

from memorist.errors import InvalidInputError, shown
from memorist.operations.arguments import unknown_arguments

USER_HEADER = "Memorist-User"
ZONE_HEADER = "Memorist-Zone"
KEY_HEADER = "Idempotency-Key"
_MOST_PARAMETERS = 200
_NUMBER = re.compile(r"-?\d{1,400}(\.\d{1,400})?([eE][+-]?\d{1,4})?", re.ASCII)


def header(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """Return the value of a header, or None if it is not sent.

    Raises:
        InvalidInputError: it is blank, sent twice, or not UTF-8.
    """
    wanted = name.lower().encode("latin-1")
    values = [value for each, value in headers if each.lower() == wanted]
    if not values:
        return None
    if len(values) > 1:
        raise InvalidInputError(f"the header {name} was sent {len(values)} times; send it once")
    try:
        text = values[0].decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the header {name} is not UTF-8") from error
    if not text.strip():
        raise InvalidInputError(f"the header {name} must not be blank; omit it instead")
    return text


def read_query(query: bytes, known: Collection[str], repeated: Collection[str] = ()) -> dict[str, Any]:
    """Return the parameters of a query string or of a form: a text each, a list of one that comes repeatedly.

    Args:
        query: the query string as it was sent.
        known: the names there are.
        repeated: those of them that may be repeated.

    Raises:
        InvalidInputError: a parameter is unknown or repeated, there are too many, or it is not UTF-8.
    """
    try:
        pairs = parse_qsl(
            query.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except UnicodeDecodeError as error:
        raise InvalidInputError("the query is not UTF-8") from error
    except ValueError as error:
        raise InvalidInputError(f"the query has more than {_MOST_PARAMETERS} parameters") from error
    unknown_arguments("this address", [name for name, _ in pairs], known)
    found: dict[str, Any] = {name: [] for name, _ in pairs if name in repeated}
    for name, text in pairs:
        if name in repeated:
            found[name].append(text)
        elif name in found:
            raise InvalidInputError(f"the parameter {shown(name)} was sent twice; send it once")
        else:
            found[name] = text
    return found | {name: texts[0] for name, texts in found.items() if name in repeated and len(texts) == 1}


def number_of(text: str) -> float | str:
    """Return the number that a text is, as JSON writes numbers, or the text, for the rules of arguments to refuse."""
    if _NUMBER.fullmatch(text) is None:
        return text
    return int(text) if text.lstrip("-").isdigit() else float(text)


def truth_of(text: str) -> bool | str:
    """Return the truth value that a text is, as JSON writes them, or the text, for the rules of arguments to refuse."""
    return {"true": True, "false": False}.get(text, text)
