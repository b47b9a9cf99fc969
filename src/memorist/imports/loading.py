"""Storing what readers yield: each message once, also when it comes again in a newer export."""

from __future__ import annotations

import asyncio
import os
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from memorist.errors import FormatError, InvalidInputError, MemoristError, ScopeError
from memorist.imports.placing import PLACE, Placer, Spot
from memorist.imports.reader import Bad, Item, Left, Options, Reader
from memorist.imports.readers import own
from memorist.imports.sources import Part, Source
from memorist.imports.storing import Embed, scoped_to, store_in_turn, store_new
from memorist.imports.surveying import find, moment_of, read_found, survey
from memorist.imports.undoing import NAME, make_import_id
from memorist.kinds.conversation import message_id
from memorist.operations.lines import LoadReport, load_records
from memorist.records.content import whole_text
from memorist.records.fingerprints import IMPORTED, digest, digest_of_imported
from memorist.records.origins import IMPORT, NOBODY, Author, author_of_role
from memorist.records.record import Draft, Kind, Record
from memorist.records.scope import Scope, checked_name
from memorist.records.times import iso, parse_time
from memorist.secrets import masked, without_private

if TYPE_CHECKING:
    from memorist.memory import Memory

_T = TypeVar("_T")
_BATCH, _BATCH_LENGTH = 300, 30_000
"""The most items that are stored together, and the characters from which on fewer are: about a second's work."""
_MOST_BAD = 1000
_REMEMBERED = 200_000
"""How many different messages without an id are counted at once; the same words further apart count as one."""


@dataclass(slots=True)
class ImportReport:
    """The result of an import: how many records were added, revised, and there before, and how many parts failed.

    Revised are those whose text, time or speaker is another than when it was last imported. `bad` are the first 1,000
    parts that failed. `left` says what was left out on purpose, and how many of each. `id` names the import, for
    `imports` and `undo`, if it added any record.
    """

    added: int = 0
    revised: int = 0
    existing: int = 0
    failed: int = 0
    bad: list[Bad] = field(default_factory=list)
    id: str | None = None
    left: dict[str, int] = field(default_factory=dict)

    def fail(self, *parts: Bad) -> None:
        """Note parts that could not be stored."""
        self.failed += len(parts)
        self.bad += parts[: _MOST_BAD - len(self.bad)]


async def load(
    memory: Memory,
    path: str | os.PathLike[str] | Source,
    *,
    format: str | None = None,
    options: Options | None = None,
    trusted: bool = False,
    embed: Embed = "now",
    progress: Callable[[int], None] | None = None,
) -> ImportReport:
    """Store what a source holds, each item once.

    What is stored is on disk batch by batch, so an interrupted import is repeated to go on. An import again corrects:
    a record whose text, time or speaker is now another, because the source was edited or other options are given, is
    revised, and its history keeps what it was. What somebody else changed is left alone until the source changes.
    Files are read in a thread, and embedded, a batch ahead of what is stored.

    Whatever the format, all of it comes through the door ``import`` and has `Author.IMPORT` among its authors, and
    `Author.OPERATOR` is never among them, whatever a file says, unless the caller vouches for the files.

    Args:
        memory: where to. A scope with a user accepts no other user's records.
        path: a file, a folder, a zip, or "-" for the standard input.
        format: the format, where it is not to be recognised; see `readers`.
        options: what the files do not say: who the user is, the zone of times, a table's columns.
        trusted: the caller vouches for the files: they come through the memory's own door, with the authors that
            they name.
        embed: "later" stores messages and notes without embedding them, in a fraction of the time: recall finds them
            by their words, until `Admin.reindex` with `missing`, or a server, has embedded them.
        progress: called with the number of items read so far.

    Raises:
        InvalidInputError: it cannot be read, there is no such format, or nobody in it has the name of the user.
        FormatError: nothing in it is of a known format.
        StoreError, EmbedderError: the batch at hand was not stored; those before it were.
    """
    if not isinstance(path, Source):
        with Source(path) as source:
            return await load(
                memory, source, format=format, options=options, trusted=trusted, embed=embed, progress=progress
            )
    source, report, told = path, ImportReport(), progress or (lambda number: None)
    options = options or Options()
    options = options if options.zone is not None else replace(options, zone=memory.zone)
    source.encoding = options.encoding
    memory = memory if trusted else memory.through(IMPORT)
    id = None if trusted else make_import_id(memory.clock())
    told(0)
    with ThreadPoolExecutor(1, "memorist-import") as reading:

        async def off(work: Callable[[], _T]) -> _T:  # in one thread: a reader may keep a database open
            return await asyncio.get_running_loop().run_in_executor(reading, work)

        if isinstance(options.me, str):  # refuses a name that nobody has, before anything is stored
            await off(lambda: survey(source, format=format, options=options))
        found = await off(lambda: find(source, format))
        exports = list[Part]()
        for part in [part for reader, part in found.known if reader is own.READER]:
            try:
                if own.holds_export(part):
                    exports.append(part)
                    if options.owner is not None:
                        raise FormatError(
                            "an export of Memorist already names its users; pass --user instead of an owner"
                        )
                    await _load_export(memory, part, id, report, told)
            except FormatError as error:
                if len(source.parts) == 1:
                    raise
                report.fail(Bad("", str(error), part.name))
        others = replace(found, known=[each for each in found.known if each[1] not in exports])
        batches = _batches(DraftBuilder(memory, options, id), read_found(others, options))

        placers: dict[str | None, Placer] = {}

        async def store(batch: _Batch) -> bool:
            there = report.existing + report.revised
            report.fail(*batch.bad)
            report.left = dict(Counter(report.left) + batch.left)
            await _store(batch.entries, placers, report, embed)
            told(batch.number)
            return embed == "now" and report.existing + report.revised == there

        try:
            await store_in_turn(lambda: off(lambda: next(batches, None)), lambda batch: _drafts(batch.entries), store)
        finally:
            reading.submit(batches.close)
    report.id = id if report.added else None
    return report


