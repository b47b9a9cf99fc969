"""A million messages imported: how long, and how much memory.

    python bench/load/imports.py [--messages 1000000] [--folder FOLDER] [--later] [--out FILE.json]

A chat of Telegram's with so many messages is made in a temporary folder, read, and imported into an SQLite file. The
embedder is a hash of the words (`HashEmbedder`, 64 dimensions), so that reading and storing are measured and no model:
add its milliseconds for each message (bench/embedders). Every 60,000 messages a line on stderr tells how far it is.
With `--folder`, a run that was interrupted goes on where it was. With `--later`, the bundled model embeds, after all is
stored: `import_s` is when words find every message, `embed_s` what the model takes then.
"""

import asyncio
import json
import random
import resource
import sys
import tempfile
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from memorist import Memory
from memorist.imports import load, survey
from memorist.testing import HashEmbedder

_WORDS = "coffee train garden sister budget deploy violin harbour recipe meeting winter lantern paper bridge".split()


def make(path: Path, messages: int) -> None:
    """Write a chat of so many messages."""
    dice = random.Random(1)
    with path.open("w", encoding="utf-8") as stream:
        stream.write('{"name": "Bob", "type": "personal_chat", "id": 1, "messages": [')
        for number in range(messages):
            text = " ".join(dice.choices(_WORDS, k=12))
            said = {"id": number, "type": "message", "date_unixtime": str(1_600_000_000 + 30 * number),
                    "from": dice.choice(["Anna", "Bob"]), "from_id": "user1", "text": text}  # fmt: skip
            stream.write(("," if number else "") + json.dumps(said))
        stream.write("]}")


def told(number: int) -> None:
    """Tell how far it is, every 60,000 messages."""
    if number and number % 60_000 == 0:
        print(f"{number:,}: {time.process_time():.0f} s of processor time, {peak()} MiB", file=sys.stderr, flush=True)


def peak() -> int:
    """Return the most memory that this process ever had, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


async def measure(folder: Path, messages: int, *, later: bool) -> dict[str, Any]:
    """Import so many messages, and once more; return what that took. With `later`, the bundled model embeds then."""
    path = folder / "result.json"
    if not path.exists():
        make(path, messages)
    before = peak()
    begun = time.perf_counter()
    found = survey(path, progress=told)
    figures: dict[str, Any] = {
        "messages": found.messages, "file_mib": path.stat().st_size >> 20, "survey_s": time.perf_counter() - begun,
        "survey_mib": peak() - before,
    }  # fmt: skip
    embedder = None if later else HashEmbedder(64)
    async with Memory.open(folder / "memory.db", embedder=embedder) as memory:
        for name in ("import", "again"):
            begun, busy, there = time.perf_counter(), time.process_time(), await memory.count()
            report = await load(memory, path, embed="later" if later else "now", progress=told)
            took, used = time.perf_counter() - begun, time.process_time() - busy
            assert (report.added, report.existing) == (messages - there, there)
            figures |= {f"{name}_there": there, f"{name}_s": took, f"{name}_processor_s": used,
                        f"{name}_mib": peak() - before}  # fmt: skip
        if later:
            begun, busy = time.perf_counter(), time.process_time()
            figures["embedded"] = await memory.admin.reindex(missing=True)
            figures |= {"embed_s": time.perf_counter() - begun, "embed_processor_s": time.process_time() - busy}
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in figures.items()}


def main() -> None:
    parser = ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--folder", type=Path, help="where the chat and the memory stay")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--later", action="store_true", help="embed with the bundled model after all is stored")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(measure(given.folder or Path(folder), given.messages, later=given.later))
    print(json.dumps(figures, indent=2))
    if given.out is not None:
        given.out.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
