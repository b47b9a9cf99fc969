"""Promptise's provider on mem0 1.x and 2.x."""

import asyncio
import copy
import inspect
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, TypeVar
from urllib.parse import quote

from memorist.adapters.promptise.providers import Provider
from memorist.adapters.promptise.types import MemoryResult, MemoryScope
from memorist.errors import needs

logger = logging.getLogger("memorist.adapters.promptise")

_T = TypeVar("_T")
_EVERYTHING = 100_000
_UNKNOWN_SCORE = 0.5


class Mem0Provider(Provider):
    """Keeps texts in mem0, which may rewrite them with the chat model of its configuration.

    A text in which that model finds nothing is stored as it is. If mem0 fails during a search or a deletion, nothing is
    found, and a warning is logged. A purge takes the entries of all agents.

    Args:
        user_id: mem0's user where the scope is SHARED.
        agent_id: mem0's agent.
        config: what `mem0.Memory.from_config` takes; None for mem0's defaults.
        scope: whether entries belong to users; by default they are shared.

    Raises:
        ImportError: mem0ai is not installed.
    """

    def __init__(
        self,
        *,
        user_id: str = "default",
        agent_id: str | None = None,
        config: dict[str, Any] | None = None,
        scope: MemoryScope | None = None,
    ) -> None:
        super().__init__(scope)
        self._user_id = user_id
        self._agent_id = agent_id
        os.environ.setdefault("MEM0_TELEMETRY", "False")  # it is read on import
        with needs("mem0ai", "mem0"):
            memory = import_module("mem0").Memory
        self._client: Any = memory() if config is None else memory.from_config(config)

    async def _search(self, query: str, limit: int, owner: str | None) -> list[MemoryResult]:
        try:
            return (await self._seen("search", query, owner=owner, limit=limit))[:limit]
        except Exception:  # the host's rule; mem0 does not catch the exceptions of the clients that it uses
            logger.warning("Mem0Provider.search failed", exc_info=True)
            return []

    async def _entries(self, owner: str | None) -> AsyncIterator[MemoryResult]:
        for each in await self._seen("get_all", owner=owner, limit=_EVERYTHING):
            yield replace(each, score=1.0)

    async def _add(self, content: str, metadata: dict[str, Any], owner: str | None) -> str:
        given: dict[str, Any] = {"user_id": self._name(owner)}
        if metadata:
            given["metadata"] = metadata
        if self._agent_id is not None:
            given["agent_id"] = self._agent_id

        def work() -> str:
            for infer in ({}, {"infer": False}):
                for each in _items(self._client.add(content, **given, **infer)):
                    if each.get("id") and each.get("event") not in ("DELETE", "NONE"):
                        return str(each["id"])
            raise RuntimeError("mem0 did not store the text")

        return await self._run(work)

    async def _delete(self, id: str, owner: str | None) -> bool:
        def work() -> bool:
            found = self._client.get(id)
            if not self._may_see(found, owner, unnamed=owner is None):
                return False
            self._client.delete(id)
            return True

        try:
            return await self._run(work)
        except Exception:  # the host's rule, as above
            logger.warning("Mem0Provider.delete failed for memory_id=%s", id, exc_info=True)
            return False

    async def _purge(self, owner: str) -> int:
        def work() -> int:
            gone, left = 0, self._all_of(owner)
            while left:  # mem0 deletes a hundred at a time
                self._delete_all(owner, left)
                before, left = left, self._all_of(owner)
                gone += len(before) - len(left)
                if len(left) >= len(before):
                    raise RuntimeError(f"mem0 left {len(left)} entries of the user")
            return gone

        return await self._run(work)

    async def _release(self) -> None:
        client, self._client = self._client, None
        if hasattr(type(client), "close"):
            await asyncio.to_thread(client.close)

    # --- calling mem0 ------------------------------------------------------------------------------------

    async def _seen(self, method: str, *given: Any, owner: str | None, limit: int) -> list[MemoryResult]:
        """Return the owner's entries in the answer of a method that reads."""
        items = _items(await self._run(lambda: self._call(method, *given, owner=owner, limit=limit)))
        return [_result(each) for each in items if owner is None or self._may_see(each, owner, unnamed=True)]

    async def _run(self, work: Callable[[], _T]) -> _T:
        """Run calls of mem0 one at a time: its stores are not safe for several threads."""
        lock: threading.Lock = self.__dict__.setdefault("_lock", threading.Lock())

        def alone() -> _T:
            with lock:
                return work()

        return await asyncio.to_thread(alone)

    def _delete_all(self, owner: str, entries: list[Mapping[str, Any]]) -> None:
        """Delete the entries of a user at once, or one by one where this mem0 cannot."""
        if hasattr(self._client, "delete_all"):
            try:
                self._client.delete_all(user_id=self._name(owner))
                return
            except Exception:  # some of mem0's stores lack it, and raise what their clients raise
                logger.warning("Mem0 delete_all failed, deleting entries one by one", exc_info=True)
        for each in entries:
            self._client.delete(str(each["id"]))

    def _all_of(self, user_id: str) -> list[Mapping[str, Any]]:
        return _items(self._call("get_all", owner=user_id, limit=_EVERYTHING, every_agent=True))

    def _call(self, method: str, *given: Any, owner: str | None, limit: int, every_agent: bool = False) -> Any:
        """Call a method that reads, in the form that this mem0 has."""
        call = getattr(self._client, method)
        names = {"user_id": self._name(owner)}
        if self._agent_id is not None and not every_agent:
            names["agent_id"] = self._agent_id
        takes = _parameters(call)
        if "user_id" in takes or "filters" not in takes:  # 1.x
            return call(*given, **names, limit=limit)
        threshold = {"threshold": 0.0} if "threshold" in takes else {}
        return call(*given, filters=names, top_k=limit, **threshold)

    def _name(self, owner: str | None) -> str:
        return self._user_id if owner is None else _encoded(owner)

    def _may_see(self, item: Any, owner: str | None, *, unnamed: bool) -> bool:
        """Whether an entry is the owner's; `unnamed` is the answer for an entry that names no user."""
        if not isinstance(item, Mapping):
            return unnamed
        holder = item.get("user_id") or (item.get("metadata") or {}).get("user_id")
        return unnamed if holder is None else bool(holder == self._name(owner))


def _parameters(call: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(call).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _encoded(user_id: str) -> str:
    """Return a user's name without white space, which mem0 trims or refuses, so that no two names become one."""
    return quote(user_id, safe="") if re.search(r"[\s%]", user_id) else user_id


def _items(answer: Any) -> list[Mapping[str, Any]]:
    """Return the entries of an answer: a list, or a mapping that holds one."""
    if isinstance(answer, Mapping):
        answer = answer.get("results") or answer.get("memories") or []
    if isinstance(answer, str):
        raise TypeError(f"mem0 answered with the unexpected type {type(answer).__name__}")
    return [each for each in answer or [] if isinstance(each, Mapping)]


def _result(item: Mapping[str, Any]) -> MemoryResult:
    score = item.get("score")
    return MemoryResult(
        str(item.get("memory") or item.get("text") or ""),
        _UNKNOWN_SCORE if score is None else score,
        str(item.get("id") or ""),
        copy.deepcopy(dict(item.get("metadata") or {})),
    )
