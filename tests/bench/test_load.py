import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

RUN = Path(__file__).parents[2] / "bench" / "load" / "run.py"


def test_the_load_generator_reads_back_all_that_was_acknowledged(tmp_path: Path) -> None:
    out, db = tmp_path / "out.json", tmp_path / "load.db"
    command = [sys.executable, str(RUN), str(db), "--processes", "2", "--lanes", "2", "--users", "5", "--seconds", "1"]
    done = subprocess.run([*command, "--vectors", "8", "--out", str(out)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(out.read_text())
    assert "0 of them lost; errors: none" in done.stdout
    assert result["stored"] >= 1
    assert sum(row["calls"] for row in result["rows"]) >= result["stored"]
