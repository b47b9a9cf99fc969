"""A text as the tables are written: lower case, plain digits, plain apostrophes. No letter changes its place."""

import unicodedata
from functools import lru_cache

_GIVEN = {"İ": "i", "’": "'", "ʼ": "'", "\u00a0": " ", "\u202f": " ", "\u3000": " ", "ي": "ی", "ك": "ک"}


class _Plain(dict[int, int | None]):
    """Maps a letter to its plain form. A letter is looked up in the tables of Unicode when it first comes."""

    def __missing__(self, code: int) -> int:
        letter = chr(code)
        changed = _GIVEN.get(letter, letter)
        if (digit := unicodedata.decimal(letter, None)) is not None:
            changed = str(digit)
        elif 0xFF00 < code < 0xFF5F:  # a full-width form
            changed = chr(code - 0xFEE0)
        self[code] = ord(changed)
        return self[code]  # type: ignore[return-value]


_PLAIN = _Plain()


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """Return a text of the same length in lower case, with the digits of every script as 0 to 9."""
    if text.isascii():
        return text.lower()
    return text.translate(_PLAIN).lower()
