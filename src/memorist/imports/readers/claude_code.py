"""Claude Code's sessions: the files below ``~/.claude/projects``.

Messages have the ids and sessions that a hook of this package gives them, so what a hook kept is not stored again.
"""

from collections.abc import Iterator
from typing import Any

from memorist.files.transcripts import message_of
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import OF_THE_AGENT, Projects, each, in_session
from memorist.imports.sources import Part


def recognise(part: Part) -> bool:
    """Whether a file of lines is a session: its entries have ids of the session and of the entry before."""
    begun = part.beginning
    return part.pure.suffix == ".jsonl" and '"sessionId"' in begun and '"parentUuid"' in begun


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what the user and the agent said."""
    return each(part, _entry, Projects())


def _entry(where: str, entry: Any, projects: Projects) -> Iterator[Item | Left]:
    """Yield what the user and the agent said; no tool calls, no thinking, nothing of the program's own."""
    if (said := message_of(entry)) is None:
        yield OF_THE_AGENT
        return
    folder = entry.get("cwd")
    yield in_session(said, where, entry["sessionId"], projects[folder] if folder else ())


READER = Reader("claude_code", "Claude Code", recognise, read)
