"""Shortens a text to what matters for a question: no greetings and asides, and of a long one the best sentences."""

import re
from dataclasses import dataclass
from functools import lru_cache

from memorist.languages import plain, said
from memorist.recall.analysis import STOPWORDS, stem, terms
from memorist.regex import regex

ELLIPSIS = "…"
_WORD = regex(r"[^\W_]+")
_END = regex(r"[.!?][\"'”’)*]*\s+(?=[^\sa-z])")
_BULLET = regex(r"[-*•#]+\s+|\d+[.)]\s+")
_HOW_LONG_AGO = regex(r"\bago\b|\bhow (?:long|many (?:days|weeks|months|years))\b|\bsince\b", re.IGNORECASE)
_EARLIER = regex(
    r"\b(?:used to|before|previous(?:ly)?|former(?:ly)?|earlier|originally|at first|in the past|changed?|history|old"
    r"(?: one)?)\b",
    re.IGNORECASE,
)
_FILLER = regex(
    r"(?:(?:hey|hi|hello|wow|oh|yeah|yes|yep|no|nope|cool|nice|great|awesome|amazing|sure|ok|okay|absolutely|definitely|"
    r"exactly|totally|thanks|thank you|congrats|congratulations|good (?:to|luck|morning|evening|night)|so (?:true|glad|"
    r"happy|cool|sweet|nice|great)|sounds|glad|certainly|of course|you're welcome|you are welcome|take care|bye|"
    r"(?:that|this|it)(?:'s| is| sounds| must)|i'm (?:so |really )?(?:glad|happy)|how (?:about|are|have) you|"
    r"what about you|keep (?:it )?up|let me know|feel free|see you|talk to you|have (?:fun|a (?:great|good|nice)))\b)",
    re.IGNORECASE,
)
_LONGEST_FILLER = 9
"""Words of a sentence that may be nothing but manners."""
_KEPT = 0.5
"""The share of a short text's words that always stays."""


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """What a question asks.

    Attributes:
        terms: what it is about, as index terms.
        how_long_ago: whether it asks for a stretch of time up to now.
        earlier: whether it asks for what held before.
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
            frozenset(terms(question)),
            bool(_HOW_LONG_AGO.search(question)),
            bool(_EARLIER.search(question)),
            said("several", plain(question)),
        )

    def shares(self, text: str) -> int:
        """Return how many of the question's terms a text has."""
        return _shared(_WORD.findall(text.casefold()), self.terms)


def shortened(text: str, asked: QuestionTerms, most: int, *, tight: bool = False) -> str:
    """Return the part of a text that matters, in at most about `most` words, with … where something is left out.

    Polite phrases are removed first. If the text is still too long, the sentences that share the most words with the
    question are kept; among equals, the earlier ones.
    """
    sentences = _sentences(text)
    if len(sentences) < 2 and len(text) < 6 * most:
        return " ".join(text.split())
    counted = [_WORD.findall(each.casefold()) for each in sentences]
    total = sum(map(len, counted))
    shares = [_shared(words, asked.terms) for words in counted]
    kept = _without_manners(sentences, counted, shares, total)
    if tight:
        kept = _tightened(kept, counted, shares, total)
    if sum(len(counted[position]) for position in kept) > most:
        kept = _best(kept, counted, shares, most)
    return _joined(sentences, kept)


def _sentences(text: str) -> list[str]:
    """Return the sentences of a text, each on one line; a line of it, less its bullet, ends one too."""
    found: list[str] = []
    for line in text.split("\n"):
        bullet = _BULLET.match(line.strip())
        rest, start = line.strip()[bullet.end() if bullet else 0 :], 0
        for end in _END.finditer(rest):
            found.append(rest[start : end.start() + 1])
            start = end.end()
        found.append(rest[start:])
    return [" ".join(each.split()) for each in found if each]


def _shared(words: list[str], asked: frozenset[str]) -> int:
    return len(asked.intersection(map(_term, words)))


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """Return the index term of a word in lower case, "" for a stop word."""
    return "" if word in STOPWORDS else stem(word)


def _without_manners(sentences: list[str], counted: list[list[str]], shares: list[int], total: int) -> list[int]:
    """Return the positions of the sentences that say something; at least half of the words stay."""
    kept, left = list(range(len(sentences))), total
    for position in sorted(kept, key=lambda position: (shares[position], len(counted[position]))):
        length = len(counted[position])
        if shares[position] or left - length < _KEPT * total:
            continue
        if length <= _LONGEST_FILLER and _is_manners(sentences[position]):
            kept.remove(position)
            left -= length
    return kept


_TIGHT = 0.65
"""The share of the words that stays of a text that hardly counts."""


def _tightened(kept: list[int], counted: list[list[str]], shares: list[int], total: int) -> list[int]:
    """Return the positions without the last of the sentences that share nothing, as long as enough words stay."""
    left = sum(len(counted[position]) for position in kept)
    dropped = set[int]()
    for position in reversed(kept):
        if not shares[position] and left - len(counted[position]) >= _TIGHT * total:
            dropped.add(position)
            left -= len(counted[position])
    return [position for position in kept if position not in dropped]


def _is_manners(sentence: str) -> bool:
    return bool(_FILLER.match(sentence)) or sentence.endswith("?")


def _best(kept: list[int], counted: list[list[str]], shares: list[int], most: int) -> list[int]:
    """Return the positions of the best sentences that have `most` words together, at least one."""
    worth = {position: shares[position] + 0.5 * max(shares[max(position - 1, 0) : position + 2]) for position in kept}
    chosen: list[int] = []
    room = most
    for position in sorted(kept, key=lambda position: (-worth[position], position)):
        if len(counted[position]) <= room or not chosen:
            chosen.append(position)
            room -= len(counted[position])
    return sorted(chosen)


def _joined(sentences: list[str], kept: list[int]) -> str:
    parts: list[str] = []
    for before, position in zip([-1, *kept], kept, strict=False):
        if position - before > 1 and parts:
            parts.append(ELLIPSIS)
        parts.append(sentences[position])
    if kept and kept[-1] < len(sentences) - 1:
        parts.append(ELLIPSIS)
    return " ".join(parts)
