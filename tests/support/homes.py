"""A home folder of a test's own."""

from pathlib import Path

import pytest


def move_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a folder the user's home for this process and those that it starts."""
    for name in ("HOME", "USERPROFILE"):  # Windows reads the second
        monkeypatch.setenv(name, str(folder))
