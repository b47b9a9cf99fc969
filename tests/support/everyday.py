"""What a user's memory holds after some days: messages, ratings, imported notes, a proposal, a kept index.

Run as a script, this file writes it into a new file with the version of Memorist that Python finds, in words that every
version since the first in `tests/data` knows; see `tests/data/README.md`.
"""

import asyncio
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from memorist import Draft, Memory
from memorist.imports import load

FILLING = 1000
"""From so many records on, an index is kept in the file."""
NOTES = {
    "vault/a/notes.md": "# Tea\nGreen tea is in the left drawer\n",
    "vault/b/notes.md": "Coffee is in the right one\n",
}
CHAT = "31.12.23, 21:41 - Anna: We fly to Lisbon on Friday\n31.12.23, 21:42 - Bob: At seven?\n"


def notes_in(folder: Path) -> Path:
    """Write the files that are imported, and return their folder."""
    for name, text in NOTES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "vault" / "WhatsApp Chat with Bob.txt").write_text(CHAT)
    return folder / "vault"


async def write(path: str) -> None:
    """Write it into a new file."""
    async with Memory.open(path, embedder="hash") as memory:
        alice = memory.scoped(user="alice")
        talk = alice.conversation("monday")
        await talk.append("I moved to Oslo in January", id="m1")
        await talk.append("How do you like it?", role="assistant")
        lake: Any = await alice.notes.add("The cabin by the lake has no heating")
        await alice.rate(lake.id, 0.75)
        gone: Any = await alice.notes.add("This will be forgotten")
        await alice.forget(gone.id)
        await alice.topics.set("user.name", "Alice")
        await memory.scoped(user="bob").notes.add("Bob's own note about the lake")
        await alice.remember([Draft(content=f"Page {number % 9}", id=f"page-{number}") for number in range(FILLING)])
        with tempfile.TemporaryDirectory() as folder:
            await load(alice, notes_in(Path(folder)))
        assert (await alice.recall("Where is the cabin?"))[0].record.id == lake.id
    if hasattr(Memory, "through"):
        await _propose(path)


async def _propose(path: str) -> None:
    from memorist.config import Settings
    from memorist.errors import WaitingError
    from memorist.records.origins import MCP

    async with Memory.open(path, embedder="hash", settings=Settings(confirm=True)) as memory:
        with suppress(WaitingError):
            await memory.scoped(user="alice").through(MCP).notes.add("A proposed note about the garden")


if __name__ == "__main__":
    asyncio.run(write(sys.argv[1]))
