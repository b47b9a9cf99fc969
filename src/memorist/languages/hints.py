"""Letters that every phrase of a template contains: quicker to find than the phrase, and missing in most texts."""

import re
from collections.abc import Iterable, Sequence
from functools import reduce
from operator import or_

DIGIT = "0"
"""The hint that stands for any digit."""
_AROUND = re.compile(r"\(\?<?[=!](?:[^()]|\([^()]*\))*\)")
_ANY_DIGIT = re.compile(r"\d")
_TOKEN = re.compile(r"\\.|\[[^]]*\]|\{[\d,]*\}|.")
_NAMED = re.compile(r"^\?(?::|P<\w+>|P=\w+)")
_LEAST = 3
"""Fewer Latin letters stand in most texts by chance."""
_MOST_KNOWN = 1000
"""Combinations of hints of which it is remembered which rules they allow: most texts hold few hints."""


class Hints:
    """Tells which of some rules a text can fulfil.

    Args:
        rules: of each the sets of letters; a text that fulfils the rule holds one of each set. A rule without sets
            allows any text.
    """

    def __init__(self, rules: Iterable[Sequence[frozenset[str]]]) -> None:
        rules = list(rules)
        every = {hint for sets in rules for hints in sets for hint in hints}
        least: list[str] = []
        for hint in sorted(every, key=lambda each: (len(each), each)):
            if not any(map(hint.__contains__, least)):
                least.append(hint)
        bits = {hint: 1 << at for at, hint in enumerate(sorted({*least, DIGIT}))}

        def masks(hints: frozenset[str]) -> list[int]:
            within = [[bits[part] for part in filter(hint.__contains__, least)] for hint in hints]
            return within[0] if len(within) == 1 else [reduce(or_, (parts[0] for parts in within))]

        self._bits = [(hint, bit) for hint, bit in bits.items() if hint != DIGIT]
        self._digit, self._always = bits[DIGIT], 1 << len(bits)
        needed = [sorted({mask for hints in sets for mask in masks(hints)}) or [self._always] for sets in rules]
        self._known: dict[int, Sequence[int]] = {}
        self._needed = [(at, each[0], each[-1]) for at, each in enumerate(needed)]

    def possible(self, text: str) -> Sequence[int]:
        """Return the positions of the rules that a text may fulfil."""
        held = self._always | (self._digit if _ANY_DIGIT.search(text) else 0)
        for hint, bit in self._bits:
            if hint in text:
                held |= bit
        if (known := self._known.get(held)) is None:
            known = [at for at, one, other in self._needed if held & one and held & other]
            if len(self._known) < _MOST_KNOWN:
                self._known[held] = known
        return known


def hints_of(forms: Iterable[str]) -> frozenset[str]:
    """Return letters of which every text that an expression matches holds some; no letters if most texts hold some."""
    runs = set(map(_letters_of, forms))
    if any(len(run) < _LEAST and run.isascii() for run in runs):
        return frozenset()
    return frozenset(runs)


def hints_in(template: str) -> list[frozenset[str]]:
    """Return the sets of letters that every text holds that a regular expression matches."""
    bare = _AROUND.sub("()", template)
    found = [hints_of(choice) for choice in _choices(bare)]
    return [each for each in (*found, hints_of([bare])) if each]


def _choices(template: str) -> list[list[str]]:
    """Return the alternatives of each group of a regular expression that is neither optional nor within another."""
    groups, depth, inside = list[list[str]](), 0, [""]
    for token in _TOKEN.finditer(template):
        depth -= token[0] == ")"
        if depth == 0 and token[0] == ")" and template[token.end() : token.end() + 1] not in ("?", "*", "{"):
            groups.append([_NAMED.sub("", each) for each in inside])
        if depth == 0:
            inside = [""]
        elif depth == 1 and token[0] == "|":
            inside.append("")
        else:
            inside[-1] += token[0]
        depth += token[0] == "("
    return groups


def _letters_of(template: str) -> str:
    """Return the longest run of letters that is in every text which a regular expression matches, "" for none."""
    if template.replace(" ", "").isalpha():
        return template.strip()
    runs, depth = [""], 0
    for token in _TOKEN.finditer(template):
        letter, after = token[0], template[token.end() : token.end() + 1]
        if letter == "|" and not depth:
            return ""
        depth += (letter == "(") - (letter == ")")
        if depth or len(letter) > 1 or letter in ").^$+?*{}" or after in ("?", "*", "{"):
            runs.append("")
        else:
            runs[-1] += letter
    return max((run.strip() for run in runs), key=len)
