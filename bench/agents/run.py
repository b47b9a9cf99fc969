"""Which evidence reaches the prompt of a framework's agent, with Memorist and with the framework's own memory.

    python bench/agents/run.py DATA [--framework NAME] [--conversations 2] [--every N] [--out FILE.json]

DATA is a folder with a `corpus.jsonl` of turns (id, group, session, speaker, text) and a `queries.jsonl` of questions
(group, question, gold: ids of turns, category). NAME is one of `with_NAME.py`; by default each one whose framework
is installed. A group is a conversation. For each memory a scripted agent talks through every session, two turns an
exchange, and then is asked every Nth question that can be answered.

Evidence is the share of a question's gold turns that are in the prompt: at least half of a turn's runs of three words.
"full" is the share of questions all of whose gold turns are. Tokens are the prompt's characters by four. Milliseconds
are medians of a whole turn of the agent, the memory's embedding included; "none" is the same agent without a memory,
and the difference to it is the memory's.
"""

import argparse
import asyncio
import importlib
import json
import math
import re
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from scripted import Exchange, ScriptedAgent

from memorist import Memory
from memorist.embedders import EmbedderSpec, open_embedder

Row = Mapping[str, Any]
UNANSWERABLE = ("5-adversarial", "abstention")


def conversations(data: Path, number: int, every: int) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yield the turns of each of the first conversations, and its questions."""
    turns, questions = defaultdict(list), defaultdict(list)
    for row in _lines(data / "corpus.jsonl"):
        turns[row["group"]].append(row)
    for row in _lines(data / "queries.jsonl"):
        if row["gold"] and row["category"] not in UNANSWERABLE:
            questions[row["group"]].append(row)
    for group in list(turns)[:number]:
        yield turns[group], questions[group][::every]


def sessions(turns: Sequence[Row]) -> dict[str, list[Exchange]]:
    """Return the exchanges of each session; the last one's answer may be missing from the data."""
    texts = defaultdict(list)
    for row in turns:
        texts[row["session"]].append(f"{row['speaker']}: {row['text']}")
    return {name: list(zip(said[::2], [*said[1::2], "Goodbye."], strict=False)) for name, said in texts.items()}


def evidence(prompt: str, gold: Sequence[str]) -> float:
    """Return the share of the gold texts that are in a prompt."""
    inside = _runs(prompt)
    return sum(len(_runs(text) & inside) >= len(_runs(text)) / 2 for text in gold) / len(gold)


async def measured(agent: ScriptedAgent, turns: Sequence[Row], questions: Sequence[Row]) -> dict[str, list[float]]:
    """Talk through a conversation, ask its questions, and return what was measured of each."""
    found: dict[str, list[float]] = defaultdict(list)
    for session, exchanges in sessions(turns).items():
        start = time.perf_counter()
        await agent.talk(session, exchanges)
        found["talk"].append(1000 * (time.perf_counter() - start) / len(exchanges))
    text = {row["id"]: row["text"] for row in turns}
    for question in questions:
        start = time.perf_counter()
        prompt = await agent.ask(question["question"])
        found["ask"].append(1000 * (time.perf_counter() - start))
        share = evidence(prompt, [text[id] for id in question["gold"] if id in text] or [""])
        found["evidence"].append(100 * share)
        found["full"].append(100 * (share == 1))
        found["tokens"].append(math.ceil(len(prompt) / 4))
    return found


async def framework(
    name: str, talks: Sequence[tuple[list[Row], list[Row]]], embedder: EmbedderSpec = None
) -> list[Row]:
    """Return a row of results for each memory of a framework."""
    module, found = importlib.import_module(f"with_{name}"), defaultdict[str, dict[str, list[float]]](dict)
    for turns, questions in talks:
        opened = open_embedder(embedder)  # closed with the memory
        await opened.ready()
        with tempfile.TemporaryDirectory() as folder:
            async with Memory.open(Path(folder) / "bench.db", embedder=opened) as memory:
                for kind, make in module.agents(memory, opened).items():
                    for key, values in (await measured(make(), turns, questions)).items():
                        found[kind].setdefault(key, []).extend(values)
    return [{"framework": name, "memory": kind, **_summary(values)} for kind, values in found.items()]


def _summary(values: Mapping[str, Sequence[float]]) -> dict[str, float]:
    means = {key: round(statistics.mean(values[key]), 1) for key in ("evidence", "full", "tokens")}
    return means | {key: round(statistics.median(values[key]), 1) for key in ("ask", "talk")}


def _runs(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.casefold())
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)} or {tuple(words)}


def _lines(path: Path) -> Iterator[Row]:
    return map(json.loads, path.read_text(encoding="utf-8").splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--framework")
    parser.add_argument("--conversations", type=int, default=2)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    talks = list(conversations(asked.data, asked.conversations, asked.every))
    there = sorted(path.stem.removeprefix("with_") for path in Path(__file__).parent.glob("with_*.py"))
    names = [asked.framework] if asked.framework else there
    rows: list[Row] = []
    print("| framework | memory | evidence | full | tokens | question, ms | exchange, ms |")
    print("|---" * 7 + "|")
    for name in names:
        try:
            found = asyncio.run(framework(name, talks))
        except ImportError as error:
            if asked.framework:
                raise
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        for row in found:
            print("| " + " | ".join(str(value) for value in row.values()) + " |", flush=True)
        rows += found
    if asked.out:
        asked.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
