"""What `add` does: store messages as they are, or with a chat model what they tell."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memorist.adapters.mem0.checks import PROCEDURAL
from memorist.adapters.mem0.shapes import fresh_id, text_of
from memorist.errors import InvalidInputError, ModelError
from memorist.memory import Memory
from memorist.records import Draft, Kind

if TYPE_CHECKING:
    from memorist.language import ChatModelSpec, Reconciled

__all__ = ["draw", "store", "summarise"]

_PROCEDURE = (
    "You write down how an agent carried out a task, so that it can go on, or do it again, from your text alone. "
    "Keep, in order, what was tried, with which tools and values, what came of it, and what is left to do. "
    "Answer with that text and nothing else, in the language of the conversation."
)


async def store(memory: Memory, messages: Sequence[Any], pattern: Draft) -> list[dict[str, Any]]:
    """Store each message that says something as a note, all of them or none, with the pattern's fields."""
    spoken = [(message, text) for message in messages if (text := text_of(message)) is not None]
    drafts = []
    for message, text in spoken:
        voice = {"role": message["role"]}
        if name := message.get("name"):
            voice["actor_id"] = name
        payload = {**(pattern.payload or {}), **voice}
        drafts.append(replace(pattern, content=text, kind=Kind.NOTE, id=fresh_id(), payload=payload))
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


async def draw(memory: Memory, messages: Sequence[Any], pattern: Draft, model: "ChatModelSpec") -> list[dict[str, Any]]:
    """Draw the facts that the messages tell, and hold each against the stored ones."""
    from memorist.language import extract_facts, open_chat_model, reconcile

    opened = open_chat_model(model)
    given = [
        {"role": message["role"], "content": text, "name": message.get("name"), "happened_at": pattern.happened_at}
        for message in messages
        if (text := text_of(message)) is not None
    ]
    extraction = await extract_facts(given, model=opened)
    results = []
    for statement in extraction.statements:
        [done] = await reconcile(memory, [statement], model=opened, id=fresh_id(), metadata=pattern.metadata)
        if (row := _row(done)) is not None:
            results.append(row)
            if pattern.payload:  # the fact has fields of its own there
                await memory.revise(done.record.id, payload={**done.record.payload, **pattern.payload})
    return results


def _row(done: "Reconciled") -> dict[str, Any] | None:
    """Return what mem0 says of a statement; of one that changed nothing that holds, nothing."""
    from memorist.language import Decision

    row = {"id": done.record.id, "memory": done.record.content}
    if done.decision is Decision.ADD:
        return {**row, "event": "ADD"}
    if done.decision in (Decision.UPDATE, Decision.CONTRADICTED) and done.replaced is not None:
        return {**row, "event": "UPDATE", "previous_memory": done.replaced.content}
    return None


async def summarise(
    memory: Memory, messages: Sequence[Any], pattern: Draft, model: "ChatModelSpec | None", prompt: str | None
) -> list[dict[str, Any]]:
    """Store how a task was done, in the chat model's words.

    Raises:
        InvalidInputError: there is no chat model.
        ModelError: it failed, or had nothing to say.
    """
    from memorist.language import open_chat_model

    if model is None:
        raise InvalidInputError("a procedural memory is written by a chat model; give one with chat_model=")
    said = [(message, text) for message in messages if (text := text_of(message)) is not None]
    asked = [
        {"role": "system", "content": prompt or _PROCEDURE},
        *({"role": str(message["role"]), "content": text} for message, text in said),
        {"role": "user", "content": "Write down the procedure of the conversation above."},
    ]
    reply = await open_chat_model(model).complete(asked)
    if not reply.text.strip():
        raise ModelError("the chat model returned no procedure")
    metadata = {**(pattern.metadata or {}), "memory_type": PROCEDURAL}
    record = await memory.remember(
        replace(pattern, content=reply.text.strip(), kind=Kind.NOTE, id=fresh_id(), metadata=metadata)
    )
    return [{"id": record.id, "memory": record.content, "event": "ADD"}]
