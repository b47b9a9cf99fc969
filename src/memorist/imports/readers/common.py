"""What several readers share."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Concatenate, ParamSpec

from memorist.errors import FormatError
from memorist.imports.reader import Bad, Item
from memorist.imports.sources import Part

__all__ = ["attempt", "blocks_text", "each"]

_P = ParamSpec("_P")
_MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def attempt(
    where: str, make: Callable[_P, Iterator[Item | Bad]], *args: _P.args, **kwargs: _P.kwargs
) -> Iterator[Item | Bad]:
    """Yield the items that `make` finds in some part of a file; one of another form is told as bad."""
    try:
        yield from make(*args, **kwargs)
    except FormatError:
        raise  # nothing after it can be read
    except _MALFORMED as error:
        yield Bad(where, f"it is not of the form expected: {type(error).__name__}: {error}")


def each(
    part: Part,
    make: Callable[Concatenate[str, Any, _P], Iterator[Item | Bad]],
    *args: _P.args,
    **kwargs: _P.kwargs,
) -> Iterator[Item | Bad]:
    """Yield the items that `make` finds in each record of a JSON file, given the record's place and value."""
    for where, value in part.records():
        if isinstance(value, FormatError):
            yield Bad(where, str(value))
        else:
            yield from attempt(where, make, where, value, *args, **kwargs)


def blocks_text(content: Any) -> str:
    """Return the text of a message's content: a text, a block, or a list of both; other blocks have none."""
    if isinstance(content, dict):
        kind = content.get("type")
        content = content.get("text") if kind is None or str(kind).endswith("text") else None
    if isinstance(content, str):
        return content
    blocks: Iterable[Any] = content if isinstance(content, list) else ()
    return "\n".join(filter(None, map(blocks_text, blocks)))
