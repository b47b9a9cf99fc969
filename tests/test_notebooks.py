"""The notebooks of examples/ run as they are, in a real kernel, and show what they promise."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
SHOWN = {
    "chat_with_memory": ["She is allergic to chicken", "Bob's assistant is told nothing.", "8 records gone, 0 left"],
    "learning_from_feedback": ["First week: 0 of 4 right", "Second week: 4 of 4 right", "divide by 100", "[(3,)]"],
    "whatsapp": ["But no nuts, Emil is allergic", "it arrives at 7:40", "You left your blue scarf here"],
}
"""What each notebook must print."""


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_says(path: Path, tmp_path: Path) -> None:
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert [text for text in SHOWN[path.stem] if text not in printed] == [], printed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_what_it_printed(path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
