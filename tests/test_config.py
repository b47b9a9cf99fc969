"""Settings: given, then the environment, then the defaults."""

import dataclasses
import sys
from pathlib import Path

import pytest

from memorist.config import NAMES, Settings
from memorist.errors import InvalidInputError
from memorist.places import config_file, default_url


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


def test_the_file_can_be_named_by_a_variable() -> None:
    assert config_file({"MEMORIST_CONFIG": "~/m.toml"}) == Path("~/m.toml").expanduser()
    assert config_file({}).name == "config.toml"


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
