"""The tool that tells how dense the code is."""

import subprocess
import sys
from pathlib import Path

TOOL = Path(__file__).parent.parent / "tools" / "complexity.py"
SIMPLE = '''
"""A text that is not counted."""


def add(a, b):
    """Neither is this."""
    return a + b  # nor this
'''
DENSE = f"""
def dense(rows):
    {" or ".join("rows" for _ in range(6))}
    for row in [each for each in rows if each]:
        if row and rows:
            return 1 if row else 0
"""


def printed(folder: Path, *arguments: str) -> list[str]:
    command = [sys.executable, str(TOOL), str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def test_it_counts_branches_and_tokens_but_no_texts(tmp_path: Path) -> None:
    (tmp_path / "simple.py").write_text(SIMPLE)
    assert [line.split()[-1] for line in printed(tmp_path)] == ["0.0", "0.00", "6.0", "12"]


def test_it_lists_the_most_complex_functions(tmp_path: Path) -> None:
    (tmp_path / "simple.py").write_text(SIMPLE)
    (tmp_path / "dense.py").write_text(DENSE)
    share, branches, _, _, listed = printed(tmp_path, "--most", "5")
    # five of the six "or", two of the comprehension, the loop, the if with its "and", and the conditional expression
    assert listed.split()[:4] == ["12", "/", "5", "dense"] and share.endswith("50.0") and branches.endswith("2.20")
