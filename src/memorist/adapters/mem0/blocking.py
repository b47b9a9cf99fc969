"""mem0's blocking `Memory`, made from `AsyncMemory`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from memorist.adapters.mem0.memory import AsyncMemory
from memorist.blocking_client import BlockingClient, blocking_method, run


class Memory(BlockingClient, of=AsyncMemory):  # noqa: D101  # has the text of its original
    def close(self) -> None:
        """Close the store. A second call does nothing."""
        run(self._async._close)

    if TYPE_CHECKING:  # made from the asynchronous ones, which have the texts

        def __enter__(self) -> Self: ...
        def __exit__(self, *raised: object) -> None: ...
        @classmethod
        def from_config(cls, config_dict: Mapping[str, Any]) -> Self: ...

        add = blocking_method(AsyncMemory.add)
        update = blocking_method(AsyncMemory.update)
        delete = blocking_method(AsyncMemory.delete)
        delete_all = blocking_method(AsyncMemory.delete_all)
        reset = blocking_method(AsyncMemory.reset)
        get = blocking_method(AsyncMemory.get)
        get_all = blocking_method(AsyncMemory.get_all)
        search = blocking_method(AsyncMemory.search)
        history = blocking_method(AsyncMemory.history)
        chat = blocking_method(AsyncMemory.chat)
