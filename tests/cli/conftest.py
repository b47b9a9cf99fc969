import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest


@dataclass(frozen=True)
class Result:
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command: TypeAlias = Callable[..., Result]


@pytest.fixture
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that commands of this test work on."""
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "memory.db"))
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash")
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "config.toml").touch()
    monkeypatch.setenv("MEMORIST_CONFIG", str(tmp_path / "config.toml"))
    for variable in (
        "KEY_FROM",
        "MODEL",
        "BUSY_TIMEOUT",
        "TENANT",
        "USER",
        "AGENT",
        "HOST",
        "PORT",
        "CHAT_MODEL",
        "PROMPTS",
    ):
        monkeypatch.delenv(f"MEMORIST_{variable}", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path / "memory.db"


@pytest.fixture
def memorist(db: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Return a function that runs a command in this process and tells what came of it."""
    from memorist.cli.app import app

    def run(*arguments: str | Path, stdin: bytes = b"") -> Result:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            app([str(each) for each in arguments], prog_name="memorist")
        out, err = capsys.readouterr()
        return Result(int(ended.value.code or 0), out, err)

    return run
