"""mem0's blocking `Memory`: the twin of `AsyncMemory`."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from memorist.adapters.mem0.memory import AsyncMemory
from memorist.twin import Twin, run

__all__ = ["Memory"]


class Memory(Twin, of=AsyncMemory):  # noqa: D101  # has the text of its original
    def close(self) -> None:
        """Close the store. A second call does nothing."""
        run(self._async._close)

    if TYPE_CHECKING:  # made from the asynchronous ones, which have the texts

        def __enter__(self) -> Self: ...
        def __exit__(self, *raised: object) -> None: ...
        @classmethod
        def from_config(cls, config_dict: Mapping[str, Any]) -> Self: ...
        def add(
            self, messages: Any, *, user_id: Any = None, agent_id: Any = None, run_id: Any = None,
            metadata: Mapping[str, Any] | None = None, timestamp: Any = None, expiration_date: Any = None,
            infer: bool = True, memory_type: str | None = None, prompt: str | None = None,
            llm: Any = None,
        ) -> dict[str, list[dict[str, Any]]]: ...  # fmt: skip
        def update(
            self,
            memory_id: str,
            text: str | None = None,
            metadata: Mapping[str, Any] | None = None,
            expiration_date: Any = None,
            data: str | None = None,
        ) -> dict[str, str]: ...
        def delete(self, memory_id: str) -> dict[str, str]: ...
        def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]: ...
        def reset(self) -> None: ...
        def get(self, memory_id: str) -> dict[str, Any] | None: ...
        def get_all(
            self,
            *,
            user_id: Any = None,
            agent_id: Any = None,
            run_id: Any = None,
            filters: Mapping[str, Any] | None = None,
            top_k: int | None = None,
            limit: int | None = None,
            show_expired: bool = False,
        ) -> dict[str, list[dict[str, Any]]]: ...
        def search(
            self, query: str, *, user_id: Any = None, agent_id: Any = None, run_id: Any = None,
            filters: Mapping[str, Any] | None = None, top_k: int | None = None, limit: int | None = None,
            threshold: float | None = None, rerank: bool = False, explain: bool = False,
            reference_date: Any = None, show_expired: bool = False,
        ) -> dict[str, list[dict[str, Any]]]: ...  # fmt: skip
        def history(self, memory_id: str) -> list[dict[str, Any]]: ...
        def chat(self, query: str) -> None: ...