async def _load_export(
    memory: Memory, part: Part, id: str | None, report: ImportReport, told: Callable[[int], None]
) -> None:
    """Store the records of an export as they are, each under its own user and with the id of the import."""

    def counted(lines: Iterable[bytes]) -> Iterator[bytes]:
        for number, line in enumerate(lines):
            if number % _BATCH == 0:
                told(number)
            yield line

    def restore(records: list[Record]) -> Awaitable[LoadReport]:
        return memory.restore(
            [each if id is None else replace(each, payload={**each.payload, NAME: id}) for each in records]
        )

    with own.lines(part) as lines:
        loaded = await load_records(counted(lines), restore, partial(_why_not, memory.scope))
    report.added += loaded.added
    report.existing += loaded.existing
    report.fail(*(Bad(f"line {each.number}", each.reason, part.name) for each in loaded.bad))


def _why_not(scope: Scope, record: Record) -> str | None:
    """Return why a record of an export cannot be stored in a scope, None where it can."""
    if scope.user not in (None, record.scope.user):
        whose = "that all users share" if record.scope.user is None else f"of user {record.scope.user!r}"
        return f"it is a record {whose}, and this is the memory of user {scope.user!r}"
    if not scope.sees(replace(record.scope, tenant=scope.tenant)):
        return "it is a record of another agent or session than this memory's"
    return None


@dataclass(slots=True)
class _Batch:
    """Some items as drafts, those that cannot be stored, and the number of items up to the last."""

    entries: list[_Entry] = field(default_factory=list)
    bad: list[Bad] = field(default_factory=list)
    left: Counter[str] = field(default_factory=Counter)
    number: int = 0


def _batches(
    builder: DraftBuilder, items: Iterator[tuple[Reader, Part, Item | Bad | Left]]
) -> Generator[_Batch, None, None]:
    """Yield all items, some at a time."""
    batch, length = _Batch(), 0
    for number, (reader, part, item) in enumerate(items, start=1):
        batch.number = number
        if isinstance(item, Left):
            batch.left[item.what] += item.number
            continue
        try:
            if isinstance(item, Bad):
                batch.bad.append(replace(item, file=part.name))
            else:
                batch.entries.append(builder.entry(reader, part, item))
                length += len(item.content)
        except (InvalidInputError, ScopeError) as error:
            batch.bad.append(Bad(item.where, str(error), part.name))
        if len(batch.entries) + len(batch.bad) >= _BATCH or length >= _BATCH_LENGTH:
            yield batch
            batch, length = _Batch(number=number), 0
    yield batch


# --- from items to drafts --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Entry:
    file: str
    where: str
    memory: Memory
    draft: Draft | Record
    """A whole record is stored as it is."""
    spot: Spot | None = None
    """Where it is in its file, if that tells which record it is."""
    earlier: tuple[str, ...] = ()
    """The ids that its record has if it was stored under an earlier label."""


