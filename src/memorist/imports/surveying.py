"""Surveys: what a source holds, before anything is stored."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, tzinfo

from memorist.errors import FormatError, InvalidInputError, MissingExtraError, install_command
from memorist.files.foreign import MALFORMED
from memorist.imports.advising import advice_for, advice_on
from memorist.imports.decoding import detects, encoding_of, is_foreign
from memorist.imports.reader import Bad, ColumnsError, Item, Left, Options, OwnerError, Reader
from memorist.imports.readers import table
from memorist.imports.registry import reader_named, reader_names, readers
from memorist.imports.sources import Part, Source
from memorist.languages import is_known
from memorist.records.record import Kind
from memorist.records.times import parse_time, read_time
from memorist.records.zones import local, machine_zone, read_in

_MOST_BAD = 20
_STEP = 500
_SAMPLES, _LONGEST_SAMPLE = 3, 100
_MOST_NAMED = 8
_UNKNOWN = "Windows-1252"


@dataclass(frozen=True, slots=True)
class Found:
    """The files of a source that can be read, each with its reader, and the names of the others."""

    known: list[tuple[Reader, Part]]
    unknown: list[str]


@dataclass(slots=True)
class Survey:
    """What a source holds.

    `titles` names the formats found; things happened from `first` to `last`. `me` is the speaker who seems to be
    the user: the only one in all of several conversations, or in one of two the one it is not named after. Where
    that is not the same in all, `mine` says it of each conversation where somebody stands out, and `unsettled` names
    the speakers of each other one; a source that says itself who the user is has neither.

    `samples` are the first three as they will be stored. `untimed` counts those without a time, `unzoned` those whose
    time names no zone, `unread` those in a script that no bundled model knows. `columns` says what each column of a
    table becomes, `encodings` in which encoding files that are not in Unicode are read. `bad` counts the parts that
    cannot be read, `first_bad` are the first 20 of them. `left` says what the readers leave out on purpose, and how
    many of each. `unknown` names files of no known format, `links` the links out of the folder that were not followed.
    `users` are those whose records the source says they are, and who keep them.
    """

    titles: list[str] = field(default_factory=list)
    messages: int = 0
    notes: int = 0
    conversations: int = 0
    first: datetime | None = None
    last: datetime | None = None
    speakers: list[str] = field(default_factory=list)
    me: str | None = None
    mine: dict[str | None, str] = field(default_factory=dict)
    unsettled: dict[str | None, list[str]] = field(default_factory=dict)
    samples: list[str] = field(default_factory=list)
    untimed: int = 0
    unzoned: int = 0
    unread: int = 0
    columns: dict[str, str] = field(default_factory=dict)
    encodings: dict[str, str] = field(default_factory=dict)
    bad: int = 0
    first_bad: list[Bad] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    users: list[str] = field(default_factory=list)

    def counts(self) -> str:
        """Return how much it holds, in words: "3,412 messages, 41 conversations"."""
        numbers = ((self.messages, "message"), (self.conversations, "conversation"), (self.notes, "note"))
        parts = [f"{number:,} {name}{'' if number == 1 else 's'}" for number, name in numbers if number]
        return ", ".join(parts) or "nothing to store"

    def days(self, zone: tzinfo | None = None) -> str:
        """Return the first and the last day in words, in a zone, by default this machine's; "" without times."""
        times = [local(each, zone) for each in (self.first, self.last) if each is not None]
        return " to ".join(dict.fromkeys(f"{at.day} {at:%B} {at.year}" for at in times))

    def guesses(self) -> list[str]:
        """Return in words in which encodings files are read that are not in Unicode, and how to name another."""
        told = list[str]()
        for encoding in dict.fromkeys(self.encodings.values()):
            files = [name for name, each in self.encodings.items() if each == encoding]
            told.append(f"Not Unicode; read as {encoding}: {_named(files)}")
        if _UNKNOWN in self.encodings.values() and not detects():
            told.append(f"To detect the encoding, run: {install_command('imports')}")
        return told

    def left_out(self) -> list[str]:
        """Return what is left out, in words: of what kind and how many, which files, and what to do about them."""
        told = list[str]()
        if self.left:
            kinds = ", ".join(f"{number:,} {what}" for what, number in sorted(self.left.items()))
            told.append(f"Left out: {kinds}")
        if self.unknown:
            files = "file" if len(self.unknown) == 1 else "files"
            told.append(f"{len(self.unknown):,} {files} of no known format skipped: {_named(self.unknown)}")
            told += advice_on(self.unknown)
        if self.links:
            links = "link" if len(self.links) == 1 else "links"
            told.append(f"{len(self.links):,} {links} that lead out of the folder were skipped: {_named(self.links)}")
        return told

    def note_bad(self, bad: Bad) -> None:
        """Count a bad part."""
        self.bad += 1
        if len(self.first_bad) < _MOST_BAD:
            self.first_bad.append(bad)


