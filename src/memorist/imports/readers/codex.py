"""Codex's sessions: the files below ``~/.codex/sessions``.

Messages have the ids and sessions that a hook of this package gives them, so what a hook kept is not stored again.
"""

from collections.abc import Iterator

from memorist.errors import FormatError
from memorist.files.transcripts import message_of
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import OF_THE_AGENT, Projects, having, in_session
from memorist.imports.sources import Part


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what the user and the agent said; no tool calls, no reasoning, nothing of the program's own."""
    session, projects = part.title, Projects()
    labels: tuple[str, ...] = ()
    for where, entry in part.records():
        if isinstance(entry, FormatError):
            yield Bad(where, str(entry))
            continue
        about = entry.get("payload") if isinstance(entry, dict) else None
        if isinstance(about, dict) and entry.get("type") == "session_meta":
            session, folder = str(about.get("id") or session), about.get("cwd")
            labels = projects[folder] if isinstance(folder, str) else ()
        if (said := message_of(entry)) is None or entry.get("type") != "event_msg":
            yield OF_THE_AGENT
            continue
        yield in_session(said, where, session, labels)


READER = Reader("codex", "Codex", having({"type", "payload"}, texts=('"session_meta"',)), read)
