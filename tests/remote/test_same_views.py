"""What the views promise they promise at a server: the same tests, asked over HTTP."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "kinds"))

from test_conversation import *  # type: ignore[import-not-found]  # noqa: F403
from test_facts import *  # type: ignore[import-not-found]  # noqa: F403
from test_tools import *  # type: ignore[import-not-found]  # noqa: F403
from test_topics import *  # type: ignore[import-not-found]  # noqa: F403