def find(source: Source, format: str | None = None) -> Found:
    """Return the files of a source that a reader recognises.

    Args:
        source: where they are.
        format: the name of the only reader to ask; a single file is its own, whatever it looks like.

    Raises: FormatError: there is no such file.
        InvalidInputError: there is no such format.
    """
    asked = readers() if format is None else (reader_named(format),)
    source.asked = format is not None
    known: list[tuple[Reader, Part]] = []
    unknown: list[str] = []
    for part in source.parts:
        given = format is not None and len(source.parts) == 1
        reader = next((each for each in asked if given or _recognises(each, part)), None)
        part.release()
        if reader is None:
            unknown.append(part.name)
        else:
            known.append((reader, part))
    if not known:
        raise FormatError(_why_none(source, format))
    return Found(known, unknown)


def _why_none(source: Source, format: str | None) -> str:
    """Return why nothing in a source can be read.

    Raises:
        FormatError: its only file cannot be opened.
    """
    if not any(part.size for part in source.parts):
        if source.links:
            return (
                f"{source.shown} holds only links that lead out of it, such as {source.links[0]}; pass "
                "--follow-links to read them"
            )
        return f"{source.shown} is empty"
    if len(source.parts) == 1:
        try:
            with source.parts[0].open():
                pass
        except FormatError as error:
            raise FormatError(f"{source.shown}: {error}") from error
    if any(part.pure.suffix.lower() == ".zip" for part in source.parts):
        return f"{source.shown} holds a zip that cannot be opened in place; unpack it and give its contents"
    if all(map(_is_blank, source.parts)):
        return f"{source.shown} holds no records"
    source.asked = True
    for part in source.parts:
        if format is None and (known := next((each for each in readers() if _recognises(each, part)), None)):
            return f"{part.name} is of {known.title}: give its folder itself, or pass --as {known.name}"
    if format is None and len(source.parts) == 1 and (advice := advice_for(source.parts[0].name)):
        return f"{source.shown} has an unsupported format: {advice}"
    wanted = "a known format" if format is None else f"the format {format}"
    return f"{source.shown} is not of {wanted}; if you know the format, pass --as FORMAT: {reader_names()}"


def _is_blank(part: Part) -> bool:
    """Return whether a file is JSON, and holds no value: only lists and objects with nothing in them."""
    try:
        return next(part.walk(lambda path: True), None) is None
    except (FormatError, *MALFORMED):
        return False


def survey(
    path: str | os.PathLike[str] | Source,
    *,
    format: str | None = None,
    options: Options | None = None,
    progress: Callable[[int], None] | None = None,
) -> Survey:
    """Read a source and return what it holds. Nothing is stored.

    Args:
        path: a file, a folder, a zip, or "-" for the standard input.
        format: the format, where it is not to be recognised.
        options: what the files do not say.
        progress: called with the number of items read so far; an exception that it raises ends the survey.

    Raises:
        InvalidInputError: it cannot be read, there is no such format, or nobody in it has the name of the user.
        FormatError: nothing in it is of a known format.
    """
    if not isinstance(path, Source):
        with Source(path) as source:
            return survey(source, format=format, options=options, progress=progress)
    options = options or Options()
    path.encoding = options.encoding
    found = find(path, format)
    titles = list(dict.fromkeys(reader.title for reader, _ in found.known))
    told = Survey(titles=titles, unknown=found.unknown, links=path.links)
    conversations: dict[str | None, set[str]] = defaultdict(set)
    names, users = set[str](), set[str]()
    _look(told, found, options)
    for number, (_, part, item) in enumerate(read_found(found, options)):
        if progress is not None and number % _STEP == 0:
            progress(number)
        if isinstance(item, Bad):
            told.note_bad(replace(item, file=part.name))
            continue
        if isinstance(item, Left):
            told.left[item.what] = told.left.get(item.what, 0) + item.number
            continue
        _count(told, item, conversations, names)
        if item.user is not None:
            users.add(item.user)
        _widen(told, part, item, options)
    told.users = sorted(users)
    told.conversations = len(conversations.keys() - {None})
    told.speakers = sorted(set().union(*conversations.values()))
    if isinstance(options.me, str) and len(names) > 1 and options.me not in names:  # one alone may write to the user
        known = _named([*map(repr, sorted(names))])
        raise InvalidInputError(f"no speaker is named {options.me!r} in {path.name}; speakers: {known}")
    _settle(told, conversations, options)
    return told


def _look(told: Survey, found: Found, options: Options) -> None:
    """Say in which encoding files are read, and what the columns of tables become.

    Raises:
        ColumnsError: the only file is a table that does not say which column is the text.
    """
    for reader, part in found.known:
        if (encoding := _guessed(part)) is not None:
            told.encodings[part.name] = encoding
        try:
            if reader is table.READER:
                told.columns |= table.uses(part, options)
        except ColumnsError:  # told as a bad part beside the others
            if len(found.known) == 1:
                raise
        finally:
            part.release()


def _settle(told: Survey, conversations: Mapping[str | None, set[str]], options: Options) -> None:
    """Say who the user is in each conversation, from the speakers of each."""
    unclear = {name: each for name, each in conversations.items() if each}
    told.mine = {name: me for name in unclear if (me := options.me_in(name)) is not None} or _users_of(unclear)
    told.unsettled = {name: sorted(each) for name, each in unclear.items() if name not in told.mine}
    if len(set(told.mine.values())) == 1 and not told.unsettled:
        [told.me] = set(told.mine.values())
    elif isinstance(options.me, str):
        told.me = options.me


