"""What people and models read of commands, tools and the server is the same where Python drops docstrings (-OO)."""

import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.slow

PROGRAM = '''
"""A user's own program."""

import asyncio, json
import click
from memorist.agents import Toolbox
from memorist.cli.app import app
from memorist.memory import Memory
from memorist.serve.mcp.access import Access
from memorist.serve.mcp.connector import READING, ConnectorTools
from memorist.serve.mcp.tools import TOOLS, MemoryTools
from memorist.serve.rest.app import create_api
from memorist.testing import HashEmbedder

def look_up(name: str) -> str:
    """Look somebody up.

    Args:
        name: who.
    """
    return name

async def told():
    async with Memory.open(":memory:", embedder=HashEmbedder()) as memory:
        of = {name: ConnectorTools(Access(memory)) if name in READING else MemoryTools(memory) for name in TOOLS}
        tools = Toolbox([look_up, *(getattr(each, name) for name, each in of.items())])
        return {"tools": [each.openai for each in tools.schemas], "openapi": create_api(memory).openapi()}

root = click.Context(app, info_name="memorist")
texts = {"": app.get_help(root)}
for name in app.list_commands(root):
    texts[name] = app.commands[name].get_help(click.Context(app.commands[name], root, info_name=name))
print(json.dumps({"help": texts, **asyncio.run(told())}))
'''


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = tmp_path_factory.mktemp("program") / "program.py"
    program.write_text(PROGRAM)
    running = {
        option: subprocess.Popen([sys.executable, option, program], stdout=subprocess.PIPE, text=True)
        for option in ("-B", "-OO")
    }
    return {option: json.loads(process.communicate(timeout=240)[0]) for option, process in running.items()}


@pytest.mark.parametrize("part", ["help", "tools", "openapi"])
def test_texts_are_the_same_without_docstrings(texts: dict[str, Any], part: str) -> None:
    assert texts["-OO"][part] == texts["-B"][part]
