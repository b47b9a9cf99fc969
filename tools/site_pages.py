"""Add pages from outside ``docs/`` to the site; MkDocs calls this as its hook.

The README is the site's first page; the other files keep their path below the repository as their path on the site.
Links are written for the repository, so that they also work where its files are shown, and are adapted here.
"""

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
OUTSIDE = [
    *sorted(ROOT.glob("*.md")), ROOT / "LICENSE",
    ROOT / "src/memorist/embedders/model_license.txt",
    *sorted(ROOT.glob("bench/*/README.md")), *sorted(ROOT.glob("examples/*.py")),
]  # fmt: skip
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")
NAMED_FENCE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)


def on_files(files: Files, config: Any) -> None:
    """Add the files outside ``docs/``; of a program, a page that shows it."""
    for path in OUTSIDE:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            text = f"# {path.name}\n\n```python\n{text}```\n"
        files.append(File.generated(config, _on_site(path.relative_to(ROOT).as_posix()), content=text))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page's text with its links as the site needs them, and the names of files as titles of their blocks."""
    source = "README.md" if page.file.src_uri == "index.md" else page.file.src_uri
    if not (ROOT / source).exists() or source.startswith("reference/"):
        source = f"docs/{source}"
    here = PurePosixPath(page.file.src_uri).parent.as_posix()

    def adapted(link: re.Match[str]) -> str:
        target = os.path.normpath(PurePosixPath(source).parent / link[1])
        return os.path.relpath(_on_site(target), here)

    return NAMED_FENCE.sub(r'```\1 title="\2"', LINK.sub(adapted, markdown))


def _on_site(path: str) -> str:
    """Return a file's path on the site, given its path in the repository."""
    if path == "README.md":
        return "index.md"
    return path.removeprefix("docs/") + (".md" if path.endswith(".py") else "")
