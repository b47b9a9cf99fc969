"""Finds secrets by their forms.

`rules.json` holds the published rules of gitleaks for forms that tell themselves, under its licence. What a secret's
name alone tells (``password = …``) is not looked for: in what people say it is mostly no secret. The forms below are
those that texts of people hold besides.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from re import Pattern
from typing import Any, NamedTuple

from memorist.system.regex import regex

_RULES = Path(__file__).with_name("rules.json")
_MORE: Sequence[tuple[str, str, Sequence[str], float]] = (
    (
        "private-key",
        # up to its end, or as far as it goes on like a key; "-----" begins the next one
        r"-----BEGIN[ A-Z0-9_-]{0,100}?PRIVATE KEY(?: BLOCK)?-----"
        r"(?:(?:[^-]|-(?!----)){0,20000}+-----END[ A-Z0-9_-]{0,100}?-----|[A-Za-z0-9+/=\s\\]{0,20000}+)",
        ("private key",),
        0,
    ),
    ("vendor-key", r"\b(sk-(?:ant|proj|svcacct|admin|or|lf)-[\w-]{20,400})", ("sk-",), 3.0),
    ("vendor-key", r"\b(sk-[A-Za-z0-9]{32,100})(?!\w)", ("sk-",), 3.0),
    (
        "aws-secret-key",
        r"(?i)aws_?secret_?(?:access_?)?key[\"']?\s{0,3}[:=]\s{0,3}[\"']?([a-z0-9/+=]{40})(?![\w/+=])",
        ("secret",),
        3.0,
    ),
    (
        "authorization-header",
        r"(?i)\bauthorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3}([\w.~+/=-]{16,8000})",
        ("authorization",),
        3.0,
    ),
    ("password-in-address", r"(?i)\b[a-z][a-z0-9+.-]{1,20}://[^\s/?#@:]{0,100}:([^\s/?#@]{3,200})@", ("://",), 0),
)
"""Each with its name, its pattern, words of which a text holds one, and the least entropy, as in `rules.json`."""
_PLACEHOLDER = regex(
    r"(?i)(?:[$%{<\[*].*|(?:your[_-]?)?(?:password|passwd|pass|pwd|secret|token|key)|x{3,}|\.{3,}|changeme)"
)
_CARD = regex(r"(?<![\w.+-])(?:\d[ -]?){12,18}\d(?![\w-]|\.\d)")
_ISSUERS = regex(
    r"4(?:\d{12}|\d{15}|\d{18})|(?:5[1-5]|2[2-7])\d{14}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|35\d{14}|62\d{14,17}"
)
"""Numbers of Visa, Mastercard, American Express, Discover, Diners Club, JCB and UnionPay."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text.

    Attributes:
        form: the name of its form, such as ``github-pat``.
        start: where it begins.
        end: where it ends.
    """

    form: str
    start: int
    end: int


class _Rule(NamedTuple):
    form: str
    pattern: Pattern[str]
    keywords: Sequence[str]
    least: float
    """The least entropy of a secret, in bits a letter: words and placeholders have less."""
    group: int | None


@cache
def _rules() -> Sequence[_Rule]:
    read = json.loads(_RULES.read_bytes())["rules"]
    rules = [_Rule(name, regex(pattern), words, least, None) for name, pattern, words, least in _MORE]
    rules += [
        _Rule(each["id"], regex(each["pattern"]), each["keywords"], each.get("entropy", 0), each.get("group"))
        for each in read
    ]
    return rules


@cache
def _words() -> Mapping[str, Sequence[int]]:
    """Return by each keyword the places of the rules that have it: most texts hold none of them."""
    found = dict[str, list[int]]()
    for place, rule in enumerate(_rules()):
        for word in rule.keywords:
            found.setdefault(word, []).append(place)
    return found


def secrets_in(text: str) -> list[Secret]:
    """Return the secrets in a text, in their order; of those that overlap the first, and of these the longest."""
    found = sorted(_found(text), key=lambda each: (each.start, -each.end))
    kept = list[Secret]()
    for each in found:
        if not kept or each.start >= kept[-1].end:
            kept.append(each)
        elif each.end > kept[-1].end:
            kept[-1] = Secret(kept[-1].form, kept[-1].start, each.end)
    return kept


def masked(text: str) -> str:
    """Return a text with ``[secret: FORM]`` in the place of each secret."""
    parts, at = list[str](), 0
    for each in secrets_in(text):
        parts += [text[at : each.start], f"[secret: {each.form}]"]
        at = each.end
    return text if not parts else "".join([*parts, text[at:]])


def _found(text: str) -> Iterator[Secret]:
    lower, rules = text.lower(), _rules()
    worded = {place for word, places in _words().items() if word in lower for place in places}
    for rule in (rules[place] for place in sorted(worded)):
        for match in rule.pattern.finditer(text):
            # as gitleaks does: the group that the rule names, else the first that took part, else all
            group = rule.group or next((n for n, taken in enumerate(match.groups(), 1) if taken), 0)
            secret = match[group]
            if _entropy(secret) >= rule.least and not _PLACEHOLDER.fullmatch(secret):
                yield Secret(rule.form, *match.span(group))
    for match in _CARD.finditer(text):
        digits = "".join(filter(str.isdecimal, match[0]))
        if digits.isascii() and _ISSUERS.fullmatch(digits) and _has_check_digit(digits):
            yield Secret("card-number", *match.span())


def _entropy(text: str) -> float:
    """Return the entropy of a text's letters, in bits a letter."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def _has_check_digit(digits: str) -> bool:
    """Return whether the last digit is the one that Luhn's algorithm asks for."""
    doubled = [int(each) * (1 + place % 2) for place, each in enumerate(reversed(digits))]
    return sum(each - 9 * (each > 9) for each in doubled) % 10 == 0


def in_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return JSON with each of its texts changed, but for names of fields."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: in_texts(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_texts(each, change) for each in value]
    return value
