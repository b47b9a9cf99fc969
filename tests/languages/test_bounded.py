"""A text takes time in proportion to its length, whatever is in it: no pattern of a table reads on without end."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from growth import is_quadratic
from memorist.cli.hooks.run import without_told
from memorist.language.reading import read_answer, without_thoughts
from memorist.languages import CODES, Phrases, language
from memorist.languages.grammar import grammar
from memorist.languages.table import OPTIONAL
from memorist.recall import marks_of
from memorist.records.origins import HOOK
from memorist.records.record import Draft, Kind
from memorist.records.scope import Scope
from memorist.system.regex import bounded

parser: Any = pytest.importorskip("re._parser", reason="Python's own parser of patterns")
_NAMES: tuple[Phrases, ...] = get_args(Phrases)


def endless(pattern: str) -> bool:
    """Return whether a pattern has a repetition without an end."""

    def looked(node: Any) -> bool:
        if isinstance(node, parser.SubPattern | tuple | list):
            return any(map(looked, node))
        return node is parser.MAXREPEAT

    return looked(parser.parse(pattern))


def patterns_of(code: str) -> Iterator[re.Pattern[str]]:
    table, calendar = language(code), grammar(code)
    yield from (table.pattern(name) for name in _NAMES if name not in OPTIONAL or name in table.table)
    yield from (each for change in table.life_changes.values() for each in (change.told, change.touches, change.asked))
    yield from (rule.pattern for rule in calendar.dates[0])
    yield from calendar.recurring[0]


@pytest.mark.parametrize("code", CODES)
def test_no_pattern_of_a_language_has_an_endless_repetition(code: str) -> None:
    assert not [each.pattern for each in patterns_of(code) if endless(each.pattern)]


@pytest.mark.parametrize("code", CODES)
def test_words_that_a_language_may_say_in_a_row_take_time_by_their_number(code: str) -> None:
    table = language(code)
    listed = (phrase for name in ("states", "whether", "corrects") for phrase in table.table.get(name, ()))
    words = dict.fromkeys(word for phrase in listed for word in re.findall(r"[^\W\d_]+", phrase)[:6])

    def read(text: str) -> None:
        said = Draft(content=text, kind=Kind.MESSAGE, session="s", payload={"role": "user"})
        marks_of(said.to_record(Scope(), datetime(2026, 5, 1, tzinfo=UTC), HOOK))

    for word in list(words)[:8]:
        unit = f"{word} " if table.spaced else word
        assert not is_quadratic(read, lambda length, unit=unit: (unit * length)[:length] + "?"), word  # type: ignore[misc]


@pytest.mark.parametrize("unit", ["<hook_context>", "<think>", "```", "```\n", "\n"])
def test_blocks_that_never_end_take_time_by_their_number(unit: str) -> None:
    """What programs put into a prompt, and models before an answer."""

    def read(text: str) -> None:
        assert without_told(text) == text
        assert without_thoughts(text) == text.strip()
        assert read_answer(f"```{text}", {})[0] is None

    assert not is_quadratic(read, lambda length: unit * (length // len(unit)))


@pytest.mark.parametrize(
    ("pattern", "same"),
    [
        (r"a*b+?c{2,}d*+", "a{0,200}b{1,200}?c{2,200}d{0,200}+"),
        (r"(?:x)*(?:(?:y)+z)?", "(?:x){0,10}(?:(?:y){1,10}z)?"),
        (r"\*[a+]*[]*]+[^]\]+]+", r"\*[a+]{0,200}[]*]{1,200}[^]\]+]{1,200}"),
        (r"(?:a)?+b{1,3}+(?=.*c)", r"(?:a)?+b{1,3}+(?=.{0,200}c)"),
    ],
)
def test_every_repetition_gets_an_end_and_nothing_else_changes(pattern: str, same: str) -> None:
    assert bounded(pattern) == same
