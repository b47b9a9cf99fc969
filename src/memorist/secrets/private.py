"""Parts of a text that its author has marked as private: ``<private>…</private>``. They are never stored."""

from memorist.system.regex import regex

PRIVATE = "[private]"
"""Stands for a private part."""
_TAG = regex(r"(?i)<\s{0,9}(/?)\s{0,9}private\s{0,9}>")


def without_private(text: str) -> str:
    """Return a text without its private parts, nested ones included; one that is never closed goes on to the end."""
    kept, at, depth = list[str](), 0, 0
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if depth == 0:
                kept += [text[at : tag.start()], PRIVATE]
            depth += 1
        elif depth:
            depth -= 1
            at = tag.end()
    return text if not kept else "".join([*kept, "" if depth else text[at:]])
