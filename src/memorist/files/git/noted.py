"""What was found before, by name, in a small file of the state folder: it saves work, and may be lost at any time."""

import json
from collections.abc import Mapping
from contextlib import suppress

from memorist.files.git.reading import read_small
from memorist.system.platforms import state_folder

_LARGEST = 16 << 20


def noted(file: str) -> dict[str, str]:
    """Return what a file of the state folder holds; nothing where it cannot be read."""
    with suppress(ValueError, RecursionError):
        found = json.loads(read_small(state_folder(), file, most=_LARGEST) or "{}")
        if isinstance(found, dict):
            return {name: value for name, value in found.items() if isinstance(value, str)}
    return {}


def note(file: str, known: Mapping[str, str], *, most: int) -> None:
    """Write the newest of what is known; what another process notes meanwhile may be lost, and is found again."""
    from pathlib import Path

    from memorist.system.writing import replacing

    folder = state_folder()
    with suppress(OSError):
        Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        with replacing(Path(folder, file)) as stream:
            stream.write(json.dumps(dict(list(known.items())[-most:])).encode())
