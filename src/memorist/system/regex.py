"""Regular expressions that are compiled when they are first used: most programs that start use few of them."""

import re
from typing import Any, cast


class _Pattern:
    def __init__(self, text: str, flags: int) -> None:
        self._given = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(*self._given), name)
        setattr(self, name, value)  # it is found without this method from now on
        return value


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what has the methods of a compiled regular expression. A wrong one raises `re.error` at its first use."""
    return cast("re.Pattern[str]", _Pattern(text, flags))
