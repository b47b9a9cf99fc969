"""iMessage's chats as imessage-exporter writes them in text: a file for each chat.

A message begins with its time and, below it, its sender. A reply stands below the message it answers, indented, and
once more at its own place; what is indented is passed over.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers.common import BY_THE_PROGRAM, groups
from memorist.imports.sources import Part

_TIME = r"[A-Z][a-z]{2} \d\d, \d{4} {1,2}\d{1,2}:\d\d:\d\d [AP]M"
_HEADER = re.compile(rf"(?P<time>{_TIME})(?: \(.*\))?")
_ANNOUNCED = re.compile(rf"{_TIME} \S.*")
_REPLY = re.compile(rf" {{4}}{_TIME}")
_REACTIONS = ("Tapbacks:", "Reactions:")
_BY_THE_APP = re.compile(
    r"This message responded to an earlier message\.|Sent with [A-Z][\w ]+|Attachment missing!"
    r"|(?:You|.+) unsent (?:this|a) message.*"
)
_FILE = re.compile(r"(?:/|~/|attachments/).*\.\w{2,5}")
_ME = "Me"


def recognise(part: Part) -> bool:
    """Whether a text file begins with a message's time."""
    lines = part.beginning.lstrip().splitlines()
    return part.pure.suffix.lower() == ".txt" and bool(lines) and _begins(lines[0])


def read(part: Part, options: Options) -> Iterator[Item | Bad | Left]:
    """Yield what was said; no reactions, no announcements, no attachments without words."""
    for number, block in groups(part.lines(), _begins):
        yield from _message(part, number, block)


def _begins(line: str) -> bool:
    return _HEADER.fullmatch(line) is not None or _ANNOUNCED.fullmatch(line) is not None


def _message(part: Part, begun: int, block: Sequence[str]) -> Iterator[Item | Left]:
    header = _HEADER.fullmatch(block[0])
    if header is None or len(block) < 2:
        yield BY_THE_PROGRAM
        return
    kept, files = list[str](), list[str]()
    reacting = False
    for line in block[2:]:
        if _REPLY.match(line):
            break
        reacting = line in _REACTIONS or (reacting and bool(line.strip()))
        if _FILE.fullmatch(line):
            files.append(line.rpartition("/")[2])
        elif not reacting and not _BY_THE_APP.fullmatch(line):
            kept.append(line)
    yield Item(
        content="\n".join(kept).strip(),
        where=f"line {begun}",
        conversation=part.title,
        speaker=block[1],
        role="user" if block[1] == _ME else "other",
        happened_at=datetime.strptime(" ".join(header["time"].split()), "%b %d, %Y %I:%M:%S %p"),
        metadata={"attachments": files},
    )


READER = Reader("imessage", "iMessage", recognise, read)
