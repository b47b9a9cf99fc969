"""What an adapter's package says where its framework is missing."""

import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest

from memorist.adapters.lazy import lazy_names
from memorist.errors import MissingExtraError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    folder = tmp_path / "lazy_package"
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "absent.py").write_text("import no_such_framework.part")
    (folder / "old.py").write_text("import json.no_such_part")
    (folder / "broken.py").write_text("import no_such_module_of_ours")
    (folder / "fine.py").write_text("Fine = 1")
    monkeypatch.syspath_prepend(tmp_path)
    for name in [each for each in sys.modules if each.partition(".")[0] == "lazy_package"]:
        monkeypatch.delitem(sys.modules, name)
    return "lazy_package"


def test_a_missing_framework_names_its_extra_and_an_old_one_what_it_lacks(package: str) -> None:
    modules = {"Absent": "absent", "Old": "old", "Broken": "broken", "Fine": "fine"}
    named = lazy_names(package, modules, extras={"no_such_framework": "such", "json": "json"})
    assert named("Fine") == 1
    with pytest.raises(MissingExtraError, match=r"no_such_framework is not installed.*\[such\]"):
        named("Absent")
    with pytest.raises(MissingExtraError, match=r"has no json\.no_such_part; install a newer one"):
        named("Old")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_of_ours"):
        named("Broken")
    with pytest.raises(AttributeError, match="Nothing"):
        named("Nothing")


@pytest.mark.parametrize(
    ("adapter", "framework", "extra"),
    [
        ("adk", "google.adk", "adk"),
        ("agent_framework", "agent_framework", "agent-framework"),
        ("crewai", "crewai", "crewai"),
        ("llama_index", "llama_index", "llama-index"),
        ("openai_agents", "agents", "openai-agents"),
        ("strands", "strands", "strands"),
        ("hermes", "agent", "hermes"),
    ],
)
def test_an_adapter_without_its_framework_names_the_command(adapter: str, framework: str, extra: str) -> None:
    with suppress(ModuleNotFoundError):
        import_module(framework)
        pytest.skip(f"{framework} is installed")
    with pytest.raises(MissingExtraError, match=rf"{framework} is not installed; run: pip install .*\[{extra}\]"):
        import_module(f"memorist.adapters.{adapter}")
