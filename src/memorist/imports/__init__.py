"""Other programs' data: what they export, recognised, read and stored once; and memories written as they read them."""

from memorist.imports.exporting import export
from memorist.imports.loading import ImportReport, load
from memorist.imports.reader import EVERYONE, Bad, ColumnsError, Item, Left, Options, OwnerError, Reader
from memorist.imports.registry import readers, writers
from memorist.imports.sources import Part, Source
from memorist.imports.storing import Embed
from memorist.imports.surveying import Found, Survey, find, read, survey
from memorist.imports.undoing import Import, imports, undo
from memorist.imports.writer import ExportReport

__all__ = [
    "EVERYONE",
    "Bad",
    "ColumnsError",
    "Embed",
    "ExportReport",
    "Found",
    "Import",
    "ImportReport",
    "Item",
    "Left",
    "Options",
    "OwnerError",
    "Part",
    "Reader",
    "Source",
    "Survey",
    "export",
    "find",
    "imports",
    "load",
    "read",
    "readers",
    "survey",
    "undo",
    "writers",
]
