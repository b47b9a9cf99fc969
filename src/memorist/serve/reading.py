"""Strict parsing of headers and query strings: UTF-8 only, no duplicates, no unknown parameters."""

from collections.abc import Collection, Iterable
from urllib.parse import parse_qsl

from memorist.arguments import unknown_arguments
from memorist.errors import InvalidInputError

__all__ = ["USER_HEADER", "check_query", "header", "read_query"]

USER_HEADER = "Memorist-User"
_MOST_PARAMETERS = 200


def header(headers: Iterable[tuple[bytes, bytes]], name: str) -> str | None:
    """Return the value of a header, or None if it is not sent.

    Raises:
        InvalidInputError: it is blank, sent twice, or not UTF-8.
    """
    values = [value for each, value in headers if each.decode("latin-1").lower() == name.lower()]
    if not values:
        return None
    if len(values) > 1:
        raise InvalidInputError(f"the header {name} comes {len(values)} times; send it once")
    try:
        text = values[0].decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"the header {name} is not UTF-8") from error
    if not text.strip():
        raise InvalidInputError(f"the header {name} must not be blank; leave it out instead")
    return text


def read_query(query: bytes) -> list[tuple[str, str]]:
    """Return the parameters of a query string, in order.

    Raises:
        InvalidInputError: it is not UTF-8, or has too many parameters.
    """
    try:
        return parse_qsl(
            query.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_PARAMETERS
        )
    except UnicodeDecodeError as error:
        raise InvalidInputError("the query is not UTF-8") from error
    except ValueError as error:
        raise InvalidInputError(f"the query has more than {_MOST_PARAMETERS} parameters") from error


def check_query(query: bytes, known: Collection[str], repeated: Collection[str] = ()) -> None:
    """Refuse a query string with unknown or repeated parameters.

    Args:
        query: the query string as it was sent.
        known: the route's parameters.
        repeated: the parameters that may be repeated.

    Raises:
        InvalidInputError: a parameter is unknown or repeated, or as for `read_query`.
    """
    seen = set[str]()
    for name, _ in read_query(query):
        unknown_arguments("this address", [name], known)
        if name in seen and name not in repeated:
            raise InvalidInputError(f"the parameter {name!r} comes twice; give it once")
        seen.add(name)
