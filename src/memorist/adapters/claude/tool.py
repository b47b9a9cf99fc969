"""Claude's memory tool: its files are notes, which recall finds and whose versions are kept."""

from collections.abc import Coroutine
from typing import Any

from anthropic.lib.tools import ToolError
from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from memorist.adapters.claude.files import MemoryFiles
from memorist.adapters.turns import behind
from memorist.agents.core_tools import proposing
from memorist.errors import InvalidInputError, WaitingError
from memorist.memory import Memory
from memorist.twin import Twin, blocking_method


class _OnFiles:
    """What both tools have: the files, and how they are made."""

    def __init__(self, memory: Memory | Twin, *, cache_control: BetaCacheControlEphemeralParam | None = None) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]  # of Anthropic's class
        self._files = MemoryFiles(proposing(behind(memory, "claude")))


async def _told(command: Coroutine[Any, Any, str]) -> str:
    """Return a command's text, or that it waits for the user's yes; raise what the memory refuses as a ToolError, which
    the model sees."""
    try:
        return await command
    except WaitingError as waiting:
        return str(waiting)
    except InvalidInputError as error:
        raise ToolError(str(error)) from error


class MemoristAsyncMemoryTool(_OnFiles, BetaAsyncAbstractMemoryTool):
    """Claude's memory tool on one memory, for `AsyncAnthropic`.

    ```python
    tool = MemoristAsyncMemoryTool(memory.scoped(user="alice"))
    runner = client.beta.messages.tool_runner(model=..., max_tokens=1024, messages=messages, tools=[tool])
    await runner.until_done()
    ```

    A file is a note with its path as key, behind the wall of the memory's scope; make a tool for each user,
    which costs nothing. The model is told what Anthropic's file-system tool would say, except that a
    folder's size is that of the files in it, and that a folder is gone with its last file.

    Args:
        memory: an open memory, asynchronous or blocking.
        cache_control: as in Anthropic's own class.
    """

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file's lines, or the entries of a folder."""
        return await _told(self._files.view(command.path, command.view_range))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Write a new file."""
        return await _told(self._files.create(command.path, command.file_text))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once in a file."""
        return await _told(self._files.str_replace(command.path, command.old_str, command.new_str))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines into a file."""
        return await _told(self._files.insert(command.path, command.insert_line, command.insert_text))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with everything in it."""
        return await _told(self._files.delete(command.path))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder to another path."""
        return await _told(self._files.rename(command.old_path, command.new_path))

    async def clear_all_memory(self) -> str:
        """Delete every file."""
        return await _told(self._files.clear())


class MemoristMemoryTool(_OnFiles, BetaAbstractMemoryTool):
    """The same for `Anthropic`, blocking; see `MemoristAsyncMemoryTool`."""

    view = blocking_method(MemoristAsyncMemoryTool.view)
    create = blocking_method(MemoristAsyncMemoryTool.create)
    str_replace = blocking_method(MemoristAsyncMemoryTool.str_replace)
    insert = blocking_method(MemoristAsyncMemoryTool.insert)
    delete = blocking_method(MemoristAsyncMemoryTool.delete)
    rename = blocking_method(MemoristAsyncMemoryTool.rename)
    clear_all_memory = blocking_method(MemoristAsyncMemoryTool.clear_all_memory)
