"""The TypeScript client as it was built: by `.ci/run`, which names its folder, or by hand in `clients/typescript`."""

import os
import shutil
from pathlib import Path

import pytest

_NAMED = os.environ.get("MEMORIST_TEST_TYPESCRIPT")


def built() -> Path:
    """Return the folder of the client and its compiled tests; skip where nobody has built it."""
    client = Path(_NAMED or Path(__file__).parents[2] / "clients" / "typescript")
    if _NAMED is None and (shutil.which("node") is None or not (client / "build" / "door.js").exists()):
        pytest.skip(
            "the TypeScript client is not built: in clients/typescript, npm ci && npm run build && npm run build:test"
        )
    return client
