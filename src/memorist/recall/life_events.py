"""Life events that a text tells of its speaker.

"We moved to Leipzig" tells where one lives, in none of the words of "I live in Linden Street in Cologne". Which changes
there are, the tables of languages say.
"""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from memorist.languages import Language, plain, tables_of
from memorist.recall.question import as_the_user_says

SAME = timedelta(days=60)
"""What is told so soon after a change of the same kind is that change: one speaks of a new job for weeks."""
READ = 1000
"""The characters of a text that are read."""


def events_in(text: str) -> set[str]:
    """Return the names of the changes that the speaker of a text tells of themselves."""
    return {name for table, given in readings(text, tables_of(text)) for name in table.changes("told", given)}


def readings(text: str, tables: Iterable[Language]) -> Iterator[tuple[Language, str]]:
    """Yield each language that knows changes, with the text as the user would say it in it."""
    for table in tables:
        if table.life_changes:
            yield table, plain(as_the_user_says(text[:READ], table))
