"""Other programs' data: what they export, recognised and read, and stored so that nothing is stored twice."""

from memorist.imports.loading import ImportReport, load
from memorist.imports.reader import Bad, ColumnsError, Item, Options, Reader
from memorist.imports.registry import readers
from memorist.imports.sources import Part, Source
from memorist.imports.storing import Embed
from memorist.imports.surveying import Found, Survey, find, read, survey
from memorist.imports.undoing import Import, imports, undo

__all__ = [
    "Bad",
    "ColumnsError",
    "Embed",
    "Found",
    "Import",
    "ImportReport",
    "Item",
    "Options",
    "Part",
    "Reader",
    "Source",
    "Survey",
    "find",
    "imports",
    "load",
    "read",
    "readers",
    "survey",
    "undo",
]
