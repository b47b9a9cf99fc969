"""The text of HTML, in one pass: Python's parser scans the rest again for each unclosed tag."""

import html
import re
from contextlib import suppress

_BLOCKS = frozenset("address blockquote br div dd dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tr ul".split())
_HIDDEN = frozenset(("head", "script", "style", "title"))
_RAW = frozenset(("script", "style"))
"""The tags whose content is not HTML."""
_LONGEST_ATTRIBUTES = 2_000
_BEGUN = re.compile("<[a-zA-Z!?/]")
_TAG = re.compile(r"/?([a-zA-Z][^\s/>]*+)")
_ATTRIBUTES = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")


_QUOTING = re.compile(
    r"""\btype\s*=\s*["']?cite\b|\bclass\s*=\s*["'][^"']*(?:gmail_quote|yahoo_quoted|protonmail_quote|moz-cite-prefix)""",
    re.IGNORECASE,
)
"""The attributes of an element that holds a message which is answered or passed on."""
_ENDING = re.compile(
    r"""\bid\s*=\s*["']?(?:appendonsend|divRplyFwdMsg)\b|border-top:\s*solid\s+#(?:E1E1E1|B5C4DF)\b""", re.IGNORECASE
)
"""The attributes of an element of Outlook's after which only such a message follows."""
_QUOTE, _UNQUOTE = "\x02", "\x03"
END_OF_OWN = "-----Original Message-----"
"""Stands where a mail's own words end, as it does in plain text."""


def mail_text(text: str) -> str:
    """Return what `html_text` does, with messages that are answered or passed on behind ">", as in plain text."""
    lines, depth = list[str](), 0
    for line in html_text(text, quoting=True).split("\n"):
        depth += line.count(_QUOTE) - line.count(_UNQUOTE)
        plain = line.replace(_QUOTE, "").replace(_UNQUOTE, "")
        if plain.strip() or plain == line:
            lines.append(f"> {plain}" if depth > 0 else plain)
    return "\n".join(lines).strip()


class _Quotes:
    """Follows where quoted messages begin and end, each with the end of its element."""

    def __init__(self) -> None:
        self._open: list[tuple[str, int]] = []

    def mark(self, name: str, attributes: str, *, closing: bool) -> str:
        """Return what a tag adds to the text."""
        if closing:
            return self._closed(name)
        if self._open and self._open[-1][0] == name:
            self._open[-1] = (name, self._open[-1][1] + 1)
        if name in ("blockquote", "div") and _QUOTING.search(attributes[:_LONGEST_ATTRIBUTES]):
            self._open.append((name, 1))
            return f"\n{_QUOTE}\n"
        return f"\n{END_OF_OWN}\n" if name == "div" and _ENDING.search(attributes[:_LONGEST_ATTRIBUTES]) else ""

    def _closed(self, name: str) -> str:
        if not self._open or self._open[-1][0] != name:
            return ""
        left = self._open[-1][1] - 1
        self._open[-1] = (name, left)
        if left:
            return ""
        self._open.pop()
        if self._open and self._open[-1][0] == name:  # it counted for the one around it, too
            self._open[-1] = (name, self._open[-1][1] - 1)
        return f"\n{_UNQUOTE}\n"


def html_text(text: str, *, quoting: bool = False) -> str:
    """Return the text of HTML, a line for each block. A tag or a comment that never ends hides all text after it.

    Args:
        text: the HTML.
        quoting: mark where messages that are answered begin and end; see `mail_text`.
    """
    quotes = _Quotes() if quoting else None
    text = text.replace(_QUOTE, "").replace(_UNQUOTE, "")
    lower = text.lower() if text.isascii() else re.sub("[A-Z]+", lambda found: found[0].lower(), text)
    parts = list[str]()
    at, hidden = 0, 0
    quoted = True  # all quotes so far were closed; after an unclosed quote, a tag ends at the next bracket

    def behind(mark: str, start: int) -> int:
        """Return the place after the next mark, or -1 if no mark follows."""
        end = text.find(mark, start)
        return end if end < 0 else end + len(mark)

    while at >= 0:
        found = _BEGUN.search(text, at)
        said = text[at : None if found is None else found.start()]
        if said and not hidden:
            with suppress(ValueError):  # a number with thousands of digits
                said = html.unescape(said)
            parts.append(said.replace("\n", " "))
        if found is None:
            break
        begun = found.start()
        if text.startswith("<!--", begun):
            at = behind("-->", begun + 4)
        elif (tag := _TAG.match(text, begun + 1)) is None:
            at = behind(">", begun + 2)
        else:
            name, closing = tag[1].lower(), text[begun + 1] == "/"
            if name in _HIDDEN:
                hidden = max(0, hidden + (-1 if closing else 1))
            if name in _BLOCKS and not closing:
                parts.append("\n- " if name == "li" else "\n")
            elif name in _BLOCKS and name not in ("br", "li"):
                parts.append("\n")
            attributes = _ATTRIBUTES.match(text, tag.end()) if quoted else None
            quoted = attributes is not None
            if quotes is not None:
                parts.append(quotes.mark(name, "" if attributes is None else attributes[0], closing=closing))
            at = behind(">", tag.end()) if attributes is None else attributes.end()
            if at >= 0 and name in _RAW and not closing:
                at = lower.find(f"</{name}", at)
    lines = [" ".join(line.split()) for line in "".join(parts).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
