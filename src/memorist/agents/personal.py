"""What is a person's among what was said in a project: preferences and standing instructions hold in all of them.

A message stays in its conversation, with the project's label. What it says of the person becomes a note that is drawn
from it and has the label `PERSON`: it is told in every project, and goes with the message where that is forgotten
with `derived=True`.
"""

from collections.abc import Iterable

from memorist.errors import InvalidInputError
from memorist.languages import plain, role_of, tables_of
from memorist.languages.sentences import length_of, sentences_of
from memorist.memory import Memory
from memorist.recall.text_features import speaker_of
from memorist.records.fingerprints import digest
from memorist.records.record import Draft, Kind, Record
from memorist.system.regex import regex

PERSON = "person"
"""The label of what is the person's own, in whichever project it was said."""
SOURCE = "personal"
_LONGEST = 60
"""The most words of a sentence that is a standing instruction: more is about a task."""
_MOST = 20_000
"""The characters of a message in which they are looked for."""
_CODE = regex(r"`|[\w.-]+/[\w.-]+|\b\w+\.[a-z]{1,4}\b(?!\s*$)|\b\w+_\w+\b|\w\(\)|\b[a-z]+[A-Z]\w+\b")
"""What speaks of code: a name in backticks, a path, a file, an identifier."""


def personal_in(text: str) -> str:
    """Return those sentences of a message that are the person's preferences and standing instructions, "" for none.

    A sentence that names the project, or speaks of its code, is the project's.
    """
    found = []
    for sentence in sentences_of(text[:_MOST]):
        given, tables = plain(sentence), tables_of(sentence)
        if length_of(sentence) > _LONGEST or not any(each.says("standing", given) for each in tables):
            continue
        if not any(each.says("project", given) for each in tables) and not _CODE.search(sentence):
            found.append(sentence.strip())
    return "\n".join(found)


async def keep_personal(memory: Memory, said: Iterable[Record]) -> list[Record]:
    """Store what is the person's own in messages of theirs as notes of all projects, each once, and return these."""
    drafts = []
    for record in said:
        text = personal_in(record.content) if _is_users(record) else ""
        if text:
            drafts.append(_draft(record, text))
    return await memory.unlabelled().remember(drafts, if_exists="ignore") if drafts else []


async def make_personal(memory: Memory, record: Record) -> Record:
    """Make a record the person's own, told in every project, and return the record that is it now.

    A message stays in its conversation, and a note is drawn from it. What is drawn anew after it was forgotten is the
    same note.
    """
    if record.scope.agent == PERSON:
        return record
    if record.kind is Kind.MESSAGE:
        [note] = await memory.unlabelled().remember([_draft(record, record.content)], if_exists="ignore")
        return note
    await memory.unlabelled().relabel(record.id, to=PERSON, source=SOURCE)
    return await _present(memory, record)


async def make_projects(memory: Memory, record: Record) -> Record:
    """Make a record of the person's the project's again in which it was said, and return the record that is it now.

    Raises:
        InvalidInputError: it was said in no project.
    """
    if record.scope.agent != PERSON:
        return record
    for id in record.origin.derived_from if record.source == SOURCE else ():
        if (message := await memory.unlabelled().get(id)) is not None:
            await memory.unlabelled().forget(record.id, source=SOURCE)
            return message
    if not await memory.unlabelled().relabel(record.id, undo=True, source=SOURCE):
        raise InvalidInputError("this was said in no project, so it stays the person's; forget it, or leave it")
    return await _present(memory, record)


async def _present(memory: Memory, record: Record) -> Record:
    return await memory.unlabelled().get(record.id) or record


def _is_users(record: Record) -> bool:
    return record.kind is Kind.MESSAGE and role_of(speaker_of(record)) == "user"


def _draft(record: Record, text: str) -> Draft:
    """Return the note that a message's own words become; the same words are one note, however often they are said."""
    return Draft(
        content=text,
        id=f"{SOURCE}-{digest(' '.join(text.split()).casefold())}",
        source=SOURCE,
        agent=PERSON,
        happened_at=record.at,
        derived_from=(record.id,),
    )
