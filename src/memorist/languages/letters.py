"""A text as the tables are compared with it: lower case, plain digits and letters. Every letter keeps its position."""

import re
import unicodedata
from functools import lru_cache

_SAME = (
    "İi ’' ʼ' ‘' \u00a0\u0020 \u202f\u0020 \u3000\u0020 \u200c\u0020 ёе Ёе"
    " أا إا آا ٱا ىی يی ئی كک ةه ۀه ؤو"
    " 週周 個个 後后 號号 禮礼 這这 們们 說说 記记 請请 時时 間间 從从 現现 過过 總总 還还 對对 嗎吗 麼么 誰谁 幾几"
    " 點点 開开 會会 來来 歡欢 謝谢 裡里 裏里 兒儿 長长 別别 務务 萬万 當当 沒没 應应 聽听 寫写 愛爱 給给 讓让"
)
"""Letters that many write one for the other, each before the one that stands for both."""


class _Plain(dict[int, int]):
    """Maps a letter to its plain form, which is looked up in the Unicode tables at the letter's first use."""

    def __missing__(self, code: int) -> int:
        letter = chr(code)
        digit = unicodedata.decimal(letter, None)
        if digit is not None:
            self[code] = ord("0") + digit
        else:
            self[code] = code - 0xFEE0 if 0xFF00 < code < 0xFF5F and letter.isalpha() else code  # a full-width form
        return self[code]


_PLAIN = _Plain({ord(pair[0]): ord(pair[1]) for pair in re.findall(r"(?s)(..)(?: |$)", _SAME)})


def same_letters(text: str) -> str:
    """Return a text of the same length with one form of each letter, and the digits of every script as 0 to 9."""
    return text if text.isascii() else text.translate(_PLAIN)


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """Return what `same_letters` does, in lower case."""
    return same_letters(text).lower()
