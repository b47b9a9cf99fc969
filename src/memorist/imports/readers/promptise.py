"""Promptise's memory in Chroma, each entry with its user: the folder of its `ChromaProvider`."""

from memorist.imports.reader import Reader
from memorist.imports.readers.rows import read, recognises

READER = Reader("promptise", "Promptise", recognises("promptise"), read)
