"""The files of Claude's memory tool as records, with the texts of the file-system tool of Anthropic's own package."""

from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from functools import wraps
from posixpath import normpath
from typing import Any, ParamSpec

from anthropic.lib.tools import ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memorist.adapters.opening import AnyMemory, behind
from memorist.agents.core_tools import proposing
from memorist.errors import ConflictError, InvalidInputError, WaitingError
from memorist.records.origins import Author
from memorist.records.record import Draft, Kind, Record

_P = ParamSpec("_P")
ROOT = "/memories"
_MOST_LINES = 999_999
_AROUND = 2
"""Lines shown before and after the one that was changed."""


def _told(command: Callable[_P, Coroutine[Any, Any, str]]) -> Callable[_P, Any]:  # a subclass may block
    """Answer a command that waits for the user's yes by saying so, and raise what the memory refuses as a ToolError,
    which the model sees."""

    @wraps(command)
    async def told(*args: _P.args, **kwargs: _P.kwargs) -> str:
        try:
            return await command(*args, **kwargs)
        except WaitingError as waiting:
            return str(waiting)
        except InvalidInputError as error:
            raise ToolError(str(error)) from error

    return told


class MemoryFiles:
    """The commands of the memory tool. Each returns the text for the model, and raises ToolError when it fails.

    A file is a note whose key is its path; its history keeps earlier texts. A folder exists while a file is in it.
    """

    def __init__(self, memory: AnyMemory, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]  # of Anthropic's class
        self._memory = proposing(behind(memory, "claude")).unlabelled()

    @_told
    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file's numbered lines, or the files and folders in a folder, two levels deep."""
        path, at = command.path, _checked(command.path)
        record = await self._file(at)
        if record is not None:
            return _numbered_view(path, _text_of(record).split("\n"), command.view_range)
        if not await self._is_folder(at):
            raise ToolError(f"The path {path} does not exist. Please provide a valid path.")
        sizes = {str(each.key): len(_text_of(each).encode()) async for each in self._below(at)}
        listed = [f"{_size(sum(sizes.values()))}\t{path}", *_listed(path, at, sizes)]
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        return "\n".join([header, *listed])

    @_told
    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        path, text, at = command.path, command.file_text, _checked(command.path)
        await self._check_parents(at)
        if await self._is_folder(at):
            raise ToolError(f"File {path} already exists")
        try:
            await self._memory.remember(Draft(kind=Kind.NOTE, key=at, author=Author.ASSISTANT, **_parts(at, text)))
        except ConflictError as error:
            raise ToolError(f"File {path} already exists") from error
        return f"File created successfully at: {path}"

    @_told
    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        path, old, new = command.path, command.old_str, command.new_str
        record = await self._existing(path)
        text = _text_of(record)
        if text.count(old) > 1:
            positions = [position for position in range(len(text) + 1) if text.startswith(old, position)]
            numbers = ", ".join(str(text.count("\n", 0, position) + 1) for position in positions)
            raise ToolError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {numbers}. "
                "Please ensure it is unique"
            )
        if old not in text:
            raise ToolError(f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}.")
        changed = text.replace(old, new)
        await self._change(record, changed)
        line = text.count("\n", 0, text.find(old))
        shown = _numbered(changed.split("\n"), max(0, line - _AROUND), line + _AROUND + 1)
        header = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([header, *shown])

    @_told
    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file after the line with this number."""
        line, record = command.insert_line, await self._existing(command.path)
        lines = _text_of(record).split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= line <= len(lines):
            raise ToolError(
                f"Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(line, command.insert_text.rstrip("\n"))
        changed = "\n".join(lines)
        await self._change(record, changed if changed.endswith("\n") else changed + "\n")
        return f"The file {command.path} has been edited."

    @_told
    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with all in it, for good."""
        at = _checked(command.path)
        if at == ROOT:
            raise ToolError("Cannot delete the /memories directory itself")
        gone = await self._memory.forget(key=at, kind=Kind.NOTE)
        gone += await self._memory.forget(key_prefix=at + "/", kind=Kind.NOTE)
        if not gone:
            raise ToolError(f"The path {command.path} does not exist")
        return f"Successfully deleted {command.path}"

    @_told
    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file, or all files in a folder, to another path. Ids and histories stay the same."""
        old, new = _checked(command.old_path), _checked(command.new_path)
        if old == ROOT:
            raise ToolError("Cannot rename the /memories directory itself")
        if await self._file(new) is not None or await self._is_folder(new):
            raise ToolError(f"The destination {command.new_path} already exists")
        await self._check_parents(new)
        record = await self._file(old)
        moved = [record] if record is not None else [each async for each in self._below(old)]
        if not moved:
            raise ToolError(f"The path {command.old_path} does not exist")
        await self._memory.remember(
            [_moved(each, new + str(each.key)[len(old) :]) for each in moved], if_exists="replace"
        )
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    @_told
    async def clear_all_memory(self) -> str:
        """Delete every file, for good."""
        await self._memory.forget(key_prefix=ROOT + "/", kind=Kind.NOTE)
        return "All memory cleared"

    # --- records ---------------------------------------------------------------------------------------

    async def _file(self, at: str) -> Record | None:
        return await self._memory.lookup(at, kind=Kind.NOTE)

    async def _existing(self, path: str) -> Record:
        at = _checked(path)
        record = await self._file(at)
        if record is not None:
            return record
        if await self._is_folder(at):
            raise ToolError(f"The path {path} is not a file.")
        raise ToolError(f"The path {path} does not exist. Please provide a valid path.")

    async def _is_folder(self, at: str) -> bool:
        return at == ROOT or bool(await self._memory.count(key_prefix=at + "/", kind=Kind.NOTE))

    async def _check_parents(self, at: str) -> None:
        parent = at.rpartition("/")[0]
        while len(parent) > len(ROOT):
            if await self._file(parent) is not None:
                raise ToolError(f"The path {parent} is not a directory.")
            parent = parent.rpartition("/")[0]

    def _below(self, at: str) -> AsyncIterator[Record]:
        return self._memory.iterate(kind=Kind.NOTE, key_prefix=at + "/", order="key")

    async def _change(self, record: Record, text: str) -> None:
        await self._memory.revise(record.id, author=Author.ASSISTANT, **_parts(str(record.key), text))


def _parts(at: str, text: str) -> dict[str, Any]:
    """Return a file's content and payload. A blank file's record has the path as its content, which is never blank."""
    return {"content": text, "payload": {}} if text.strip() else {"content": at, "payload": {"text": text}}


def _text_of(record: Record) -> str:
    return str(record.payload.get("text", record.content))


def _moved(record: Record, at: str) -> Draft:
    return Draft(
        id=record.id, kind=record.kind, key=at, metadata=record.metadata, source=record.source,
        verified=record.verified, rating=record.rating, happened_at=record.happened_at, expires_at=record.expires_at,
        agent=record.scope.agent, session=record.scope.session, **_parts(at, _text_of(record)),
    )  # fmt: skip


# --- texts -----------------------------------------------------------------------------------------------


def _checked(path: str) -> str:
    """Return a path in its normal form, which is the file's key."""
    if not path.startswith(ROOT):
        raise ToolError(f"Path must start with /memories, got: {path}")
    at = normpath(f"{ROOT}/{path.removeprefix(ROOT).lstrip('/')}")
    if at != ROOT and not at.startswith(ROOT + "/"):
        raise ToolError(f"Path {path} would escape /memories directory")
    return at


