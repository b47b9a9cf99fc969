"""The two movements of an agent's memory: what to tell it before a turn, what to keep after one."""

import json
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import Any

from memorist.agents.messages import AnyMessage, read_messages
from memorist.agents.thread_state import ThreadState, note, taken
from memorist.context import Context
from memorist.errors import EmbedderError, StoreError
from memorist.framing.frame import without_recalled
from memorist.kinds import Conversation, Message
from memorist.memory import Memory
from memorist.operations.arguments import handles_or_words
from memorist.records.content import field_of, text_of
from memorist.records.origins import NOBODY, Author, author_of_role, joined, parse_authors
from memorist.records.record import Record
from memorist.secrets import Policy, in_texts, masked, without_private

log = logging.getLogger("memorist.agents")

_FEW_WORDS = 5
_BEFORE = 300
"""Most characters of each message that stands before a short question in the query."""
_LOOK_BACK = 200
"""Fewest stored messages in which the given ones are looked for."""
_OWN = "turn-"


async def before_turn(
    memory: Memory,
    messages: AnyMessage | Iterable[AnyMessage],
    *,
    tokens: int = 600,
    raise_errors: bool = False,
    **options: Any,
) -> Context:
    """Return what an agent is to be told before it answers the last message of the user.

    ```python
    told = await before_turn(alice, messages, tokens=600)
    system = f"You are a helpful assistant.\\n\\n{told.text}"
    ```

    All sessions are read, whichever the memory has. The query is the last message of the user; where that is a
    few words ("And in May?"), with what was said before it. What the messages say is not told again. When the store
    or the embedder fails, the turn can go on: the context is empty, its `error` says why, and the error is logged.

    Args:
        memory: whose memory is read.
        messages: the conversation, in the form of OpenAI, Anthropic or LangChain, or as plain dictionaries.
        tokens: the most the text may take.
        raise_errors: raise what fails instead.
        **options: further arguments of `Memory.context`, such as `count_tokens` or `topics`.

    Raises:
        InvalidInputError: an argument is wrong, or something is not a message.
        ClosedError: the memory is not open.
        StoreError, EmbedderError: with `raise_errors`.
    """
    given = _listed(messages)
    known = [*handles_or_words("known", options.pop("known", ())), *(text for each in given for text in _texts(each))]
    try:
        return await across_sessions(memory).context(_query(given), tokens=tokens, known=known, **options)
    except (StoreError, EmbedderError) as error:
        if raise_errors:
            raise
        log.warning("memory failed, so the turn continues without it: %s", error)
        return Context(error=str(error) or type(error).__name__)


def across_sessions(memory: Memory) -> Memory:
    """Return the memory without its session: what was learned in one conversation counts in the next."""
    return memory.unlabelled().scoped(agent=memory.scope.agent)


def _listed(messages: AnyMessage | Iterable[AnyMessage]) -> Sequence[AnyMessage]:
    one = isinstance(messages, str | Message | Mapping) or not isinstance(messages, Iterable)
    return [messages] if one else messages if isinstance(messages, list | tuple) else list(messages)


def _texts(given: AnyMessage) -> Iterable[str]:
    """Return the texts of one message as they may have been stored; most are read without making a `Message`."""
    content = given if isinstance(given, str) else field_of(given, "content")
    if content is not None and "<" not in (text := text_of(content)):
        return (text,)
    return (text for each in read_messages([given]) if (text := without_recalled(each.content)))


def _query(given: Sequence[AnyMessage]) -> str:
    """Return the last message of the user; if it is short, after the two messages before it."""
    said: list[tuple[str, str]] = []  # the newest first
    asked = None
    for each in reversed(given):
        for message in reversed(read_messages([each])):
            if message.role in ("user", "assistant") and (text := without_recalled(message.content).strip()):
                asked = len(said) if asked is None and message.role == "user" else asked
                said.append((message.role, text))
        if asked is not None and (not _is_short(said[asked][1]) or len(said) > asked + 2):
            break
    if asked is None:
        return ""
    question = said[asked][1]
    before = said[asked + 1 : asked + 3] if _is_short(question) else ()
    return "\n".join([*(text[-_BEFORE:] for _, text in reversed(before)), question])


def _is_short(text: str) -> bool:
    """Whether a text has few words; of scripts without spaces, two characters count as one."""
    return len(text.split()) + sum(letter >= "\u2e80" for letter in text) // 2 < _FEW_WORDS


