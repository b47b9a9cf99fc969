"""Other programs' data: what they export, recognised and read, and stored so that nothing is stored twice."""

from memorist.imports.loading import ImportReport, load
from memorist.imports.reader import Bad, ColumnsError, Item, Options, Reader
from memorist.imports.registry import readers
from memorist.imports.sources import Part, Source
from memorist.imports.surveying import Found, Survey, find, read, survey

__all__ = [
    "Bad",
    "ColumnsError",
    "Found",
    "ImportReport",
    "Item",
    "Options",
    "Part",
    "Reader",
    "Source",
    "Survey",
    "find",
    "load",
    "read",
    "readers",
    "survey",
]
