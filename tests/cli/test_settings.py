"""config: flags, then the environment, then the file of settings, then the defaults; and who takes what from it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

Command: TypeAlias = Callable[..., Any]


def rows(result: Any) -> dict[str, tuple[Any, str]]:
    return {row["setting"]: (row["value"], row["from"]) for row in result.json}


def test_config_tells_which_layer_says_what(memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "memorist.toml"
    file.write_text('db = "file.db"\ncache_bytes = 1000\nbusy_timeout = 5\n')
    monkeypatch.setenv("MEMORIST_CONFIG", str(file))
    monkeypatch.setenv("MEMORIST_BUSY_TIMEOUT", "7")
    found = rows(memorist("--db", "flag.db", "config", "--json"))
    assert found["db"] == ("flag.db", "flag")
    assert found["busy_timeout"] == (7.0, "environment")
    assert found["cache_bytes"] == (1000, "file")
    assert found["embedder"] == ("hash", "environment")
    assert found["port"] == (8765, "default")
    assert str(file) in memorist("config").out.replace("\n", "")


def test_a_file_of_settings_can_be_named(memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEMORIST_DB")
    file = tmp_path / "memorist.toml"
    file.write_text(f"db = {json.dumps(str(tmp_path / 'other.db'))}\n")
    assert memorist("--config", file, "remember", "anything").code == 0
    assert (tmp_path / "other.db").exists()
    assert "there is no file" in memorist("--config", tmp_path / "none.toml", "count").err


def test_config_never_shows_a_password(memorist: Command) -> None:
    shown = memorist("--db", "postgresql://me:hunter22@host/db", "config", "--json").out
    assert "hunter22" not in shown and "postgresql://me:…@host/db" in shown


def test_the_tenant_is_a_setting_like_the_others(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rows(memorist("config", "--json"))["tenant"] == ("default", "default")
    (tmp_path / "config.toml").write_text('tenant = "of the file"')
    assert rows(memorist("config", "--json"))["tenant"] == ("of the file", "file")
    memorist("remember", "anything")
    assert memorist("--tenant", "of the file", "count", "--json").json == 1
    monkeypatch.setenv("MEMORIST_TENANT", "of the environment")
    assert rows(memorist("config", "--json"))["tenant"] == ("of the environment", "environment")
    assert rows(memorist("--tenant", "of a flag", "config", "--json"))["tenant"] == ("of a flag", "flag")


def test_the_file_sets_what_a_variable_can_of_one_command(
    memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text('host = "192.0.2.1"\nport = 9000\ntrust_proxy = ["10.0.0.1"]\n')
    assert rows(memorist("config", "--json"))["port"] == (9000, "file")
    assert "192.0.2.1 can be reached from other machines" in memorist("serve").err
    monkeypatch.setenv("MEMORIST_HOST", "192.0.2.2")
    assert "192.0.2.2 can be reached from other machines" in memorist("serve").err
    assert "192.0.2.3 can be reached from other machines" in memorist("serve", "--host", "192.0.2.3").err
    file.write_text('port = "soon"')
    assert memorist("serve").code == 2
    assert memorist("count").code == 0, "what is wrong with one command's option is no matter to the others"


def test_every_variable_of_a_command_can_stand_in_the_file() -> None:
    from memorist.cli.app import app
    from memorist.config import COMMAND_NAMES

    root: Any = app
    named = {param.envvar for each in (root, *root.commands.values()) for param in each.params if param.envvar}
    assert named == {f"MEMORIST_{name.upper()}" for name in COMMAND_NAMES}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:p@ss@host:5432/db", "postgresql://me:…@host:5432/db"),
        (
            "postgresql://host/db?user=me&password=secret&sslmode=require",
            "postgresql://host/db?user=me&password=…&sslmode=require",
        ),
        ("qdrant://:secret@host", "qdrant://:…@host"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("a:b@c.db", "a:b@c.db"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    from memorist.cli.showing import shown_url

    assert shown_url(url) == shown


def test_the_key_of_an_index_is_not_shown(memorist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows(memorist("config", "--json"))["index"] == (None, "default")
    monkeypatch.setenv("MEMORIST_INDEX", "qdrant+https://:hunter22@host")
    answer = memorist("config", "--json")
    assert rows(answer)["index"] == ("qdrant+https://:…@host", "environment")
    assert "hunter22" not in answer.out + answer.err


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("db = ", "cannot be read"),
        ("data = 1", "sets unknown names: data; available: db"),
        ("cache_bytes = 1.5", "cache_bytes"),
        ("db = 5", "must be a string"),
        ('busy_timeout = "soon"', "must be a number"),
    ],
)
def test_a_wrong_file_of_settings_is_told(memorist: Command, tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(text)
    result = memorist("--config", file, "count")
    assert result.code == 2 and complaint in result.err