def read(
    path: str | os.PathLike[str], *, format: str | None = None, options: Options | None = None
) -> Iterator[Item | Bad]:
    """Yield what a source holds, and its bad parts, in order. Nothing is stored.

    Raises:
        InvalidInputError: it cannot be read, or there is no such format.
        FormatError: nothing in it is of a known format.
    """
    options = options or Options()
    with Source(path) as source:
        source.encoding = options.encoding
        for _, _, item in read_found(find(source, format), options):
            if not isinstance(item, Left):
                yield item


def read_found(found: Found, options: Options) -> Iterator[tuple[Reader, Part, Item | Bad | Left]]:
    """Yield what the files hold, each with its reader and file; a blank item is one that is left out."""
    for reader, part in found.known:
        try:
            for item in reader.read(part, options):
                taken = options.taken(item) if isinstance(item, Item) else item
                if isinstance(taken, Item) and not taken.content.strip():
                    taken = _without_words(taken)
                yield reader, part, taken
        except (ColumnsError, OwnerError) as error:
            if len(found.known) == 1:
                raise
            yield reader, part, Bad("", str(error).partition(": ")[2])
        except MissingExtraError as error:
            if len(found.known) == 1:
                raise
            yield reader, part, Bad("", str(error))
        except InvalidInputError as error:
            yield reader, part, Bad("", str(error))
        except MALFORMED as error:  # a form that the reader does not know
            yield reader, part, Bad("", f"the rest does not have the expected form: {type(error).__name__}: {error}")
        finally:
            part.release()


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def _guessed(part: Part) -> str | None:
    """Return the encoding in which a file is read that is not in Unicode, unless the caller named it."""
    if part.source.encoding is not None or not part.beginning or not is_foreign(part.head):
        return None
    found = encoding_of(part.head)
    return _UNKNOWN if found.startswith("utf") else found


def _without_words(item: Item) -> Left:
    return Left("messages without words" if item.kind is Kind.MESSAGE else "notes without words")


def moment_of(item: Item, zone: tzinfo | None) -> datetime | None:
    """Return when an item happened.

    Raises:
        InvalidInputError: its time cannot be read.
    """
    if item.happened_at in (None, ""):
        return None
    moment = read_time(item.happened_at)
    return parse_time(moment, zone or machine_zone()) if moment.tzinfo is None else moment


def _recognises(reader: Reader, part: Part) -> bool:
    try:
        return reader.recognise(part)
    except (FormatError, *MALFORMED):  # the file cannot be opened, or has a form that the reader does not know
        return False


def _count(told: Survey, item: Item, conversations: dict[str | None, set[str]], names: set[str]) -> None:
    if item.kind is not Kind.MESSAGE:
        told.notes += 1
        return
    told.messages += 1
    speakers = conversations[item.conversation]
    if item.speaker is not None:
        names.add(item.speaker)
        if item.role is None:
            speakers.add(item.speaker)


def _widen(told: Survey, part: Part, item: Item, options: Options) -> None:
    try:
        moment = moment_of(item, options.zone)
        if moment is None and item.created_at is not None:
            moment = parse_time(item.created_at)
    except InvalidInputError as error:
        told.note_bad(Bad(item.where, str(error), part.name))
        return
    told.unzoned += item.happened_at not in (None, "") and read_time(item.happened_at).tzinfo is None
    told.untimed += moment is None
    told.unread += not is_known(item.content)
    if len(told.samples) < _SAMPLES:
        when = "no time" if moment is None else f"{read_in(moment, options.zone or machine_zone()):%Y-%m-%d %H:%M}"
        said = " ".join(item.content.split())
        text = said if len(said) <= _LONGEST_SAMPLE else said[:_LONGEST_SAMPLE] + "…"
        told.samples.append(f"{when}  {'' if item.speaker is None else f'{item.speaker}: '}{text}")
    if moment is not None:
        told.first = moment if told.first is None else min(told.first, moment)
        told.last = moment if told.last is None else max(told.last, moment)


def _users_of(conversations: Mapping[str | None, set[str]]) -> dict[str | None, str]:
    """Return who seems to be the user in each conversation where somebody stands out, from the speakers of each.

    That is the only one in all of several conversations. Otherwise it is in a conversation of two the one it is not
    named after, and in the others the one who is the user elsewhere.
    """
    common = set.intersection(*conversations.values()) if len(conversations) > 1 else set()
    if len(common) == 1:
        return dict.fromkeys(conversations, common.pop())
    mine = {
        name: next(iter(speakers - {name}))
        for name, speakers in conversations.items()
        if name is not None and name in speakers and len(speakers) == 2
    }
    elsewhere = set(mine.values())
    return mine | {
        name: next(iter(speakers & elsewhere))
        for name, speakers in conversations.items()
        if name not in mine and len(speakers & elsewhere) == 1
    }
