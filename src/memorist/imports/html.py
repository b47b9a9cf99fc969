"""The text of HTML, in one pass: Python's parser scans the rest again for each unclosed tag."""

import html
import re

_BLOCKS = frozenset("address blockquote br div dd dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tr ul".split())
_HIDDEN = frozenset(("head", "script", "style", "title"))
_RAW = frozenset(("script", "style"))
"""The tags whose content is not HTML."""
_BEGUN = re.compile("<[a-zA-Z!?/]")
_TAG = re.compile(r"/?([a-zA-Z][^\s/>]*+)")
_ATTRIBUTES = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")


def html_text(text: str) -> str:
    """Return the text of HTML, a line for each block. A tag or a comment that never ends hides all text after it."""
    reader = _Reader(text)
    while reader.step():
        pass
    lines = [" ".join(line.split()) for line in "".join(reader.parts).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


class _Reader:
    def __init__(self, text: str) -> None:
        self.parts: list[str] = []
        self._text = text
        self._lower = text.lower() if text.isascii() else re.sub("[A-Z]+", lambda found: found[0].lower(), text)
        self._at = 0
        self._hidden = 0
        self._quoted = True
        """Whether all quotes so far were closed; after an unclosed quote, a tag ends at the next bracket."""

    def step(self) -> bool:
        """Read up to a tag, and the tag; return whether there may be more."""
        found = _BEGUN.search(self._text, self._at)
        begun = -1 if found is None else found.start()
        self._say(self._text[self._at : begun if begun >= 0 else None])
        if begun < 0:
            return False
        if self._text.startswith("<!--", begun):
            return self._skip("-->", begun + 4)
        tag = _TAG.match(self._text, begun + 1)
        if tag is not None:
            self._tag(tag[1].lower(), closing=self._text[begun + 1] == "/")
            return self._end_tag(tag.end()) and (tag[1].lower() not in _RAW or self._raw(tag))
        return self._skip(">", begun + 2)

    def _skip(self, mark: str, start: int) -> bool:
        end = self._text.find(mark, start)
        self._at = end + len(mark)
        return end >= 0

    def _end_tag(self, start: int) -> bool:
        found = _ATTRIBUTES.match(self._text, start) if self._quoted else None
        if found is None:
            self._quoted = False
            return self._skip(">", start)
        self._at = found.end()
        return True

    def _raw(self, tag: re.Match[str]) -> bool:
        if tag[0].startswith("/"):
            return True
        self._at = self._lower.find(f"</{tag[1].lower()}", self._at)
        return self._at >= 0

    def _tag(self, name: str, *, closing: bool) -> None:
        if name in _HIDDEN:
            self._hidden = max(0, self._hidden + (-1 if closing else 1))
        if name in _BLOCKS and not closing:
            self.parts.append("\n- " if name == "li" else "\n")
        elif name in _BLOCKS and name not in ("br", "li"):
            self.parts.append("\n")

    def _say(self, text: str) -> None:
        if text and not self._hidden:
            self.parts.append(_unescaped(text).replace("\n", " "))


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a number with thousands of digits
        return text
