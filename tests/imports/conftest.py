"""Files made as other programs make them, and what becomes of them."""

import json
import zipfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from imported import Write
from memorist.memory import Memory
from memorist.testing import HashEmbedder


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with Memory.open(tmp_path / "memory.db", embedder=HashEmbedder()) as memory:
        yield memory


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a file: bytes, text, or JSON of anything else."""

    def write(name: str, content: Any, encoding: str = "utf-8") -> Path:
        path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            path.write_text(text, encoding=encoding)
        return path

    return write


@pytest.fixture
def pack(tmp_path: Path) -> Write:
    """Return a function that writes a zip of files by name."""

    def pack(name: str, files: dict[str, Any]) -> Path:
        path = tmp_path / "given" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for inner, content in files.items():
                archive.writestr(inner, content if isinstance(content, str | bytes) else json.dumps(content))
        return path

    return pack
