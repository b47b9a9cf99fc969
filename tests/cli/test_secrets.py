"""The password in a database's URL appears in no error, no representation, no log and no command's output."""

import logging
import traceback
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from memorist.config import Settings
from memorist.errors import MemoristError
from memorist.memory import Memory

pytest.importorskip("psycopg", reason="the extra postgres is not installed")
Command: TypeAlias = Callable[..., Any]
SECRET = "s3cret"
AWAY = "127.0.0.1:1/memory"
URLS = (
    f"postgresql://app:{SECRET}@{AWAY}", f"postgresql://{AWAY}?user=app&password={SECRET}",
    f"postgresql://app:{SECRET}@{AWAY}?colour=red", f"postgresql://app:{SECRET}@host:port/memory",
    f"postgresql://app:{SECRET}@[::1/memory",
    *(f"postgresql://app:x{mark}{SECRET}@{AWAY}" for mark in ("@", "/", "#", "?", ":", "%zz", "%00")),
    f"postgresql://app:1/{SECRET}@{AWAY}", f"postgresql://app:1#{SECRET}@{AWAY}",
)  # fmt: skip


@pytest.mark.parametrize("url", URLS)
def test_no_command_shows_it(memorist: Command, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_DB", url)
    monkeypatch.setenv("MEMORIST_BUSY_TIMEOUT", "0.1")
    for command in ("config", "doctor", "count"):
        result = memorist(command)
        assert (result.code == 0) is (command == "config")
        assert SECRET not in result.out + result.err, command


@pytest.mark.anyio
@pytest.mark.parametrize("url", URLS)
async def test_no_error_shows_it(url: str, caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings(url=url, busy_timeout=0.1)
    assert SECRET not in repr(settings)
    with caplog.at_level(logging.DEBUG), pytest.raises(MemoristError) as raised:
        async with Memory.open(settings=settings, embedder="hash"):
            pass
    assert SECRET not in "".join(traceback.format_exception(raised.value))
    assert SECRET not in caplog.text
