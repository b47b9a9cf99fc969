"""Settings: given, then the environment, then the defaults."""

import dataclasses
import re
import sys
from pathlib import Path

import apsw
import pytest

from homes import move_home
from memorist import Memory
from memorist.config import NAMES, Settings
from memorist.errors import InvalidInputError
from memorist.stores.keys import new_key
from memorist.system.places import config_file, default_url
from memorist.system.variables import VARIABLES
from memorist.testing import HashEmbedder

needs_cipher = pytest.mark.skipif(not hasattr(apsw, "mc_version"), reason="needs apsw-sqlite3mc")


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.load({})
    assert settings == Settings()
    assert settings.url == default_url() and Path(settings.url).name == "memorist.db"
    assert (settings.embedder, settings.busy_timeout, settings.cache_bytes) == (None, 30.0, 512 * 1024 * 1024)
    assert settings.largest_index == 250_000
    assert settings.keep_traces == 0


@pytest.mark.parametrize(("said", "seconds"), [("7d", 604_800), ("12 hours", 43_200), ("90", 90), (90.5, 90.5), (0, 0)])
def test_how_long_traces_are_kept_is_said_in_words_or_seconds(said: str | float, seconds: float) -> None:
    assert Settings(keep_traces=said).keep_traces == seconds
    assert Settings.load({"MEMORIST_KEEP_TRACES": str(said)}).keep_traces == seconds


@pytest.mark.skipif(sys.platform != "linux", reason="where the data folder is depends on the system")
def test_the_default_database_is_in_the_users_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert default_url() == str(tmp_path / "memorist" / "memorist.db")


def test_the_environment_sets_everything() -> None:
    settings = Settings.load(
        {
            "MEMORIST_DB": "~/agent.db",
            "MEMORIST_EMBEDDER": "ollama:nomic-embed-text",
            "MEMORIST_BUSY_TIMEOUT": "2.5",
            "MEMORIST_CACHE_BYTES": "1000",
            "MEMORIST_LARGEST_INDEX": "7",
        }
    )
    assert settings.url == str(Path("~/agent.db").expanduser())
    assert (settings.embedder, settings.busy_timeout, settings.cache_bytes) == ("ollama:nomic-embed-text", 2.5, 1000)
    assert settings.largest_index == 7


def test_a_model_folder_is_an_embedder_unless_another_is_named() -> None:
    assert Settings.load({"MEMORIST_MODEL": "~/e5"}).embedder == Path("~/e5").expanduser()
    assert Settings.load({"MEMORIST_MODEL": "~/e5", "MEMORIST_EMBEDDER": "hash"}).embedder == "hash"


def test_a_blank_variable_is_as_good_as_none() -> None:
    blank = dict.fromkeys((f"MEMORIST_{name.upper()}" for name in NAMES), " ")
    assert Settings.load(blank) == Settings()


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("MEMORIST_KEEP_TRACES", "2024-05-01"),
        ("MEMORIST_KEEP_TRACES", "7d ago"),
        ("MEMORIST_KEEP_TRACES", "-1"),
        ("MEMORIST_KEEP_TRACES", "1e15"),
        ("MEMORIST_BUSY_TIMEOUT", "soon"),
        ("MEMORIST_BUSY_TIMEOUT", "-1"),
        ("MEMORIST_BUSY_TIMEOUT", "nan"),
        ("MEMORIST_BUSY_TIMEOUT", "inf"),
        ("MEMORIST_CACHE_BYTES", "512 MiB"),
        ("MEMORIST_CACHE_BYTES", "1.5"),
        ("MEMORIST_CACHE_BYTES", "-1"),
        ("MEMORIST_LARGEST_INDEX", "many"),
        ("MEMORIST_LARGEST_INDEX", "-1"),
    ],
)
def test_a_bad_number_is_refused_and_the_variable_named(variable: str, value: str) -> None:
    with pytest.raises(InvalidInputError, match=variable):
        Settings.load({variable: value})


def test_what_is_given_goes_before_the_environment() -> None:
    settings = Settings.load({"MEMORIST_DB": "a.db", "MEMORIST_EMBEDDER": "hash"})
    assert settings.with_given() == settings
    changed = settings.with_given(url=Path("~/b.db"), embedder="default")
    assert (changed.url, changed.embedder) == (str(Path("~/b.db").expanduser()), "default")
    assert settings.url == "a.db"


def test_a_path_with_a_colon_is_no_url() -> None:
    assert Settings().with_given(url=Path("notes: today.db")).url == "sqlite:notes: today.db"
    assert Settings().with_given(url="postgresql://db/memory").url == "postgresql://db/memory"
    assert Settings().with_given(url=":memory:").url == ":memory:"


@pytest.mark.parametrize("url", ["", "  ", "a\0b", 7, b"agent.db"])
def test_a_database_that_names_nothing_is_refused(url: object) -> None:
    with pytest.raises(InvalidInputError, match="path or a URL"):
        Settings().with_given(url=url)  # type: ignore[arg-type]


def test_settings_do_not_change() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Settings().url = "b.db"  # type: ignore[misc]


