"""stats, doctor: how things stand, and how to mend them."""

from collections.abc import Callable
from importlib.metadata import metadata
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from memorist.cli.checking import extras
from memorist.embedders import OnnxEmbedder
from memorist.sync import Memory

Command: TypeAlias = Callable[..., Any]


def checks(result: Any) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in result.json}


def test_stats_count_by_kind_and_user(memorist: Command) -> None:
    memorist("remember", "likes tea", "-u", "alice", "--kind", "fact", "--at", "2024-05-01")
    memorist("remember", "likes coffee", "-u", "bob", "--at", "2024-06-01")
    memorist("remember", "closes at six", "--at", "2024-07-01")
    assert memorist("stats", "--json").json == {
        "records": 3,
        "superseded": 0,
        "kinds": {"note": 2, "fact": 1},
        "users": 2,
        "most": {"alice": 1, "bob": 1, "(shared)": 1},
        "oldest": "2024-05-01T00:00:00.000000Z",
        "newest": "2024-07-01T00:00:00.000000Z",
    }
    shown = memorist("stats").out
    assert "note: 2" in shown and "alice: 1" in shown


def test_stats_of_nothing(memorist: Command) -> None:
    memorist("remember", "gone soon", "--id", "r")
    memorist("forget", "r")
    assert memorist("stats", "--json").json["records"] == 0
    assert "oldest" not in memorist("stats").out


def test_doctor_finds_a_sound_memory_sound(memorist: Command) -> None:
    memorist("remember", "anything")
    result = memorist("doctor", "--json")
    assert result.code == 0 and all(check["well"] for check in result.json)
    assert checks(result)["database"]["found"] == "opened; 1 record of this tenant"
    assert checks(result)["encryption"]["found"] == "the file is not encrypted; memorist key rotate encrypts it"
    assert "dimensions" in checks(result)["embedder"]["found"]
    assert "openai" in checks(result)["extras"]["found"]


def test_doctor_says_which_records_no_model_knows(memorist: Command, db: Path) -> None:
    with Memory.open(db) as memory:
        memory.remember(["བཀྲ་ཤིས་བདེ་ལེགས།", "ᎣᏏᏲ ᎣᎩᎾᎵᎢ", "Oma kommt am Samstag mit dem Zug.", "12:30"])
    told = checks(memorist("--embedder", "default", "doctor", "--json"))["languages"]["found"]
    assert told == "2 of 4 records are in scripts that no bundled model supports; recall finds them by words only"


def test_doctor_says_when_to_index_anew_what_an_earlier_version_stored(memorist: Command, db: Path) -> None:
    with Memory.open(db, embedder=OnnxEmbedder()) as earlier:
        earlier.remember(["Oma kommt am Samstag mit dem Zug.", "昨日は雨だった。", "The key is under the flowerpot."])
    told = checks(memorist("--embedder", "default", "doctor", "--json"))["languages"]["found"]
    assert told.startswith("2 of 3 records are in other languages than English (")
    assert "German" in told and "Japanese" in told and "memorist reindex" in told
    assert memorist("--embedder", "default", "reindex").code == 0
    assert (
        "a model that supports it"
        in checks(memorist("--embedder", "default", "doctor", "--json"))["languages"]["found"]
    )


def test_doctor_makes_no_file(memorist: Command, db: Path) -> None:
    result = memorist("doctor", "--json")
    assert result.code == 0 and "does not exist yet" in checks(result)["database"]["found"]
    assert not db.exists()


def test_doctor_tells_a_mistyped_path(memorist: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path, told in ((tmp_path / "memroist.db", "does not exist yet"), (tmp_path / "no" / "m.db", "does not exist")):
        result = memorist("--db", str(path), "doctor", "--json")
        assert result.code == 1
        assert told in checks(result)["database"]["found"]
        assert not path.exists()
    monkeypatch.setenv("MEMORIST_DB", str(tmp_path / "no" / "m.db"))
    assert not checks(memorist("doctor", "--json"))["database"]["well"]


def test_doctor_finds_a_damaged_file_and_says_how_to_mend_it(memorist: Command, db: Path) -> None:
    memorist("remember", "a text " * 2000)
    pages = bytearray(db.read_bytes())
    pages[3 * 8192 : 5 * 8192] = b"\xff" * (2 * 8192)
    db.write_bytes(pages)
    result = memorist("doctor", "--json")
    assert result.code == 1
    assert not all(check["well"] for check in result.json)
    assert "broken" in memorist("doctor").out


def test_doctor_tells_another_programs_file(memorist: Command, db: Path) -> None:
    db.write_bytes(b"this is no database " * 1000)
    result = memorist("doctor", "--json")
    assert result.code == 1 and not checks(result)["database"]["well"]


def test_doctor_tells_another_embedder(memorist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    memorist("remember", "anything")
    monkeypatch.setenv("MEMORIST_EMBEDDER", "hash:32")
    result = memorist("doctor", "--json")
    assert result.code == 1 and "memorist reindex" in checks(result)["database"]["found"]


def test_doctor_tells_wrong_settings(memorist: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_BUSY_TIMEOUT", "soon")
    result = memorist("doctor", "--json")
    assert result.code == 1 and "MEMORIST_BUSY_TIMEOUT" in checks(result)["settings"]["found"]


def test_doctor_knows_every_extra() -> None:
    kept = {extra.lower() for extra in metadata("memorist").get_all("Provides-Extra") or ()}
    assert extras().keys() == kept - {"agentscope1", "bench", "dev", "docs"}
    assert extras()["postgres"] == ["pgvector", "psycopg"]