class DraftBuilder:
    """Turns items into drafts, and counts the occurrences of those that have no id.

    Args:
        memory: where they are stored.
        options: what the files do not say.
        id: the import's; None for files that the caller vouches for.
    """

    def __init__(self, memory: Memory, options: Options, id: str | None) -> None:
        self._memory = memory
        self._options = options
        self._import = id
        self._seen: OrderedDict[bytes, int] = OrderedDict()

    def entry(self, reader: Reader, part: Part, item: Item) -> _Entry:
        """Return the draft of an item, checked, so that a bad one is known before any of its batch is stored."""
        memory = scoped_to(self._memory, item.user)
        moment, session = moment_of(item, self._options.zone), _session(reader, item)
        me, role = self._options.me_in(item.conversation), item.role
        if role is None and me is not None and item.speaker is not None:
            role = "user" if item.speaker == me else "other"
        said = {"role": role, "speaker": item.speaker} if item.kind is Kind.MESSAGE else {}
        said_by = item.authors or (author_of_role(item.role) if said and item.role is not None else NOBODY)
        id, own = self._named(reader, item.known_as or item, memory)
        payload: dict[str, Any] = {**item.payload, **said, "id": own}
        if item.record_id is None:
            at = None if moment is None else iso(moment)
            stored = [None if each is None else _as_stored(each, memory) for each in (item.content, item.cue)]
            payload[IMPORTED] = digest_of_imported(*stored, at, role, item.speaker)
        if self._import is not None:
            payload[NAME] = self._import
        draft = Draft(
            content=whole_text(item.content),
            kind=item.kind,
            id=id,
            cue=item.cue,
            key=item.key,
            session=session,
            agent=item.agent,
            happened_at=moment,
            payload={name: value for name, value in payload.items() if value is not None},
            metadata={name: value for name, value in item.metadata.items() if value not in (None, "", [], {})},
            source=None if self._import is None else f"import:{reader.name}",
            verified=item.verified,
            rating=item.rating,
            author=None if self._import is None else Author.IMPORT | said_by & ~Author.OPERATOR,
        )
        record = draft.to_record(memory.scope, memory.clock(), memory.door)
        if item.created_at is None:
            spot, earlier = _spot(reader, part, item.known_as or item, id), _earlier(item, session, own)
            return _Entry(part.name, item.where, memory, draft, spot, earlier)
        made = parse_time(item.created_at)
        changed = made if item.updated_at is None else max(made, parse_time(item.updated_at))
        return _Entry(part.name, item.where, memory, replace(record, created_at=made, updated_at=changed))

    def _named(self, reader: Reader, item: Item, memory: Memory) -> tuple[str, str | None]:
        """Return the id of an item's record, and the item's own id, made up if it has none."""
        if item.record_id is not None:
            if isinstance(item.record_id, str):
                return item.record_id, item.id
            # The user is not part of the id: it is the wall that the id is unique behind.
            return f"chat-{digest(*item.record_id, self._count(memory.scope.user, *item.record_id))}", None
        if not (own := item.id):
            when = item.happened_at
            moment = iso(when) if isinstance(when, datetime) and when.tzinfo else str(when)
            parts = (reader.name, item.conversation, item.speaker, item.role, moment, item.content, item.cue)
            own = digest(*parts, self._count(*parts))
        if item.kind is Kind.MESSAGE and (session := _session(reader, item)) is not None:
            return message_id(item.agent or memory.scope.agent, session, own), own
        return own if item.shared_id else f"{reader.name}-{digest(item.conversation, own)}", own

    def _count(self, *parts: object) -> int:
        """Return how often the same came by now."""
        same = bytes.fromhex(digest(*parts))
        count = self._seen[same] = self._seen.pop(same, 0) + 1
        if len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        return count


def _session(reader: Reader, item: Item) -> str | None:
    """Return the session of an item: of a message its conversation, or a replacement if that is not a valid name."""
    if item.kind is not Kind.MESSAGE or item.conversation is None:
        return item.session
    if item.shared_id:
        return item.conversation
    name = " ".join(f"{reader.name}:{item.conversation}".split())
    try:
        return checked_name("session", name)
    except InvalidInputError:
        return f"{name.partition(':')[0]}:{digest(name)}"


def _earlier(item: Item, session: str | None, own: str | None) -> tuple[str, ...]:
    """Return the ids of a message's record under the labels that it may have had before."""
    if own is None or session is None or item.kind is not Kind.MESSAGE:
        return ()
    return tuple(message_id(label, session, own) for label in item.formerly if label != item.agent)


def _as_stored(text: str, memory: Memory) -> str:
    """Return a text as it is stored: a digest of more would let what is left out be guessed."""
    text = without_private(text)
    return masked(text) if memory.secrets == "mask" else text


def _spot(reader: Reader, part: Part, item: Item, id: str) -> Spot | None:
    if item.in_file is None or item.id is None:
        return None
    return Spot(reader.name, part, whole_text(item.in_file), item.id, id)


# --- storing ---------------------------------------------------------------------------------------------


def _parts(batch: Sequence[_Entry]) -> Iterable[list[_Entry]]:
    """Return the entries of each user, drafts and whole records apart."""
    parts: dict[tuple[str | None, type], list[_Entry]] = {}
    for entry in batch:
        parts.setdefault((entry.memory.scope.user, type(entry.draft)), []).append(entry)
    return parts.values()


