"""How many ordinary sentences the sanitiser changes: false alarms, counted over the benchmark's texts.

    python bench/agents/sanitizer.py DATA [--number 1000]

DATA is a folder of data sets, each with a `corpus.jsonl` whose lines have a `text`. The sentences are drawn
evenly from all data sets, in the same way each time. Injected marks are tried too: each known injection, put into
the middle of an ordinary sentence, must go, and leave the sentence.
"""

import argparse
import json
import random
import re
import sys
from pathlib import Path

from memorist.adapters.promptise.sanitizing import sanitize

INJECTIONS = Path(__file__).parents[2] / "tests" / "adapters" / "promptise" / "injections.txt"


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
    changed = [text for text in ordinary if sanitize(text, limit=None) != text.strip()]
    print(f"{len(ordinary)} ordinary sentences, {len(changed)} changed")
    for text in changed[:20]:
        print(f"  {text[:100]!r} -> {sanitize(text)[:100]!r}")
    known = [line for line in INJECTIONS.read_text(encoding="utf-8").splitlines() if not line.startswith("//")]
    missed = 0
    for place, line in enumerate(known):
        mark = re.sub(r"\\u([0-9a-f]{4})", lambda code: chr(int(code[1], 16)), line).replace("\\n", "\n")
        before, after = ordinary[place % len(ordinary)], ordinary[-1 - place % len(ordinary)]
        missed += sanitize(f"{before} {mark} {after}", limit=None) == f"{before} {mark} {after}"
    print(f"{len(known)} known injections inside ordinary text, {missed} unchanged")


if __name__ == "__main__":
    main()
