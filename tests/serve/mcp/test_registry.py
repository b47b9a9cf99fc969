"""server.json, by which registries of MCP servers list this one."""

import json
import shlex
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from memorist import __version__
from memorist.cli.app import app

ROOT = Path(__file__).parents[3]
MANIFEST = json.loads((ROOT / "server.json").read_text())
SCHEMA = json.loads((ROOT / "tests/data/mcp_registry.schema.json").read_text())


def test_the_manifest_keeps_to_the_registrys_schema() -> None:
    jsonschema.validate(MANIFEST, SCHEMA, cls=jsonschema.Draft7Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**MANIFEST, "description": "x" * 101}, SCHEMA, cls=jsonschema.Draft7Validator)


def test_it_names_this_version_and_a_command_that_exists() -> None:
    [package] = MANIFEST["packages"]
    assert MANIFEST["version"] == package["version"] == __version__
    arguments = [each["value"] for each in package["packageArguments"]]
    help = CliRunner().invoke(app, [*arguments, "--help"])
    assert help.exit_code == 0, shlex.join(arguments)
    for variable in package["environmentVariables"]:
        assert variable["name"] in (ROOT / "docs/mcp.md").read_text()


def test_the_readme_names_it_as_the_registry_asks_of_a_package() -> None:
    assert f"<!-- mcp-name: {MANIFEST['name']} -->" in (ROOT / "README.md").read_text()
