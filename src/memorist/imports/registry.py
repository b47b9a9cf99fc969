"""The readers there are: this package's, and those of others by entry point; and the writers."""

from functools import lru_cache
from importlib import import_module
from importlib.metadata import entry_points

from memorist.errors import InvalidInputError
from memorist.imports.reader import Reader
from memorist.imports.writer import Writer

ENTRY_POINTS = "memorist.readers"

_OWN = (
    "deepseek chatgpt claude claude_code codex gemini telegram slack discord signal sigtop imessage whatsapp mail"
    " mem0 mcp_memory graphiti letta langgraph mango local2 promptise agentscope llm_agents"
    " chroma qdrant sharegpt messages own calendar contacts bookmarks pdf docx markdown table text"
).split()
"""The modules of this package, in the order in which they are asked whether a file is theirs: general forms last."""

_WRITERS = "own mem0 letta markdown openai mango agentscope llm_agents".split()


@lru_cache(maxsize=1)
def readers() -> tuple[Reader, ...]:
    """Return every reader in the order in which they are asked; those of other packages first.

    An entry point in the group ``memorist.readers`` names a `Reader`.

    Raises:
        InvalidInputError: an entry point names something else.
    """
    others = []
    for entry in entry_points(group=ENTRY_POINTS):
        reader = entry.load()
        if not isinstance(reader, Reader):
            raise InvalidInputError(f"the entry point {entry.name!r} in {ENTRY_POINTS} is not a Reader: {entry.value}")
        others.append(reader)
    return (*others, *(import_module(f"memorist.imports.readers.{name}").READER for name in _OWN))


def reader_named(name: str) -> Reader:
    """Return the reader of a format.

    Raises: InvalidInputError: there is no such format; the text names the known ones.
    """
    for reader in readers():
        if reader.name == name:
            return reader
    raise InvalidInputError(f"there is no format {name!r}; available: {reader_names()}")


def reader_names() -> str:
    """Return the names of all formats, sorted, for an error."""
    return ", ".join(sorted(reader.name for reader in readers()))


@lru_cache(maxsize=1)
def writers() -> tuple[Writer, ...]:
    """Return every writer, our own format's first."""
    return tuple(import_module(f"memorist.imports.written.{name}").WRITER for name in _WRITERS)


def writer_named(name: str) -> Writer:
    """Return the writer of a format.

    Raises: InvalidInputError: there is no such format; the text names the known ones.
    """
    for writer in writers():
        if writer.name == name:
            return writer
    raise InvalidInputError(f"cannot export to {name!r}; available: {', '.join(writer.name for writer in writers())}")