def _drafts(batch: Sequence[_Entry]) -> Iterator[tuple[Memory, list[Draft | Record]]]:
    return ((part[0].memory, [entry.draft for entry in part]) for part in _parts(batch))


async def _placed(entries: list[_Entry], placers: dict[str | None, Placer]) -> list[_Entry]:
    """Return the entries of one user, those that are known by their file with the ids of their records."""
    spots = [(each.draft, each.spot) for each in entries if isinstance(each.draft, Draft) and each.spot is not None]
    if not spots:
        return entries
    memory = entries[0].memory
    placer = placers.setdefault(memory.scope.user, Placer(memory))
    drafts = iter(await placer.placed(spots))
    return [each if each.spot is None else replace(each, draft=next(drafts)) for each in entries]


async def _as_before(entries: list[_Entry]) -> list[_Entry]:
    """Return the entries of one user, those that are stored under an earlier label with the ids of their records."""
    ids = [id for each in entries for id in each.earlier]
    if not ids:
        return entries
    there = {each.id for each in await entries[0].memory.unlabelled().find(ids)}
    found = list[_Entry]()
    for each in entries:
        id = next((id for id in each.earlier if id in there), None)
        if id is not None and isinstance(each.draft, Draft):
            each = replace(each, draft=replace(each.draft, id=id))
        found.append(each)
    return found


async def _store(
    batch: Sequence[_Entry], placers: dict[str | None, Placer], report: ImportReport, embed: Embed
) -> None:
    for entries in _parts(batch):
        memory = entries[0].memory
        entries = await _as_before(await _placed(entries, placers))
        outcomes = await store_new(memory, [entry.draft for entry in entries], embed=embed)
        for entry, (outcome, new) in zip(entries, outcomes, strict=True):
            try:
                if isinstance(outcome, MemoristError):
                    report.fail(Bad(entry.where, str(outcome), entry.file))
                elif new:
                    report.added += 1
                elif outcome.current and (changes := _changes(outcome, entry.draft)):
                    await memory.unlabelled().revise(outcome.id, **changes, author=IMPORT.author)
                    is_moved = changes.keys() == {"payload"}  # where its file is became known, and nothing else
                    report.existing += is_moved
                    report.revised += not is_moved
                else:
                    report.existing += 1
            except InvalidInputError as error:
                report.fail(Bad(entry.where, str(error), entry.file))


def _changes(record: Record, draft: Draft | Record) -> dict[str, Any]:
    """Return how a record is to be revised so that it is what its source says now; {} where nothing changed there.

    What an import does not know (a time, because it names no column of it) is left as it is.

    Raises:
        InvalidInputError: it is another kind of record, or another text has its id.
    """
    payload = dict(draft.payload or {})
    before, after = str(record.payload.get(IMPORTED) or ""), str(payload.get(IMPORTED) or "")
    masked_after = digest(masked(draft.content), None if draft.cue is None else masked(draft.cue))
    if not after and record.version == 1 and record.content != draft.content:
        raise InvalidInputError(f"the id {draft.id!r} is taken by a message with another text")
    if not after or not (record.source or "").startswith("import:"):
        return {}
    is_moved = payload.get(PLACE, record.payload.get(PLACE)) != record.payload.get(PLACE)
    if before == after and not is_moved:
        return {}
    if record.kind != draft.kind:
        undo = f"memorist imports undo {record.payload[NAME]}" if NAME in record.payload else "forget it"
        raise InvalidInputError(f"it was imported as a {record.kind} before and is a {draft.kind} now; first {undo}")
    found: dict[str, Any] = {}
    if not before:  # a redaction took it away, and it would let what was masked be guessed
        payload.pop(IMPORTED, None)
    elif before[:16] == masked_after[:16]:
        payload[IMPORTED] = before[:16] + after[16:]
    elif before[:16] != after[:16]:
        found = {"content": draft.content, "metadata": {**record.metadata, **(draft.metadata or {})}}
        if draft.cue is not None:
            found["cue"] = draft.cue
    if before[16:] != after[16:]:
        found |= _changes_beside_the_text(record, draft, payload)
    if found or is_moved:
        payload.pop(NAME, None)  # it stays with the import that added it
        found["payload"] = {**record.payload, **payload}
    return found


def _changes_beside_the_text(record: Record, draft: Draft | Record, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the time, and the metadata where another said it, if the source says them otherwise than before."""
    found = dict[str, Any]()
    moment = None if draft.happened_at is None else parse_time(draft.happened_at)
    if moment is not None and moment != record.happened_at:
        found["happened_at"] = moment
    if any(payload.get(name) not in (None, record.payload.get(name)) for name in ("role", "speaker")):
        found["metadata"] = {**record.metadata, **(draft.metadata or {})}
    return found
