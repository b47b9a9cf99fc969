"""Shortens a text for a question: drops greetings and asides, and cuts a long text to its best sentences."""

from dataclasses import dataclass
from functools import lru_cache

from memorist.languages import plain, said, tables_of
from memorist.languages.sentences import QUESTION_MARKS, words_in
from memorist.recall.analysis import asked_terms, stem, stop_words, terms
from memorist.system.regex import regex

ELLIPSIS = "…"
_END = regex(
    r"[.!?؟।。！？](?:(?<=[。！？])[」』”’）)]*\s*"
    r"|(?<![。！？])(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\bMrs.)(?<!\bSt.)(?<!\bProf.)[\"'”’)*]*\s+(?=[^\sa-z]))"
)
"""A title such as "Dr." ends no sentence. The pattern begins with the stop, to which a search can skip."""
_AFTER_STOP = regex(r"(?<=[。！？」』]) ")
_BULLET = regex(r"[-*•#]+\s+|\d+[.)]\s+")
_LONGEST_FILLER = 9
"""The most words of a sentence that may be a mere polite phrase."""
_LONG_SENTENCE = 80
"""The words of a sentence from which on it is cut where it is too long: people write no longer ones."""
_KEPT, _TIGHT = 0.5, 0.65
"""The share of a text's words that stays where polite phrases go, and where what shares no word with the question goes.
"""


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """What a question asks.

    Attributes:
        terms: the index terms of its subject.
        how_long_ago: whether it asks for a stretch of time up to now.
        earlier: whether it asks for an earlier state.
    """

    terms: frozenset[str]
    how_long_ago: bool
    earlier: bool

    @classmethod
    def of(cls, question: str) -> "QuestionTerms":
        """Return what a question asks."""
        return cls(frozenset(asked_terms(question)), said("how_long_ago", question), said("before", question))

    def shares(self, text: str) -> int:
        """Return how many of the question's terms a text has."""
        found = map(_term, words_in(text.lower())) if text.isascii() else terms(text)
        return len(self.terms.intersection(found))


def shortened(text: str, asked: QuestionTerms, most: int, *, tight: bool = False) -> str:
    """Return the part of a text that matters, in at most about `most` words, with … where something is left out.

    Polite phrases are removed first. If the text is still too long, the sentences that share the most words with the
    question are kept; among equals, the earlier ones. A sentence that corrects what stands before it stays with it.
    Of a sentence that is far too long by itself, the passages that share the most words with the question are kept.
    """
    sentences = [part for each in _corrected(_sentences(text), text) for part in _passages(each, most)]
    if len(sentences) < 2 and len(text) < 6 * most:
        return " ".join(text.split())
    lengths, manners = (
        [len(words_in(each)) for each in sentences],
        [each.pattern("manners") for each in tables_of(text)],
    )
    shares = [asked.shares(each) for each in sentences]

    def is_manners(sentence: str) -> bool:
        given = plain(sentence)
        return sentence.endswith(QUESTION_MARKS) or any(each.match(given) for each in manners)

    beside = [position for position, share in enumerate(shares) if not share]
    brief = [each for each in beside if lengths[each] <= _LONGEST_FILLER and is_manners(sentences[each])]
    fillers = [each for each in brief if not (each and _names_another(sentences[each], sentences[each - 1]))]
    kept = list(range(len(sentences)))
    kept = _without(kept, sorted(fillers, key=lengths.__getitem__), lengths, _KEPT)
    if tight:
        kept = _without(kept, [position for position in reversed(kept) if not shares[position]], lengths, _TIGHT)
    if sum(lengths[position] for position in kept) > most:
        kept = _best(kept, lengths, shares, most)
    parts: list[str] = []
    for before, position in zip([-1, *kept], kept, strict=False):
        parts += [ELLIPSIS] * (position - before > 1 and bool(parts)) + [sentences[position]]
    if kept and kept[-1] < len(sentences) - 1:
        parts.append(ELLIPSIS)
    joined = " ".join(parts)
    return joined if joined.isascii() else _AFTER_STOP.sub("", joined)


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


def _corrected(sentences: list[str], text: str) -> list[str]:
    """Return sentences, each joined with those after it that correct it: "With Katrien. No, I meant Marleen."."""
    joined = sentences[:1]
    if len(sentences) < 2:
        return joined
    signs = [each.pattern(sign) for each in tables_of(text) for sign in ("corrects", "no_longer")]
    for sentence in sentences[1:]:
        given = plain(sentence)
        if any(sign.search(given) for sign in signs):
            joined[-1] = f"{joined[-1]} {sentence}"
        else:
            joined.append(sentence)
    return joined


def _names_another(sentence: str, before: str) -> bool:
    """Return whether a sentence has a name or a number that the one before it has not, as what corrects it in a few
    polite words: "With Katrien. No sorry, with Marleen."."""
    if sentence.endswith(QUESTION_MARKS):
        return False
    named = [word for word in words_in(sentence)[1:] if word[0].isupper() or word[0].isdigit()]
    return any(word not in before for word in named)


def _passages(sentence: str, most: int) -> list[str]:
    """Return a sentence, or of one that is far too long its passages of half as many words as may be shown."""
    words = sentence.split()
    size = max(most // 2, 1)
    if len(words) <= max(_LONG_SENTENCE, 2 * most):
        return [sentence]
    return [" ".join(words[start : start + size]) for start in range(0, len(words), size)]


@lru_cache(maxsize=1 << 16)
def _term(word: str) -> str:
    """Return the index term of a word in lower case, "" for a stop word."""
    return "" if word in stop_words() else stem(word)


def _without(kept: list[int], dropped: list[int], lengths: list[int], share: float) -> list[int]:
    """Return positions without those that are dropped, one after the other, where this share of all words stays."""
    left, gone = sum(lengths[position] for position in kept), set[int]()
    for position in dropped:
        if left - lengths[position] >= share * sum(lengths):
            gone.add(position)
            left -= lengths[position]
    return [position for position in kept if position not in gone]


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
