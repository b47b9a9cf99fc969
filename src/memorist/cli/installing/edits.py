"""Edits that add memorist to the text of an agent's settings file, or remove it.

TOML is edited as text, not by tomlkit: what tomlkit leaves after a table was added and deleted again is not the file as
it was, byte for byte, and the core would need it for the one file of Codex.
"""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from memorist.cli.installing.jsonc import Node, parse, with_first, without
from memorist.errors import InvalidInputError

Edit: TypeAlias = Callable[[str], str]
"""A change to the text of one file, "" for a file that does not exist. Raises ValueError for a malformed text."""
SERVER = "memorist"
MARK = "memorist: written by `memorist install`, removed by `memorist uninstall`"
_OURS = re.compile(r"(?:^|[\\/'\"\s])memorist(?:\.exe)?['\"]? hook \w")
_OUR_SERVER = re.compile(r"(?:^|[\\/])memorist(?:\.exe)?\0(?:.*\0)?mcp\0--(?:project|user)\0", re.DOTALL)
_BEGIN = f"# >>> {MARK}"
_END = "# <<< memorist"
_TABLE = re.compile(
    rf"(?:\r?\n)?(?:^{re.escape(_BEGIN)}\r?\n)?^[ \t]*\[mcp_servers\.\"?{SERVER}\"?[.\]].*\n?"
    r"(?:(?:[ \t\r]*(?:#.*)?\n)*(?![ \t\r]*(?:[\[#\n]|\Z)).*\n?)*",  # to its last value, which comments may precede
    re.MULTILINE,
)
_COMMENTS = re.compile(rf"^(?:{re.escape(_BEGIN)}|{re.escape(_END)})\r?(?:\n|\Z)", re.MULTILINE)


def json_server(text: str, server: Mapping[str, Any] | None, *, name: str, new: Mapping[str, Any] | None = None) -> str:
    """Return the text of a JSON file with the MCP server in it, or without it where `server` is None.

    Args:
        text: the file's.
        server: how it is started.
        name: the object of all servers.
        new: what else is put into a file that was not there.
    """
    path = (name, SERVER)
    found = parse(text).at(path) if text.strip() else None
    if found is not None and found.value == server:
        return text
    if found is not None and _is_our_server(found.value):
        text = without(text, path)
    elif found is not None and server is not None:
        raise InvalidInputError(f"it has another entry {'.'.join(path)}; remove or rename that first")
    return text if server is None else with_first(_begun(text, new), path[:1], SERVER, dict(server))


def _is_our_server(server: Any) -> bool:
    """Whether a server is started as install has it, with any options; an agent may note more, such as "disabled"."""
    if not isinstance(server, dict) or server.get("env") or server.get("environment"):
        return False
    command, args = server.get("command"), server.get("args", [])
    words = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return _OUR_SERVER.search("\0".join(map(str, words))) is not None


def _begun(text: str, new: Mapping[str, Any] | None) -> str:
    """Return the text of a file, of a new one where it has none."""
    return text if text.strip() else json.dumps(new or {}, indent=2) + "\n"


def own_file(text: str, own: str | None) -> str:
    """Return a whole file of memorist's, which begins with a comment that says so, or "" in its place for None."""
    if MARK in text.partition("\n")[0] or not text.strip():
        return text if own is None and not text.strip() else own or ""
    if own is None:
        return text
    raise InvalidInputError("it was not written by `memorist install`; remove or rename it first")


def json_hooks(
    text: str, hooks: Mapping[str, Mapping[str, Any]] | None, *, new: Mapping[str, Any] | None = None
) -> str:
    """Return the text of a JSON file with hooks in the place of memorist's own, or without these for None.

    Args:
        text: the file's.
        hooks: one for each event.
        new: what else is put into a file that was not there.
    """
    if hooks is None and not text.strip():
        return text
    text, hooks = _begun(text, new), hooks or {}
    found = [(event, entry) for (_, event, *_), entry in _ours(text)]
    if len(found) == len(hooks) and dict(found) == hooks:
        return text
    for _ in found:
        text = without(text, next(_ours(text))[0])
    for event, hook in reversed([*hooks.items()]):
        text = with_first(text, ("hooks", event), None, hook)
    return text


def _ours(text: str) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the path of each hook that calls memorist, and the entry of its event that the hook is, or is in.

    A group that has no other hooks is one, with its own path.
    """
    for event, entries in _parts(parse(text)):
        for position, entry in entries.parts.items():
            path = ("hooks", event, position)
            if _is_ours(entry.value):
                yield path, entry.value
                continue
            yield from (
                ((*path, "hooks", number), entry.value) for number, hook in _parts(entry) if _is_ours(hook.value)
            )


def _parts(node: Node) -> Iterable[tuple[Any, Node]]:
    """Return what stands under "hooks" in an object, by event or by place."""
    hooks = node.at(("hooks",))
    return () if hooks is None else hooks.parts.items()


def _is_ours(entry: Any) -> bool:
    """Whether a hook, or every hook of a group, calls memorist."""
    if not isinstance(entry, dict):
        return False
    if isinstance(group := entry.get("hooks"), list):
        return bool(group) and all(_is_ours(each) for each in group)
    command = entry.get("command")
    return isinstance(command, str) and _OURS.search(command) is not None


def toml_server(text: str, server: Mapping[str, Any] | None) -> str:
    """Return the text of a TOML file with the MCP server in it, as a table between two comments, or without for None.

    Codex moves the comments when it writes its file, or drops them, so the table is found by its name.
    """
    rest, servers = _apart(text)
    found = servers.pop(SERVER, None)
    if found is None or _BEGIN in text or _is_our_server(found):
        if server is not None and isinstance(found, dict) and found.items() >= server.items():
            return text
        text = _COMMENTS.sub("", _TABLE.sub("", text))
        if _apart(text) != (rest, servers):
            raise InvalidInputError("its table mcp_servers.memorist was edited; remove it first")
    elif server is not None:
        raise InvalidInputError("it has another table mcp_servers.memorist; remove it first")
    if server is None:
        return text
    gap = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    # A string of JSON is one of TOML, too, as long as no character outside the BMP is written as two.
    lines = [f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in server.items()]
    text += gap + "\n".join([_BEGIN, f"[mcp_servers.{SERVER}]", *lines, _END, ""])
    if _apart(text) != (rest, {**servers, SERVER: dict(server)}):
        raise InvalidInputError("appending a table would change the meaning of the lines before it")
    return text


def _apart(text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what a TOML file says beside its servers, and the servers; raise ValueError for what is no TOML."""
    rest = tomllib.loads(text)
    servers = rest.pop("mcp_servers", {})
    if not isinstance(servers, dict):
        raise InvalidInputError("its mcp_servers is not a table")
    return rest, servers
