"""Which parts of Markdown are code: between fences, indented, or in a line between backticks."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

Line: TypeAlias = tuple[str, bool]
"""A line, and whether it is code."""
Segment: TypeAlias = tuple[str, bool]
"""A text, and whether it is code."""

_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_LISTED = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_TICKS = re.compile("`+")
_PARAGRAPH = re.compile(r"\n[ \t]*\n")
_COMMENTS = {"%%": "%%", "<!--": "-->"}
_COMMENT = re.compile("|".join(_COMMENTS))


@dataclass(slots=True)
class Fences:
    """Tells of one line after the other whether it is code."""

    _mark: str = ""
    _quoted: bool = False
    _blank: bool = True
    _indented: bool = False
    _listed: bool = False

    def hold(self, line: str) -> bool:
        """Return whether the next line is code; the fences are."""
        found = _FENCE.match(line)
        quoted = line.lstrip().startswith(">")
        if self._mark and self._quoted and not quoted:  # a fence ends with the quotation that it is in
            self._mark = ""
        if self._mark:
            closes = found is not None and found["mark"].startswith(self._mark) and not found["info"].strip()
            self._mark = "" if closes else self._mark
            return True
        if found is not None and not (found["mark"][0] == "`" and "`" in found["info"]):
            self._mark, self._quoted = found["mark"], quoted
            self._blank = self._indented = False
            return True
        return self._holds_indented(line)

    def _holds_indented(self, line: str) -> bool:
        """Return whether a line is code by its indentation: below a blank line, and not in a list."""
        if not line.strip():
            self._blank = True
            return self._indented
        deep = line.startswith(("    ", "\t"))
        self._indented = deep and not self._listed and (self._blank or self._indented)
        if _LISTED.match(line) and not self._indented:
            self._listed = True
        elif not line[:1].isspace():
            self._listed = False
        self._blank = False
        return self._indented


def segments(lines: Sequence[Line]) -> list[Segment]:
    """Return the text of lines in parts that are code or not, without its comments; an unclosed comment is text."""
    text = "\n".join(line for line, _ in lines)
    return _without_comments(text, [*_spans(text, lines)])


def _is_code(part: Line | Segment) -> bool:
    return part[1]


def _spans(text: str, lines: Sequence[Line]) -> Iterator[tuple[int, int]]:
    """Yield where code begins and ends, in order."""
    begun = 0
    for is_code, block in groupby(lines, key=_is_code):
        end = begun + sum(len(line) + 1 for line, _ in block)
        if is_code:
            yield begun, min(end - 1, len(text))
        else:
            yield from _inline(text, begun, min(end, len(text)))
        begun = end


def _inline(text: str, begun: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where code in lines begins and ends: between runs of as many backticks in one paragraph."""
    ends = [found.end() for found in _PARAGRAPH.finditer(text, begun, end)]
    for paragraph_end in (*ends, end):
        runs = [found.span() for found in _TICKS.finditer(text, begun, paragraph_end)]
        by_length = defaultdict[int, list[int]](list)
        for number, (start, stop) in enumerate(runs):
            by_length[stop - start].append(number)
        number = 0
        while number < len(runs):
            start, stop = runs[number]
            same = by_length[stop - start]
            after = bisect_right(same, number)
            escaped = start > 0 and text[start - 1] == "\\"
            if escaped or after == len(same):
                number += 1
                continue
            yield start, runs[same[after]][1]
            number = same[after] + 1
        begun = paragraph_end


def _without_comments(text: str, spans: Sequence[tuple[int, int]]) -> list[Segment]:
    kept: list[Segment] = []
    at, endless = 0, set[str]()
    for start, stop in (*spans, (len(text), len(text))):
        if stop <= at and start < len(text):
            continue  # it is in a comment
        plain = list[str]()
        while at < start and (mark := _COMMENT.search(text, at, start)) is not None:
            closing = _COMMENTS[mark[0]]
            end = -1 if closing in endless else text.find(closing, mark.end())
            plain.append(text[at : mark.end() if end < 0 else mark.start()])
            at = mark.end() if end < 0 else end + len(closing)
            if end < 0:
                endless.add(closing)
        plain.append(text[at:start])
        kept.append(("".join(plain), False))
        if code := text[max(at, start) : stop]:
            kept.append((code, True))
        at = max(at, stop)
    joined = ((is_code, "".join(text for text, _ in same)) for is_code, same in groupby(kept, key=_is_code))
    return [(text, is_code) for is_code, text in joined if text]
