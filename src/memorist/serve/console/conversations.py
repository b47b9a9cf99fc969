"""Conversations: a list of them, and one of them as a thread, scrolled to a message."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import groupby
from typing import Any

from starlette.responses import Response

from memorist.errors import NotFoundError, shown
from memorist.memory import Memory
from memorist.records.record import Kind, Record
from memorist.serve.console.visits import Visit
from memorist.serve.console.zones import written_day

_LISTED = 20
_READ = 100
_MOST_READS = 20
_AROUND = 15
_PAGE = 40
_MOST_AT_ONCE = 1000
"""Messages of one and the same time that are read to find one among them."""
_INSTANT = timedelta(microseconds=1)
_FACES = 8


@dataclass(slots=True)
class ListedConversation:
    """One conversation in the list."""

    session: str
    last: Record
    found: Record | None = None
    """The message that a search found."""
    speakers: dict[str, None] = field(default_factory=dict)
    count: int = 0
    first: Record | None = None


@dataclass(slots=True)
class Turn:
    """Consecutive messages of one speaker on one day; `day` is set where a new one begins."""

    speaker: str
    face: int
    messages: list[Record]
    day: str | None


async def conversations(visit: Visit) -> Response:
    """List the conversations, the one with the newest message first."""
    memory, cursor, words = visit.memory, visit.value("cursor"), visit.value("text")
    if words is not None:
        return await _listed(visit, await _with_words(memory, words), None)
    found, seen, later = dict[str, ListedConversation](), set[str](), cursor is not None
    for _ in range(_MOST_READS):
        page = await memory.browse(kind=Kind.MESSAGE, limit=_READ, cursor=cursor)
        for record in page.records:
            session = record.scope.session
            if session is not None and session not in seen:
                seen.add(session)
                if not later or await _is_last(memory, record):
                    found[session] = ListedConversation(session, record)
            if session in found:
                found[session].speakers[speaker_of(record)] = None
        cursor = page.next
        if cursor is None or len(found) >= _LISTED:
            break
    return await _listed(
        visit, list(found.values()), None if cursor is None else visit.link("/conversations", cursor=cursor)
    )


async def _with_words(memory: Memory, words: str) -> list[ListedConversation]:
    """Return the conversations in which words occur, the best match first."""
    found = dict[str, ListedConversation]()
    for hit in await memory.recall(words, kind=Kind.MESSAGE, mode="lexical", limit=_READ):
        session = hit.record.scope.session
        if session is not None and session not in found:
            page = await memory.browse(kind=Kind.MESSAGE, session=session, limit=_READ)
            speakers = dict.fromkeys(speaker_of(record) for record in page.records)
            found[session] = ListedConversation(session, page.records[0], hit.record, speakers)
        if len(found) == _LISTED:
            break
    return list(found.values())


async def _listed(visit: Visit, conversations: Sequence[ListedConversation], more: str | None) -> Response:
    for each in conversations:
        own: Any = {"kind": Kind.MESSAGE, "session": each.session}
        each.count = await visit.memory.count(**own)
        each.first = (await visit.memory.browse(**own, order="oldest", limit=1)).records[0]
    days = groupby(conversations, lambda each: written_day(each.last.at, visit.session.zone))
    listed = [(day, list(group)) for day, group in days]
    return visit.page("conversations.html", title="Conversations", days=listed, more=more, text=visit.value("text"))


async def _is_last(memory: Memory, record: Record) -> bool:
    """Return whether a message is the newest of its conversation, which is listed with that one alone."""
    page = await memory.browse(kind=Kind.MESSAGE, session=record.scope.session, limit=1)
    return page.records[0].id == record.id


async def conversation(visit: Visit) -> Response:
    """Show a conversation as a thread: from its beginning, around a message, or before or after one."""
    memory = visit.memory
    anchors = {name: visit.value(name) for name in ("around", "before", "after")}
    name, id = next(((name, id) for name, id in anchors.items() if id is not None), (None, None))
    anchor = None if id is None else await _message(memory, id)
    session = visit.value("session") or (None if anchor is None else anchor.scope.session)
    thread = _Thread(memory, session)
    records = await _page_of(thread, name, anchor)
    if not records and session is not None:
        raise NotFoundError(f"there is no conversation {shown(session)} in this scope")
    earlier = later = None
    if records:
        earlier = records[0] if await thread.before(records[0], 1) else None
        later = records[-1] if await thread.after(records[-1], 1) else None
    title = session if session is not None else "All messages"
    return visit.page(
        "conversation.html",
        title=title,
        turns=turns_of(records, visit),
        label=session,
        found=id if name == "around" else None,
        count=await memory.count(kind=Kind.MESSAGE, session=session),
        earlier=earlier,
        later=later,
    )


async def _message(memory: Memory, id: str) -> Record:
    record = await memory.get(id)
    if record is None or record.kind is not Kind.MESSAGE:
        raise NotFoundError(f"there is no message {shown(id)} in this scope")
    return record


async def _page_of(thread: "_Thread", name: str | None, anchor: Record | None) -> list[Record]:
    if anchor is None:
        return await thread.oldest()
    if name == "before":
        return await thread.before(anchor, _PAGE)
    if name == "after":
        return await thread.after(anchor, _PAGE)
    return [*await thread.before(anchor, _AROUND), anchor, *await thread.after(anchor, _AROUND)]


@dataclass(frozen=True, slots=True)
class _Thread:
    """The messages of a session, or of all, in the order of time."""

    memory: Memory
    session: str | None

    async def oldest(self) -> list[Record]:
        return await self._read(order="oldest", limit=_PAGE)

    async def before(self, anchor: Record, number: int) -> list[Record]:
        """Return the messages just before one, oldest first."""
        same = await self._at(anchor)
        near = same[: _place(same, anchor)][-number:]
        if (lacking := number - len(near)) > 0:
            near = (await self._read(until=anchor.at, order="newest", limit=lacking))[::-1] + near
        return near

    async def after(self, anchor: Record, number: int) -> list[Record]:
        """Return the messages just after one, oldest first."""
        same = await self._at(anchor)
        near = same[_place(same, anchor) + 1 :][:number]
        if (lacking := number - len(near)) > 0:
            near += await self._read(since=anchor.at + _INSTANT, order="oldest", limit=lacking)
        return near

    async def _at(self, anchor: Record) -> list[Record]:
        """Return the messages of exactly the same time; imported conversations have many."""
        return await self._read(since=anchor.at, until=anchor.at + _INSTANT, order="oldest", limit=_MOST_AT_ONCE)

    async def _read(self, **how: Any) -> list[Record]:
        return (await self.memory.browse(kind=Kind.MESSAGE, session=self.session, **how)).records


def _place(records: Sequence[Record], anchor: Record) -> int:
    return next((place for place, each in enumerate(records) if each.id == anchor.id), len(records))


def speaker_of(record: Record) -> str:
    """Return who said a message: a name, or else a role."""
    said = record.payload.get("speaker") or record.payload.get("role")
    return said if isinstance(said, str) else "unknown"


def turns_of(records: Sequence[Record], visit: Visit) -> list[Turn]:
    """Return messages as turns, under the days of the visitor's zone; each speaker has a face of its own colour."""
    turns, faces, day = list[Turn](), dict[str, int](), None
    for record in records:
        speaker, of_day = speaker_of(record), written_day(record.at, visit.session.zone)
        face = faces.setdefault(speaker, len(faces) % _FACES + 1)
        if of_day == day and turns[-1].speaker == speaker:
            turns[-1].messages.append(record)
        else:
            turns.append(Turn(speaker, face, [record], None if of_day == day else of_day))
        day = of_day
    return turns
