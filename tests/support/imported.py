"""What readers find in files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from memorist.imports import Bad, Item, Options, read

Write: TypeAlias = Callable[..., Path]


def items(path: Path, format: str | None = None, **options: Any) -> list[Item]:
    """Return what a file holds, none of it bad."""
    found = list(read(path, format=format, options=Options(**options)))
    assert [str(each) for each in found if isinstance(each, Bad)] == []
    return [each for each in found if isinstance(each, Item)]


def bad(path: Path, format: str | None = None) -> list[Bad]:
    """Return the bad parts of a file."""
    return [each for each in read(path, format=format) if isinstance(each, Bad)]
