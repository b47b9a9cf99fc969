"""Languages: one table of words each, and what reads them. English is one of them."""

from memorist.languages.detection import is_english, is_known, languages_of, role_of, said, tables_of
from memorist.languages.letters import plain
from memorist.languages.table import CODES, Language, Phrases, language

__all__ = [
    "CODES",
    "Language",
    "Phrases",
    "is_english",
    "is_known",
    "language",
    "languages_of",
    "plain",
    "role_of",
    "said",
    "tables_of",
]
