"""The plugin for OpenCode, which has no hooks of its own that run a command."""

import json
from pathlib import Path

from memorist.cli.installing.edits import MARK
from memorist.system.handles import read_file


def opencode_plugin(command: str, options: list[str]) -> str:
    """Return the plugin's text, which calls `memorist hook` by this command and with these options."""
    code = read_file(Path(__file__).with_name("opencode.js")).decode()
    called = f"const COMMAND = {json.dumps(command)}\nconst OPTIONS = {json.dumps(options)}\n"
    return f"// {MARK}\n{code.replace('/* how it is called */', called.strip())}"
