"""Questions as people type them: one word of each with a slip of the pen, always the same one."""

import json
import random
import re
import string
from pathlib import Path

_WORD = re.compile(r"\b[a-z]{6,}\b")


def with_slips(data: Path, folder: Path) -> Path:
    """Return a folder like `data`, made in `folder`, whose questions have a slip each."""
    for each in sorted(data.iterdir()):
        if not (each / "queries.jsonl").is_file():
            continue
        (folder / each.name).mkdir()
        for file in each.iterdir():
            target = folder / each.name / file.name
            if file.name != "queries.jsonl":
                target.symlink_to(file.resolve())
                continue
            chance = random.Random(1)
            with file.open(encoding="utf-8") as lines, target.open("w", encoding="utf-8") as slipped:
                for line in lines:
                    question = json.loads(line)
                    question["question"] = _slipped(question["question"], chance)
                    slipped.write(json.dumps(question) + "\n")
    return folder


def _slipped(text: str, chance: random.Random) -> str:
    """Return a text in which a letter of a long word is left out, changed, or swapped with the next."""
    found = list(_WORD.finditer(text))
    if not found:
        return text
    chosen = chance.choice(found)
    word = chosen.group()
    place = chance.randrange(1, len(word) - 1)
    before, letter, after = word[:place], word[place], word[place + 1 :]
    slip = chance.choice(
        (before + after, before + chance.choice(string.ascii_lowercase) + after, before + after[0] + letter + after[1:])
    )
    return text[: chosen.start()] + slip + text[chosen.end() :]