async def after_turn(
    memory: Memory,
    messages: AnyMessage | Iterable[AnyMessage],
    *,
    session: str | None = None,
    roles: Collection[str] = ("user", "assistant"),
    told: Context | None = None,
) -> list[Record]:
    """Store the messages that the conversation does not have yet, and return their records.

    Give the whole conversation, its newest part or the last turn alone: each message is stored once, also when
    the call is repeated. A message with an id is known by it: where it says something else, it was edited, or more of
    it has come, and its record is revised. One without is known by its role, its text and its
    place: what overlaps with the stored conversation is left out, in two messages or more anywhere in its last
    200, or where the first message given is its last. Give messages ids where the same words may be said again and
    again.

    Blocks that recall put into a message, thinking, and messages without a text are not stored, nor is what stands
    between ``<private>`` and ``</private>``. Of secrets (keys of vendors, tokens, numbers of cards) the form alone is
    stored, unless `Settings.secrets` says otherwise.

    Of more than 32 new messages at once, such as a thread that is brought along, recall finds the words at first, and
    the meaning a little later.

    Args:
        memory: where to.
        messages: in the form of OpenAI, Anthropic or LangChain, or as plain dictionaries.
        session: the conversation; by default the memory's own.
        roles: whose messages are stored.
        told: what `before_turn` returned for this turn. The last answer is no more trusted than what it holds, nor is
            any answer than the results of tools that stand before it in its turn.

    Returns:
        The records of the messages that were new or say something else, in order.

    Raises:
        InvalidInputError: something is not a message, or there is no session.
        StoreError: nothing was stored; the call can be repeated.
        EmbedderError: likewise. Of more than 32 new messages the embedder's failure is logged, and they are stored.
    """
    conversation, given = memory.conversation(session), _listed(messages)
    place = memory.scope.narrowed(session=session), *sorted(roles)
    state = taken(memory, place, given)
    if known := await _since(conversation, state.last) if state.last else []:
        after, since = known[0].id, known[1:]
    else:
        state, after, since = ThreadState(), None, await conversation.window(max(_LOOK_BACK, 2 * len(given)))
    attributed, read = _attributed(read_messages(given[state.length :]), told, state.read)
    kept = [each for each in attributed if each.role in roles and without_recalled(each.content).strip()]
    said = [_storable(each, memory.secrets) for each in kept]
    new, end = _new(said, since, after)
    stored = await conversation.append(new) if new else []
    last = next((each.record for each in (*reversed(stored), *reversed(since), *known) if each.id == end), None)
    if last is not None:
        note(memory, place, state.after(given, last.id, read))
    versions = {each.record.id: each.record.version for each in (*known, *since) if each.record is not None}
    records = [message.record for message in stored if message.record is not None]
    return [each for each in records if each.version != versions.get(each.id)]


async def _since(conversation: Conversation, last: str) -> list[Message]:
    """Return the stored messages from the one whose record has the id `last` on; none if the newest ones lack it."""
    for count in (2, _LOOK_BACK):
        newest = await conversation.window(count)
        for place, message in enumerate(newest):
            if message.record is not None and message.record.id == last:
                return newest[place:]
    return []


def _storable(message: Message, policy: Policy | None) -> Message:
    """Return a message without what recall put into it and what is private, and without its secrets by default.

    What is stored is compared with what is said again, so both must be without them.
    """
    text = without_private(without_recalled(message.content))
    data = message.data
    if policy in (None, "mask"):
        text = masked(text)
        data = None if data is None else in_texts(data, masked)
    return replace(message, content=text, data=data)


def _attributed(
    messages: Iterable[Message], told: Context | None, before: tuple[Author, bool]
) -> tuple[list[Message], tuple[Author, bool]]:
    """Return the messages, the assistant's with the authors of what it had read in its turn, and what it has read."""
    found: list[Message] = []
    read, answered = before
    for message in messages:
        author = author_of_role(message.role)
        if author in (Author.TOOL, Author.WEB):
            read, answered = read | author, False
        elif author is Author.USER and answered:
            read = NOBODY
        elif author is Author.ASSISTANT:
            answered = answered or bool(message.content.strip())
            if read and message.author is None:
                message = replace(message, author=author | read)
        found.append(message)
    shown = joined(item.record.origin.authors for item in (told.items if told else ()))
    if found and found[-1].role == "assistant" and shown:
        found[-1] = replace(found[-1], author=parse_authors(found[-1].author or Author.ASSISTANT) | shown)
    return found, (read, answered)


def _new(said: Sequence[Message], stored: Sequence[Message], after: str | None) -> tuple[list[Message], str | None]:
    """Return those of the messages said that are not stored, each with an id, and the id of the last one said.

    Args:
        said: the messages.
        stored: the conversation's newest messages.
        after: the id of the message before those said, if it is known.
    """
    matched = _matched(said, stored)
    by_id = {(each.id, each.role): each for each in stored}
    new: list[Message] = []
    before = stored[-1].id if said and stored and not matched else after
    for position, message in enumerate(said):
        old = by_id.get((message.id, message.role)) if message.id is not None else None
        old = old or matched.get(position)
        if old is not None and (message.id != old.id or message.content == old.content):
            before = old.id
            continue
        message = message if message.id is not None else replace(message, id=_id_after(before, message))
        new.append(message)
        before = message.id
    return new, before


def _matched(said: Sequence[Message], stored: Sequence[Message]) -> dict[int, Message]:
    """Return, by position, the stored message that each message said is taken for."""
    here, there = ([(each.role, each.content) for each in some] for some in (said, stored))
    found: dict[int, Message] = {}
    for length in range(min(len(here), len(there)), 0, -1):
        if there[-length:] == here[:length]:  # what is said goes on where the stored conversation ends
            return {n: old for n, old in enumerate(stored[-length:]) if not _differ(said[n], old)}
    for start, position, length in SequenceMatcher(None, there, here, autojunk=False).get_matching_blocks():
        if length > 1 or (position == 0 and (start == 0 or start + length == len(there))):
            found |= {position + step: stored[start + step] for step in range(length)}
    return {position: old for position, old in found.items() if not _differ(said[position], old)}


def _differ(message: Message, old: Message) -> bool:
    """Whether both messages have ids of their caller's, which are not the same."""
    named = old.id is not None and not old.id.startswith(_OWN) and (old.record is None or old.id != old.record.id)
    return named and message.id is not None and message.id != old.id


def _id_after(before: str | None, message: Message) -> str:
    """Return an id for a message that follows the one with the id `before`."""
    parts = json.dumps([before, message.role, message.name, message.content])
    return _OWN + blake2b(parts.encode(), digest_size=16).hexdigest()
