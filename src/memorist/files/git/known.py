"""First commits that were found before: a long history is read once, and later only what is new of it."""

import json
import os
from contextlib import suppress

from memorist.files.git.objects import first_commit
from memorist.files.git.reading import read_small
from memorist.system.platforms import state_folder

_NOTED_FROM = 50
"""The commits that must have been read for the result to be noted."""
_MOST_NOTED = 500


def known_first_commit(folder: str, head: str) -> str | None:
    """Return the first commit of a history, as `objects.first_commit` does, with what is noted in the state folder."""
    file = os.path.join(state_folder(), "first_commits.json")
    known = _noted(file)
    first, count = first_commit(folder, head, known)
    if first is not None and count >= _NOTED_FROM:
        _note(file, {**known, head: first})
    return first


def _noted(file: str) -> dict[str, str]:
    with suppress(ValueError, RecursionError):
        found = json.loads(read_small(file) or "{}")
        if isinstance(found, dict):
            return {name: first for name, first in found.items() if isinstance(first, str)}
    return {}


def _note(file: str, known: dict[str, str]) -> None:
    """Write the newest of what is known; what another process notes meanwhile may be lost, and is found again."""
    from pathlib import Path

    from memorist.system.writing import replacing

    with suppress(OSError):
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        with replacing(Path(file)) as stream:
            stream.write(json.dumps(dict(list(known.items())[-_MOST_NOTED:])).encode())
