"""The tool that tells which bounds of the extras leave out what is newest."""

import runpy
from pathlib import Path

TOOL = runpy.run_path(str(Path(__file__).parent.parent / "tools" / "newest_releases.py"))


def test_a_bound_that_leaves_out_the_newest_release_is_named() -> None:
    extras = {
        "one": ["a>=1,<2", "b>=1"],
        "two": ["c[x]>=0.2.1,<0.3; python_version > '3'", "d>=1,<2"],
        "agentscope1": ["a>=0,<1"],
    }
    newest = {"a": "2.0.1", "c": "0.2.9", "d": "1.9"}
    assert TOOL["left_out"](extras, newest.__getitem__) == ["one: a 2.0.1 is out, and 'a>=1,<2' leaves it out"]
