"""What `add` does: store messages as they are, or what a chat model extracts from them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memorist.adapters.mem0.checks import PROCEDURAL, EmptyReplyError
from memorist.adapters.mem0.shapes import fresh_id, text_of
from memorist.errors import InvalidInputError, ModelError
from memorist.memory import Memory
from memorist.records.origins import Author, author_of_role, joined
from memorist.records.record import Draft, Kind

if TYPE_CHECKING:
    from memorist.language import ChatModel, Reconciled

_FENCED = re.compile(r"```\w*\n(.*?)\n?```", re.DOTALL)
_PROCEDURE = (
    "You write down how an agent carried out a task, so that it can go on, or do it again, from your text alone. "
    "Keep, in order, what was tried, with which tools and values, what came of it, and what is left to do. "
    "Answer with that text and nothing else, in the language of the conversation."
)


async def store(memory: Memory, messages: Sequence[Any], pattern: Draft) -> list[dict[str, Any]]:
    """Store each message with a text as a note with the pattern's fields, all of them or none."""
    spoken = [(message, text) for message in messages if (text := text_of(message)) is not None]
    drafts = []
    for message, text in spoken:
        voice = {"role": message["role"]}
        if name := message.get("name"):
            voice["actor_id"] = name
        payload = {**(pattern.payload or {}), **voice}
        author = _authors_of([message]) or None  # then the door names the author
        drafts.append(replace(pattern, content=text, kind=Kind.NOTE, id=fresh_id(), payload=payload, author=author))
    return [
        {
            "id": record.id,
            "memory": record.content,
            "event": "ADD",
            "actor_id": record.payload.get("actor_id"),
            "role": record.payload["role"],
        }
        for record in (await memory.remember(drafts) if drafts else [])
    ]


def model_of(given: Any) -> "ChatModel":
    """Return a chat model from what `open_chat_model` takes, or from a chat model of LangChain."""
    from memorist.language import open_chat_model

    return open_chat_model(getattr(given, "ainvoke", given))


async def draw(
    memory: Memory, messages: Sequence[Any], pattern: Draft, model: "ChatModel", instructions: str | None
) -> list[dict[str, Any]]:
    """Extract the facts in the messages, and reconcile each with the stored ones."""
    from memorist.language import Prompts, extract_facts, reconcile

    prompts = Prompts(added={"facts": instructions} if instructions else {})
    given = [
        {"role": message["role"], "content": text, "name": message.get("name"), "happened_at": pattern.happened_at}
        for message in messages
        if (text := text_of(message)) is not None
    ]
    extraction = await extract_facts(given, model=model, prompts=prompts, now=memory.clock(), zone=memory.zone)
    results = []
    for statement in extraction.statements:
        own: dict[str, Any] = {"id": fresh_id(), "metadata": pattern.metadata, "payload": pattern.payload}
        [done] = await reconcile(memory, [statement], model=model, **own)
        if (row := _row(done)) is not None:
            results.append(row)
    return results


def _row(done: "Reconciled") -> dict[str, Any] | None:
    """Return the result for a statement in mem0's form; None if the statement changed nothing."""
    from memorist.language import Decision

    row = {"id": done.record.id, "memory": done.record.content}
    if done.decision is Decision.ADD:
        return {**row, "event": "ADD"}
    if done.decision in (Decision.UPDATE, Decision.CONTRADICTED) and done.replaced is not None:
        return {**row, "event": "UPDATE", "previous_memory": done.replaced.content}
    return None


async def summarise(
    memory: Memory, messages: Sequence[Any], pattern: Draft, model: "ChatModel | None", prompt: str | None
) -> list[dict[str, Any]]:
    """Store the chat model's summary of how a task was done.

    Raises:
        InvalidInputError: there is no chat model.
        ModelError: it failed.
        EmptyReplyError: its reply is empty; also a ValueError.
    """
    from memorist.language.reading import without_thoughts

    if model is None:
        raise InvalidInputError("a procedural memory is written by a chat model; give one with chat_model=")
    said = [(message, text) for message in messages if (text := text_of(message)) is not None]
    asked = [
        {"role": "system", "content": prompt or _PROCEDURE},
        *({"role": str(message["role"]), "content": text} for message, text in said),
        {"role": "user", "content": "Write down the procedure of the conversation above."},
    ]
    reply = await model.complete(asked)
    if reply.problem is not None and reply.text.strip():
        raise ModelError(f"the chat model wrote no procedure: {reply.problem}")
    answer = without_thoughts(reply.text).strip()
    text = (whole[1] if (whole := _FENCED.fullmatch(answer)) else answer).strip()
    if not text:
        raise EmptyReplyError(
            "The LLM returned no content for the procedural memory summary: the chat model declined, or its reply is "
            "empty. Nothing was stored."
        )
    metadata = {**(pattern.metadata or {}), "memory_type": PROCEDURAL}
    author = _authors_of(message for message, _ in said) | Author.ASSISTANT
    record = await memory.remember(
        replace(pattern, content=text, kind=Kind.NOTE, id=fresh_id(), metadata=metadata, author=author)
    )
    return [{"id": record.id, "memory": record.content, "event": "ADD"}]


def _authors_of(messages: Iterable[Any]) -> Author:
    """Return the authors of messages by their roles, without the operator, whom a role does not prove."""
    return joined(author_of_role(message["role"]) for message in messages) & ~Author.OPERATOR
