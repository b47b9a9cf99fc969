"""How many ordinary sentences `neutralise` changes: false alarms, counted over the benchmark's texts.

    python bench/agents/sanitizer.py DATA [--number 1000]

DATA is a folder of data sets, each with a `corpus.jsonl` whose lines have a `text`. The sentences are drawn
evenly from all data sets, in the same way each time. Each injection of the tests is put into the middle of an
ordinary sentence, too, and must be broken there.
"""

import argparse
import json
import random
import re
import sys
import time
from pathlib import Path

from memorist.framing.frame import neutralise

sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "support"))
from injections import injections


def sentences(folder: Path, number: int) -> list[str]:
    """Return `number` different sentences of the data sets under `folder`."""
    corpora = sorted(folder.glob("*/corpus.jsonl"))
    if not corpora:
        sys.exit(f"no */corpus.jsonl in {folder}")
    choose, found = random.Random(7), set()
    for place, path in enumerate(corpora):
        texts = [json.loads(line)["text"] for line in path.read_text(encoding="utf-8").splitlines()]
        choose.shuffle(texts)
        wanted = number * (place + 1) // len(corpora)
        for text in texts:
            for sentence in re.split(r"(?<=[.!?])\s+", text.strip()):
                if len(sentence) > 15 and len(found) < wanted:
                    found.add(sentence)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--number", type=int, default=1000)
    asked = parser.parse_args()
    ordinary = sentences(asked.data, asked.number)
    start = time.perf_counter()
    changed = [text for text in ordinary if neutralise(text) != text]
    took = time.perf_counter() - start
    lost = [text for text in ordinary if re.findall(r"\w+", neutralise(text)) != re.findall(r"\w+", text)]
    print(f"{len(ordinary)} ordinary sentences, {len(changed)} changed, {len(lost)} lost a word, {took * 1000:.1f} ms")
    for text in changed[:20]:
        print(f"  {text[:100]!r} -> {neutralise(text)[:100]!r}")
    texts = [f"{ordinary[place % len(ordinary)]} {text}" for place, (_, text) in enumerate(injections())]
    print(f"{len(texts)} injections inside ordinary text, {sum(neutralise(text) == text for text in texts)} unchanged")


if __name__ == "__main__":
    main()
