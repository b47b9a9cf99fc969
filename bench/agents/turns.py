"""How long a turn of an agent takes in a thread that grows: the framework's own SQLite store beside Memorist.

    python bench/agents/turns.py [--framework NAME] [--messages 100 500 1000 2000] [--turns 9] [--cpu] [--plot FILE.png]

A thread is filled with that many messages in each store, and then the agent runs a few turns in it, the stores taking
turns so that a load of the machine falls on all of them. Printed are the medians of a whole turn, the framework's work
included, in milliseconds, and as a ratio to the framework's own store. The model is scripted and answers at once; the
embedder is the bundled one. NAME is one of langgraph, openai_agents, adk, pydantic_ai; by default each one that is
installed. With `--cpu` it is the processor's time, of all threads, which another load moves less, and which leaves out
what is waited for: the disk. `--plot` draws the medians, and needs matplotlib.
"""

import argparse
import asyncio
import importlib
import random
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from scripted import Thread

from memorist import Memory

FRAMEWORKS = ("langgraph", "openai_agents", "adk", "pydantic_ai")
_WORDS = (
    "garden river meeting invoice Tuesday bicycle kitchen violin passport cousin weather library dentist harvest "
    "tunnel ferry ladder museum budget painter orchard marathon recipe landlord engine battery teacher island winter "
    "candle market doctor bridge holiday concert puzzle gallery jacket station blanket mountain coffee lantern"
).split()
Medians = Mapping[str, Mapping[int, float]]


def sentence(chance: random.Random) -> str:
    """Return something to say, of about a dozen words."""
    return f"I think the {' and the '.join(chance.sample(_WORDS, 4))} matter most to my {chance.choice(_WORDS)}."


async def measured(name: str, sizes: Sequence[int], turns: int, clock: Callable[[], float]) -> Medians:
    """Return the median milliseconds of a turn by store and by the number of messages in the thread."""
    module, chance = importlib.import_module(f"with_{name}"), random.Random(7)
    found: dict[str, dict[int, float]] = defaultdict(dict)
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        memories = [await stack.enter_async_context(Memory.open(folder / f"ours{each}.db")) for each in range(3)]
        threads: Mapping[str, Thread] = await module.threads(memories, folder, stack)
        length = 0
        for size in sizes:
            said = [(sentence(chance), sentence(chance)) for _ in range((size - length) // 2)]
            times: dict[str, list[float]] = defaultdict(list)
            for thread in threads.values():
                await thread.fill(said)
                await thread.turn(sentence(chance))  # the first one reads what the others need not
            for _ in range(turns):
                for store, thread in threads.items():
                    text, start = sentence(chance), clock()
                    await thread.turn(text)
                    times[store].append(1000 * (clock() - start))
            for store, each in times.items():
                found[store][size] = statistics.median(each)
            length = size + 2 * turns + 2
    return found


def plotted(results: Mapping[str, Medians], file: Path) -> None:
    """Draw a panel for each framework, with a line for each store."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(results), 4), layout="constrained")
    for place, (name, stores) in enumerate(results.items(), start=1):
        panel = figure.add_subplot(1, len(results), place)
        for store, medians in stores.items():
            panel.plot(list(medians), list(medians.values()), marker="o", label=store)
        panel.set(title=name, xlabel="messages in the thread", ylabel="a turn, ms", ylim=(0, None))
        panel.legend()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--framework", choices=FRAMEWORKS)
    parser.add_argument("--messages", type=int, nargs="+", default=[100, 500, 1000, 2000])
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--plot", type=Path)
    asked = parser.parse_args()
    clock = time.process_time if asked.cpu else time.perf_counter
    results: dict[str, Medians] = {}
    print("| framework | store |" + "".join(f" {size:,} |" for size in asked.messages) + " ratio |")
    print("|---" * (3 + len(asked.messages)) + "|")
    for name in [asked.framework] if asked.framework else FRAMEWORKS:
        try:
            results[name] = asyncio.run(measured(name, asked.messages, asked.turns, clock))
        except ImportError as error:
            if asked.framework:
                raise
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        own = next(iter(results[name].values()))
        for store, medians in results[name].items():
            ratio = medians[asked.messages[-1]] / own[asked.messages[-1]]
            cells = [name, store, *(f"{each:.0f}" for each in medians.values()), f"{ratio:.2f}"]
            print(f"| {' | '.join(cells)} |", flush=True)
    if asked.plot and results:
        plotted(results, asked.plot)


if __name__ == "__main__":
    main()
