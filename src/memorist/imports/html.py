"""The text of HTML, in one pass: Python's parser scans the rest again for each unclosed tag."""

import html
import re
from contextlib import suppress

_BLOCKS = frozenset("address blockquote br div dd dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre section table tr ul".split())
_HIDDEN = frozenset(("head", "script", "style", "title"))
_RAW = frozenset(("script", "style"))
"""The tags whose content is not HTML."""
_BEGUN = re.compile("<[a-zA-Z!?/]")
_TAG = re.compile(r"/?([a-zA-Z][^\s/>]*+)")
_ATTRIBUTES = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")


def html_text(text: str) -> str:
    """Return the text of HTML, a line for each block. A tag or a comment that never ends hides all text after it."""
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
            at = behind(">", tag.end()) if attributes is None else attributes.end()
            if at >= 0 and name in _RAW and not closing:
                at = lower.find(f"</{name}", at)
    lines = [" ".join(line.split()) for line in "".join(parts).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()
