"""How long a thread takes that is brought along whole: a framework's own stores beside Memorist.

    python bench/agents/bringing.py [--messages 100 500 2000] [--runs 3]

LlamaIndex is given a thread of that many messages in one call: `aput_messages` of its chat memory, in its SQLite chat
store, and `aput` of a memory block: its own on vectors, which makes one text of all, and ours. `after_turn` is what the
other adapters call in a first turn. Printed are the medians, in milliseconds, of the call, and of the call with all
that goes on behind it until every message has its vector. Each run has files of its own; the embedder is bundled.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from llama_index.core.llms import ChatMessage
from llama_index.core.memory import Memory as ChatMemory
from llama_index.core.memory import VectorMemoryBlock
from turns import sentence
from with_llama_index import Embedding, TextStore

from memorist import Memory
from memorist.adapters.llama_index import MemoristMemoryBlock
from memorist.agents import after_turn
from memorist.embedders import open_embedder

EMBEDDER = open_embedder(None)
Store = Callable[[Memory, Path, Sequence[ChatMessage]], Awaitable[object]]


async def chat_store(memory: Memory, folder: Path, messages: Sequence[ChatMessage]) -> None:
    chat = ChatMemory.from_defaults(session_id="long", async_database_uri=f"sqlite+aiosqlite:///{folder}/chat.db")
    await chat.aput_messages(list(messages))


async def vector_block(memory: Memory, folder: Path, messages: Sequence[ChatMessage]) -> None:
    embed = Embedding(embedder=EMBEDDER)
    await VectorMemoryBlock(vector_store=TextStore(), embed_model=embed).aput(list(messages))


async def memorist_block(memory: Memory, folder: Path, messages: Sequence[ChatMessage]) -> None:
    await MemoristMemoryBlock(memory=memory).aput(list(messages), session_id="long")


async def first_turn(memory: Memory, folder: Path, messages: Sequence[ChatMessage]) -> None:
    said = [{"role": each.role.value, "content": each.content} for each in messages]
    await after_turn(memory, said, session="long")


STORES: Mapping[str, Store] = {
    "LlamaIndex, its SQLite chat store": chat_store,
    "LlamaIndex, VectorMemoryBlock": vector_block,
    "LlamaIndex, MemoristMemoryBlock": memorist_block,
    "after_turn": first_turn,
}


async def measured(store: Store, size: int) -> tuple[float, float]:
    """Return the milliseconds of a call, and until all has vectors."""
    chance = random.Random(7)
    roles = ("user", "assistant")
    messages = [
        ChatMessage(role=roles[number % 2], content=sentence(chance), additional_kwargs={"session_id": "long"})
        for number in range(size)
    ]
    with tempfile.TemporaryDirectory() as folder:
        async with Memory.open(Path(folder) / "ours.db", user="alice") as memory:
            await memory.recall("warm")
            start = time.perf_counter()
            await store(memory, Path(folder), messages)
            returned = time.perf_counter()
        done = time.perf_counter()  # closing waits for what is embedded
    return 1000 * (returned - start), 1000 * (done - start)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, nargs="+", default=[100, 500, 2000])
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    print("| store |" + "".join(f" {size:,} | and behind |" for size in asked.messages))
    print("|---" * (1 + 2 * len(asked.messages)) + "|")
    for name, store in STORES.items():
        cells = [name]
        for size in asked.messages:
            times = [asyncio.run(measured(store, size)) for _ in range(asked.runs)]
            cells += [f"{statistics.median(each):,.0f}" for each in zip(*times, strict=True)]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
