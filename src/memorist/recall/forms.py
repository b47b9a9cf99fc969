"""The forms of a word that a wall holds: other endings, an article before it, compounds with it and parts of it.

Index terms are stemmed for English alone. In a question of another language, a word stands for all terms of the wall
that differ from it by endings of the language's table, so that a memory needs no new index when a table changes.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

from memorist.languages import Language, language
from memorist.languages.table import words_of
from memorist.recall.analysis import fold, stop_terms, words

_STEM = 4
"""The least letters of a stem of ASCII letters."""
_OTHER_STEM = 3
"""The least letters of a stem in other scripts, which leave out more."""
_PART = 4
"""The least letters of a part of a compound."""
_LINKS = ("", "s", "es", "n", "en", "e")
"""What stands between the parts of a compound."""


class Vocabulary:
    """The terms of a wall, in order."""

    def __init__(self) -> None:
        self._sorted: list[str] = []
        self._new: set[str] = set()
        self._joined: str | None = None

    def add(self, terms: Iterable[str]) -> None:
        """Add terms, known ones or not."""
        self._new.update(terms)

    def __contains__(self, term: str) -> bool:
        place = bisect_left(self._ordered(), term)
        return place < len(self._sorted) and self._sorted[place] == term

    def starting(self, prefix: str) -> Iterator[str]:
        """Yield the terms that begin so."""
        ordered = self._ordered()
        for place in range(bisect_left(ordered, prefix), len(ordered)):
            if not ordered[place].startswith(prefix):
                return
            yield ordered[place]

    def around(self, part: str) -> Iterator[str]:
        """Yield the terms that begin or end with a text, and are longer."""
        self._ordered()
        if self._joined is None:
            self._joined = "\n".join(["", *self._sorted, ""])
        place = self._joined.find(part)
        while place >= 0:
            start, end = self._joined.rfind("\n", 0, place) + 1, self._joined.find("\n", place)
            if (start == place) != (end == place + len(part)):
                yield self._joined[start:end]
            place = self._joined.find(part, end)

    def _ordered(self) -> list[str]:
        if self._new:
            known = self._sorted
            added = [term for term in self._new if known[(at := bisect_left(known, term)) : at + 1] != [term]]
            self._new.clear()
            if added:
                self._sorted, self._joined = sorted(known + added), None
        return self._sorted


def forms_of(terms: Iterable[str], held: Vocabulary, tables: Sequence[Language]) -> Mapping[str, Sequence[str]]:
    """Return for each term the other terms of a wall that are forms of it; terms without any are left out.

    Args:
        terms: analysed terms of a question.
        held: those of the wall.
        tables: the languages of the question; in English the index holds stems already.
    """
    found: dict[str, Sequence[str]] = {}
    for term in terms:
        forms = {form for each in tables if each.code != "en" for form in _forms_in(term, held, each)} - {term}
        if not forms and len(term) == 1 and not term.isascii():
            forms = {pair for pair in held.around(term) if len(pair) == 2}
        if forms:
            found[term] = sorted(forms)
    return found


def _forms_in(term: str, held: Vocabulary, table: Language) -> Iterator[str]:
    if not term.isalpha() and term.isascii():
        return
    endings, prefixes = _affixes(table.code)
    if endings:
        stem = _stem(term, endings, prefixes)
        for prefix in prefixes if len(stem) >= _least(term) else ():  # "OSL" is not a form of "Oslo"
            yield from (form for form in held.starting(prefix + stem) if form[len(prefix + stem) :] in endings)
    if table.table.get("compounds") and len(term) > _PART:
        yield from (form for form in held.around(term) if len(form) >= len(term) + _PART - 1)
        yield from _parts_of(term, held, table)


def _parts_of(term: str, held: Vocabulary, table: Language) -> Iterator[str]:
    """Yield two terms of the wall that make up a compound."""
    for middle in range(_PART, len(term) - _PART + 1):
        last = term[middle:]
        if last in held:
            for link in _LINKS:
                first = term[:middle].removesuffix(link)
                fits = term[:middle].endswith(link) and len(first) >= _PART - 1 and first in held
                if fits and stop_terms(table.code).isdisjoint((first, last)):
                    yield first
                    yield last


def _least(term: str) -> int:
    return _STEM if term.isascii() else _OTHER_STEM


def _stem(term: str, endings: frozenset[str], prefixes: Sequence[str]) -> str:
    least = _least(term)
    for prefix in sorted(prefixes, key=len, reverse=True):
        if prefix and term.startswith(prefix) and len(term) - len(prefix) >= least:
            term = term.removeprefix(prefix)
            break
    for length in range(min(len(term) - least, 6), 0, -1):
        if term[-length:] in endings:
            return term[:-length]
    return term


@cache
def _affixes(code: str) -> tuple[frozenset[str], Sequence[str]]:
    """Return the endings of a language and what may stand before a word, as terms have them, the empty one included."""
    table = language(code).table
    endings = {"".join(words(ending)) or fold(ending) for ending in words_of(table.get("endings", ()))}
    return frozenset({*endings, ""} if endings else ()), (
        "",
        *(fold(each) for each in words_of(table.get("prefixes", ()))),
    )
