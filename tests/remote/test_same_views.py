"""What the views promise they promise at a server: the same tests, asked over HTTP."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "kinds"))

from test_conversation import *  # noqa: F403
from test_facts import *  # noqa: F403
from test_tools import *  # noqa: F403
from test_topics import *  # noqa: F403

del globals()["test_a_topic_may_expire"]  # within 50 ms, which is less than a call may take here
