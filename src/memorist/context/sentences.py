"""Shortens a text for a question: drops greetings and asides, and cuts a long text to its best sentences."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memorist.languages import plain, said, tables_of
from memorist.languages.sentences import QUESTION_MARKS, words_in
from memorist.recall.analysis import asked_terms, stem, stop_words, terms
from memorist.system.regex import regex

ELLIPSIS = "…"
_END = regex(
    r"(?<!\bDr)(?<!\bMr)(?<!\bMs)(?<!\bMrs)(?<!\bSt)(?<!\bProf)[.!?؟।][\"'”’)*]*\s+(?=[^\sa-z])|[。！？][」』”’）)]*\s*"
)
"""A title such as "Dr." ends no sentence."""
_AFTER_STOP = regex(r"(?<=[。！？」』]) ")
_BULLET = regex(r"[-*•#]+\s+|\d+[.)]\s+")
_LONGEST_FILLER = 9
"""The most words of a sentence that may be a mere polite phrase."""
_KEPT = 0.5
"""The share of a short text's words that always stays."""


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """What a question asks.

    Attributes:
        terms: the index terms of its subject.
        how_long_ago: whether it asks for a stretch of time up to now.
        earlier: whether it asks for an earlier state.
        several: whether it asks for several things: "how many", "all", "which books".
    """

    terms: frozenset[str]
    how_long_ago: bool
    earlier: bool
    several: bool = False

    @classmethod
    def of(cls, question: str) -> "QuestionTerms":
        """Return what a question asks."""
        return cls(
            frozenset(asked_terms(question)),
            said("how_long_ago", question),
            said("before", question),
            said("several", question),
        )

    def shares(self, text: str) -> int:
        """Return how many of the question's terms a text has."""
        return _shared(text, self.terms)


def shortened(text: str, asked: QuestionTerms, most: int, *, tight: bool = False) -> str:
    """Return the part of a text that matters, in at most about `most` words, with … where something is left out.

    Polite phrases are removed first. If the text is still too long, the sentences that share the most words with the
    question are kept; among equals, the earlier ones.
    """
    sentences = _sentences(text)
    if len(sentences) < 2 and len(text) < 6 * most:
        return " ".join(text.split())
    lengths = [len(words_in(each)) for each in sentences]
    shares = [_shared(each, asked.terms) for each in sentences]
    kept = _without_manners(sentences, lengths, shares, [each.pattern("manners") for each in tables_of(text)])
    if tight:
        kept = _tightened(kept, lengths, shares)
    if sum(lengths[position] for position in kept) > most:
        kept = _best(kept, lengths, shares, most)
    return _joined(sentences, kept)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line; a line's end also ends a sentence; bullets are removed."""
    found: list[str] = []
    for line in text.split("\n"):
        bullet = _BULLET.match(line.strip())
        rest, start = line.strip()[bullet.end() if bullet else 0 :], 0
        for end in _END.finditer(rest):
            found.append(rest[start : end.end()])
            start = end.end()
        found.append(rest[start:])
    return [" ".join(each.split()) for each in found if each]


def _shared(text: str, asked: frozenset[str]) -> int:
    """Return how many of the terms asked for a text has."""
    if text.isascii():
        return len(asked.intersection(map(_term, words_in(text.lower()))))
    return len(asked.intersection(terms(text)))


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """Return the index term of a word in lower case, "" for a stop word."""
    return "" if word in stop_words() else stem(word)


def _without_manners(
    sentences: list[str], lengths: list[int], shares: list[int], manners: list[re.Pattern[str]]
) -> list[int]:
    """Return the positions of the sentences that say something; at least half of the words stay."""
    kept, total = list(range(len(sentences))), sum(lengths)
    left = total
    for position in sorted(kept, key=lambda position: (shares[position], lengths[position])):
        length = lengths[position]
        if shares[position] or left - length < _KEPT * total:
            continue
        if length <= _LONGEST_FILLER and _is_manners(sentences[position], manners):
            kept.remove(position)
            left -= length
    return kept


_TIGHT = 0.65
"""The share of the words that stays of a text of low rank."""


def _tightened(kept: list[int], lengths: list[int], shares: list[int]) -> list[int]:
    """Return the positions without the last sentences that share no word with the question; enough words stay."""
    left = sum(lengths[position] for position in kept)
    dropped = set[int]()
    for position in reversed(kept):
        if not shares[position] and left - lengths[position] >= _TIGHT * sum(lengths):
            dropped.add(position)
            left -= lengths[position]
    return [position for position in kept if position not in dropped]


def _is_manners(sentence: str, manners: list[re.Pattern[str]]) -> bool:
    given = plain(sentence)
    return sentence.endswith(QUESTION_MARKS) or any(each.match(given) for each in manners)


def _best(kept: list[int], lengths: list[int], shares: list[int], most: int) -> list[int]:
    """Return the positions of the best sentences that have `most` words together, at least one."""
    worth = {position: shares[position] + 0.5 * max(shares[max(position - 1, 0) : position + 2]) for position in kept}
    chosen: list[int] = []
    room = most
    for position in sorted(kept, key=lambda position: (-worth[position], position)):
        if lengths[position] <= room or not chosen:
            chosen.append(position)
            room -= lengths[position]
    return sorted(chosen)


def _joined(sentences: list[str], kept: list[int]) -> str:
    parts: list[str] = []
    for before, position in zip([-1, *kept], kept, strict=False):
        if position - before > 1 and parts:
            parts.append(ELLIPSIS)
        parts.append(sentences[position])
    if kept and kept[-1] < len(sentences) - 1:
        parts.append(ELLIPSIS)
    text = " ".join(parts)
    return text if text.isascii() else _AFTER_STOP.sub("", text)