def test_a_file_fills_in_what_the_environment_leaves_open(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text('db = "~/agent.db"\nmodel = "~/e5"\nbusy_timeout = 2\ncache_bytes = 1000\nlargest_index = 9\n')
    settings = Settings.load({"MEMORIST_BUSY_TIMEOUT": "3"}, file)
    assert settings.url == str(Path("~/agent.db").expanduser()) and settings.embedder == Path("~/e5").expanduser()
    assert (settings.busy_timeout, settings.cache_bytes, settings.largest_index) == (3.0, 1000, 9)
    assert Settings.load({"MEMORIST_EMBEDDER": "hash"}, file).embedder == "hash"
    assert Settings.load({}, tmp_path / "none.toml") == Settings()


def test_the_file_can_be_named_by_a_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    move_home(tmp_path, monkeypatch)
    (tmp_path / "m.toml").touch()
    assert config_file({"MEMORIST_CONFIG": "~/m.toml"}) == tmp_path / "m.toml"
    assert config_file({}).name == "config.toml"


@pytest.mark.parametrize("name", ["none.toml", "", "none/m.toml"])
def test_a_variable_that_names_no_file_of_settings_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="MEMORIST_CONFIG names"):
        config_file({"MEMORIST_CONFIG": str(tmp_path / name)})


@pytest.mark.parametrize(
    ("mistyped", "nearest"),
    [
        ("KEY", "KEY_FROM"), ("KEY_FILE", "KEY_FROM"), ("KEY_FORM", "KEY_FROM"), ("USERR", "USER"),
        ("CONFG", "CONFIG"), ("KEEP_TRACE", "KEEP_TRACES"), ("SERVER_PORT", "PORT"),
    ],
)  # fmt: skip
def test_a_mistyped_variable_is_refused_and_the_nearest_named(
    mistyped: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        InvalidInputError, match=f"no variable MEMORIST_{mistyped}; the nearest is MEMORIST_{nearest}\\."
    ):
        Settings.load({f"MEMORIST_{mistyped}": "8765"})
    monkeypatch.setenv(f"MEMORIST_{mistyped}", "8765")
    with pytest.raises(InvalidInputError, match=f"MEMORIST_{mistyped}"):
        Memory.open(":memory:")


def test_a_key_may_be_in_a_variable_of_any_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORIST_KEY", "f00d" * 16)
    assert Memory.open("a.db", key_from="env:MEMORIST_KEY")
    assert Settings.load({"MEMORIST_KEY": "f00d", "MEMORIST_KEY_FROM": "env:MEMORIST_KEY"}).key_from
    with pytest.raises(InvalidInputError, match="MEMORIST_KEY;"):
        Memory.open("a.db", key_from="file:key")


def test_what_a_cluster_sets_for_a_service_is_no_setting() -> None:
    service = {
        "MEMORIST_SERVICE_HOST": "10.0.0.1", "MEMORIST_SERVICE_PORT": "8765", "MEMORIST_SERVICE_PORT_HTTP": "8765",
        "MEMORIST_DB_PORT": "tcp://10.0.0.1:5432", "MEMORIST_PORT_8765_TCP": "tcp://10.0.0.1:8765",
        "MEMORIST_PORT_8765_TCP_PROTO": "tcp", "MEMORIST_PORT_8765_TCP_ADDR": "10.0.0.1", "MEMORIST_BLANK": "",
    }  # fmt: skip
    assert Settings.load(service) == Settings()


def test_every_variable_that_is_used_anywhere_is_declared() -> None:
    assert [name.upper() for name in NAMES] == list(VARIABLES["settings"])
    root = Path(__file__).parent.parent
    places = [root / name for name in ("src", "bench", "tools", "docs", "deploy", ".ci")]
    binary = (".onnx", ".npy", ".png", ".npz", ".zip")
    found = [file for place in places for file in place.rglob("*") if "__pycache__" not in file.parts]
    files = [file for file in found if file.is_file() and file.suffix not in binary]
    used = set[str]()
    for file in (*files, root / "hatch_build.py", root / "README.md"):
        used |= set(re.findall(r"\bMEMORIST_([A-Z_]*[A-Z])\b", file.read_text(encoding="utf-8", errors="replace")))
    if not (root / "bench").exists():
        pytest.skip("only a checkout holds everything that uses variables")
    assert used - {"NAME"} == {name for names in VARIABLES.values() for name in names}


@pytest.mark.anyio
@pytest.mark.parametrize("encrypted", [False, pytest.param(True, marks=needs_cipher)])
async def test_opening_a_file_logs_whether_it_is_encrypted(
    encrypted: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "key").write_text(new_key())
    caplog.set_level("INFO", "memorist.stores")
    key_from = f"file:{tmp_path / 'key'}" if encrypted else None
    settings = Settings(url=str(tmp_path / "a.db"), key_from=key_from)
    async with Memory.open(settings=settings, embedder=HashEmbedder()):
        pass
    told = "which is encrypted" if encrypted else "which is not encrypted"
    assert caplog.messages == [f"opened {tmp_path / 'a.db'}, {told}"]


@pytest.mark.parametrize(
    ("url", "file"),
    [
        ("a.db", "a.db"), ("sqlite:a.db", "a.db"), ("sqlite://a.db", "a.db"), ("sqlite:///srv/a.db", "/srv/a.db"),
        ("sqlite:notes: today.db", "notes: today.db"), (":memory:", None), ("sqlite::memory:", None),
        ("sqlite://:memory:", None), ("/srv/12:30.db", "/srv/12:30.db"),
        ("sqlite:", None), ("postgresql://host/db", None), ("chroma:folder", None),
    ],
)  # fmt: skip
def test_a_url_of_sqlite_names_a_file_or_none(url: str, file: str | None) -> None:
    from memorist.stores import file_of

    assert file_of(url) == (None if file is None else Path(file).absolute())
