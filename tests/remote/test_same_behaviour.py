"""What a memory promises in this process it promises at a server: the same tests, asked over HTTP."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import test_memory  # type: ignore[import-not-found]
from test_memory import *  # noqa: F403

BELOW = {
    "test_recalls_at_once_each_see_what_was_stored_before_them",
    "test_a_forked_child_is_told_to_open_anew",
}
"""Tests of what is below the verbs."""
for name in BELOW:
    assert hasattr(test_memory, name)
    del globals()[name]
