"""Claude's memory tool: its files are notes, which recall finds and whose versions are kept."""

from anthropic.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool

from memorist.adapters.claude.files import MemoryFiles
from memorist.blocking_client import blocking_method


class MemoristAsyncMemoryTool(MemoryFiles, BetaAsyncAbstractMemoryTool):
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


class MemoristMemoryTool(MemoryFiles, BetaAbstractMemoryTool):
    """The same for `Anthropic`, blocking; see `MemoristAsyncMemoryTool`."""

    view = blocking_method(MemoryFiles.view)
    create = blocking_method(MemoryFiles.create)
    str_replace = blocking_method(MemoryFiles.str_replace)
    insert = blocking_method(MemoryFiles.insert)
    delete = blocking_method(MemoryFiles.delete)
    rename = blocking_method(MemoryFiles.rename)
    clear_all_memory = blocking_method(MemoryFiles.clear_all_memory)