def _numbered_view(path: str, lines: list[str], wanted: Sequence[int] | None) -> str:
    if len(lines) > _MOST_LINES:
        raise ToolError(f"File {path} exceeds maximum line limit of 999,999 lines.")
    first, last = 0, len(lines)
    if wanted and len(wanted) == 2:
        first, last = max(1, wanted[0]) - 1, len(lines) if wanted[1] == -1 else wanted[1]
    return f"Here's the content of {path} with line numbers:\n" + "\n".join(_numbered(lines, first, last))


def _numbered(lines: list[str], first: int, last: int) -> list[str]:
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines[first:last], first + 1)]


def _listed(path: str, folder: str, sizes: Mapping[str, int], depth: int = 1) -> list[str]:
    """Return a line for each file and folder in `folder`, sorted, each folder followed by its own entries."""
    inner: dict[str, dict[str, int]] = {}
    for each, size in sizes.items():
        name = each[len(folder) + 1 :].partition("/")[0]
        inner.setdefault(name, {})[each] = size
    found: list[str] = []
    for name, held in sorted(inner.items()):
        at = f"{folder}/{name}"
        if name.startswith("."):
            continue
        found.append(f"{_size(sum(held.values()))}\t{path}/{name}{'' if at in held else '/'}")
        if at not in held and depth == 1:
            found += _listed(f"{path}/{name}", at, held, 2)
    return found


def _size(count: int) -> str:
    """Return a number of bytes in the largest unit in which it is at least 1."""
    unit = min(max(count.bit_length() - 1, 0) // 10, 3)
    size = count / 1024**unit
    return f"{size:.{0 if size.is_integer() else 1}f}{'BKMG'[unit]}"
