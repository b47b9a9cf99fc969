"""Chroma's collections of texts: the ``chroma.sqlite3`` of a persistent client's folder.

Rows of memories that are known (Mango, LoCAL2, Promptise) become what they are there; see `rows`.
"""

from memorist.files.chroma import TABLES
from memorist.imports.reader import Reader
from memorist.imports.readers.common import holding
from memorist.imports.readers.rows import read

READER = Reader("chroma", "Chroma", holding(*TABLES), read)
