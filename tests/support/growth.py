"""How the time of reading a text grows with its length."""

from collections.abc import Callable
from time import process_time

_TIMES = 12


def is_quadratic(read: Callable[[str], object], text: Callable[[int], str], length: int = 2_000) -> bool:
    """Return whether a text that is 12 times as long takes more than 48 times as long to read.

    In proportion to its length it takes 12 times as long, to its square 144 times: far enough apart for a busy machine.

    Args:
        read: Reads a text.
        text: Makes a text of a length in characters.
        length: The shorter length.
    """
    read(text(100))

    def least(length: int) -> float:
        given, taken = text(length), []
        for _ in range(3):
            begun = process_time()
            read(given)
            taken.append(process_time() - begun)
        return min(taken)

    return least(_TIMES * length) > 4 * _TIMES * max(least(length), 1e-3)
