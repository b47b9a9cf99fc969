"""A hook's work on a memory: reading it where no server runs, and keeping what was said."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memorist.cli.bringing import MOST, SOURCE, Earlier
from memorist.cli.hooks.caller import Ask, Caller
from memorist.cli.hooks.events import Event
from memorist.config import Settings
from memorist.embedders.registry import open_ahead
from memorist.files.projects import Project
from memorist.memory import Memory
from memorist.operations import requests
from memorist.records.origins import HOOK
from memorist.system.places import config_file

if TYPE_CHECKING:
    from memorist.kinds import Message


@contextmanager
def opened(caller: Caller, *, embeds: bool) -> Iterator[Ask]:
    """Open the caller's memory and yield what answers as a server does; `embeds` loads the model meanwhile."""
    with asyncio.Runner() as runner:
        memory = runner.run(_open(caller, server=False, embeds=embeds, brief=True))

        def ask(verb: str, project: str | None, body: dict[str, Any]) -> dict[str, Any]:
            seen = memory.unlabelled() if project is None else memory.scoped(agent=project)
            if verb == "relabel":
                return {"relabelled": runner.run(seen.ask(requests.Relabel.of(body)))}
            if verb == "context":
                return runner.run(seen.ask(requests.Context.of(body))).to_dict()
            return {"records": [each.to_dict() for each in runner.run(seen.ask(requests.Recent.of(body)))]}

        try:
            yield ask
        finally:
            runner.run(memory.close())


async def _open(caller: Caller, *, server: bool = True, embeds: bool = True, brief: bool = False) -> Memory:
    settings = Settings.load(file=config_file(), url=caller.db)
    if settings.secrets == "refuse":  # nobody could put right what is refused here
        settings = replace(settings, secrets="mask")
    scope: dict[str, Any] = {"tenant": caller.tenant, "user": caller.user, "agent": caller.project}
    url = caller.server() if server else None
    if url is not None or settings.url.startswith(("http://", "https://")):
        token = os.environ.get("MEMORIST_TOKEN") or None
        return await Memory.connect(url or settings.url, token=token, zone=settings.zone, **scope)
    if embeds:
        settings = settings.with_given(embedder=open_ahead(settings.embedder, brief=brief))
    return await Memory.open(settings=settings, **scope).through(HOOK)


async def bring_over(memory: Memory, earlier: Earlier, project: Project) -> int:
    """Give the project's records of earlier labels its label, as many as a call may, and return how many."""
    whole = memory.unlabelled()
    given: dict[str, Any] = {"to": project.whole, "limit": MOST, "source": SOURCE}
    counts = [await whole.relabel(agent=label, **given) for label in earlier.labels]
    earlier.done(counts)
    return sum(counts)


def _told(event: Event, said: dict[str, Any]) -> "tuple[list[Message], Path | None]":
    """Return the messages that an agent tells with an event, or the transcript that it names."""
    from memorist.files.transcripts import message_of
    from memorist.kinds import Message

    if event.says:
        inner = said.get("tool_info")
        fields = {**said, **inner} if isinstance(inner, dict) else said
        spoken = [(fields.get(field), role) for field, role in event.says.items()]
        texts = [(text, role) for text, role in spoken if isinstance(text, str) and text.strip()]
        return [Message(content=text, role=role) for text, role in texts], None
    entries = said.get("messages")
    if isinstance(entries, list):
        read = [message_of(each) for each in entries]
        return [message for message in read if message is not None], None
    path = said.get("transcript_path")
    return [], Path(path).expanduser() if isinstance(path, str) and path else None


def keep(caller: Caller, event: Event, said: dict[str, Any]) -> None:
    """Store what was said in a session and is not stored yet.

    Raises:
        OSError: the transcript cannot be read.
        MemoristError: nothing was stored; the next event tries again.
    """
    from memorist.agents import after_turn
    from memorist.agents.personal import keep_personal
    from memorist.files.transcripts import last_messages, messages_back, read_transcript

    messages, transcript = _told(event, said)
    anything = messages or (transcript is not None and next(messages_back(transcript), None))
    if caller.session is None or not anything:
        return

    async def store() -> None:
        async with await _open(caller) as memory:
            await bring_over(memory, caller.earlier, caller.place)
            new = last_messages(messages)
            if transcript is not None:
                newest = await memory.conversation(caller.session).window(1)
                new = read_transcript(transcript, newest[0].id if newest else None)
            marked = [replace(each, metadata={"session": caller.session}) for each in new]
            kept = await after_turn(memory, marked, session=caller.session)
            await keep_personal(memory, kept)

    asyncio.run(store())
