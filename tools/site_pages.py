"""Add pages from outside ``docs/`` to the site; MkDocs calls this as its hook.

The README is the site's first page; the other files keep their path below the repository as their path on the site.
Links are written for the repository, so that they also work where its files are shown, and are adapted here.
"""

import json
import os.path
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
OUTSIDE = [
    *sorted(ROOT.glob("*.md")),
    *sorted(ROOT.glob("bench/*/README.md")),
    *sorted(ROOT.glob("examples/*.*")),
    ROOT / "LICENSE",
    ROOT / "src/memorist/embedders/model_license.txt",
]
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
NAMED_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)


_sources: dict[str, str] = {}
"""The path in the repository of each page from outside ``docs/``, by its path on the site."""


def on_files(files: Files, config: Any) -> None:
    """Add the files outside ``docs/``; of a program or a notebook, a page that shows it."""
    for path in OUTSIDE:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = f"# {path.name}\n\n{_code(text)}"
        elif path.suffix == ".ipynb":
            text = "\n\n".join(_cell(cell) for cell in json.loads(text)["cells"])
        source = path.relative_to(ROOT).as_posix()
        _sources[_on_site(source)] = source
        files.append(File.generated(config, _on_site(source), content=text))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page's text with its links as the site needs them, and the names of files as titles of their blocks."""
    source = PurePosixPath(_sources.get(page.file.src_uri, f"docs/{page.file.src_uri}"))
    here = PurePosixPath(page.file.src_uri).parent.as_posix()

    def adapted(link: re.Match[str]) -> str:
        return os.path.relpath(_on_site(os.path.normpath(source.parent / link[1])), here)

    return NAMED_FENCE.sub(r'```\1 title="\2"', LINK.sub(adapted, markdown))


def _on_site(path: str) -> str:
    """Return a file's path on the site, given its path in the repository."""
    if path == "README.md":
        return "index.md"
    return path.removeprefix("docs/") + (".md" if path.endswith((".py", ".ipynb")) else "")


def _cell(cell: dict[str, Any]) -> str:
    """Return a notebook's cell as Markdown."""
    text = "".join(cell["source"])
    return _code(f"{text}\n") if cell["cell_type"] == "code" else text


def _code(text: str) -> str:
    return f"```python\n{text}```"
