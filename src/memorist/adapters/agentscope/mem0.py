"""Long-term memory on mem0."""

import asyncio
import inspect
from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any, Self

from memorist.adapters.agentscope.base import RecordingMemory, telling
from memorist.adapters.agentscope.mem0_setup import configured, mem0_library, one_at_a_time
from memorist.adapters.agentscope.reading import listed, one_or_more, recorded, said, text_of
from memorist.adapters.agentscope.types import Msg, ToolResponse, answer
from memorist.framing.frame import neutralise

_IDS = ("agent_id", "user_id", "run_id")


class Mem0LongTermMemory(RecordingMemory):
    """Keeps memories of a user, an agent or a run in mem0 1.x or 2.x. Needs ``pip install 'memorist[mem0]'``.

    The models run in the caller's event loop. mem0's telemetry is off unless MEM0_TELEMETRY turns it on.

    Args:
        agent_name: the agent; with it, mem0 also learns from what the assistant says.
        user_name: the user.
        run_name: the session. One of the three is required; a search finds what was recorded with the same names.
        model: a chat model of this project or of AgentScope.
        embedding_model: an embedder of this project or of AgentScope.
        vector_store_config: a `VectorStoreConfig` of mem0; by default Qdrant on disk, in mem0's own folder.
        mem0_config: a `MemoryConfig` of mem0, which is not changed; the other arguments override it.
        default_memory_type: the type of memory where a call gives none: None, or "procedural_memory".
        **kwargs: `path` and `on_disk` of the default vector store.

    Raises:
        ImportError: mem0 is not installed.
        ValueError: no name is given, or neither a `mem0_config` nor both models.
    """

    def __init__(
        self,
        agent_name: str | None = None,
        user_name: str | None = None,
        run_name: str | None = None,
        model: Any = None,
        embedding_model: Any = None,
        vector_store_config: Any = None,
        mem0_config: Any = None,
        default_memory_type: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        library = mem0_library()
        if agent_name is None and user_name is None and run_name is None:
            raise ValueError("at least one of agent_name, user_name, and run_name is required")
        if mem0_config is None and (model is None or embedding_model is None):
            raise ValueError("model and embedding_model are required if mem0_config is not provided")
        self.agent_id = agent_name
        self.user_id = user_name
        self.run_id = run_name
        self.default_memory_type = default_memory_type
        config = configured(mem0_config, model, embedding_model, vector_store_config, kwargs)
        self.long_term_working_memory: Any = library.AsyncMemory(config)
        one_at_a_time(self.long_term_working_memory)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close mem0's files, so that another process can open them."""
        client = getattr(getattr(self.long_term_working_memory, "vector_store", None), "client", None)
        for each in (client, self.long_term_working_memory):
            if (close := getattr(each, "close", None)) is not None:
                closing = close()
                if inspect.isawaitable(closing):
                    await closing

    @telling("recording memory")
    async def record_to_memory(self, thinking: str, content: list[str], **kwargs: Any) -> ToolResponse:
        text = "\n".join([thinking, *listed(content)] if thinking else listed(content))
        results: Any = {"results": []}
        # mem0 extracts other things from an assistant's words than from a user's, and may find nothing.
        for role, more in (("user", {}), ("assistant", {}), ("assistant", {"infer": False})):
            if text.strip() and _nothing(results):
                results = await self._add([_turn(role, text)], **{**kwargs, **more})
        return answer(f"Successfully recorded content to memory {results}")

    @telling("retrieving memory")
    async def retrieve_from_memory(self, keywords: list[str], limit: int = 5, **kwargs: Any) -> ToolResponse:
        """Retrieve from memory what belongs to the given keywords.

        Args:
            keywords: What to search for in memory. Each should be specific and concise, for example a person's
                name, a date or a place.
            limit: The most memories to return for each keyword.
        """
        return answer("\n".join(await self._find(listed(keywords), limit)))

    async def record(
        self, msgs: list[Msg | None], memory_type: str | None = None, infer: bool = True, **kwargs: Any
    ) -> Any:
        """Record these messages, without recalled memories and messages recorded before.

        Args:
            msgs: the messages; None among them is skipped.
            memory_type: None, or "procedural_memory".
            infer: let the chat model extract what is worth keeping; otherwise store the texts.
            **kwargs: further arguments of mem0's `add`.

        Returns:
            mem0's result.

        Raises:
            TypeError: there is something else than messages.
        """
        if msgs is None:
            raise TypeError("The input messages must be a list of Msg objects.")
        found = recorded(msgs)
        new = self._unrecorded(found)
        turns = [_turn(each.role, text, each.name) for each in new if (text := said(each, thinking=False))]
        if not turns:
            return {"results": []}
        results = await self._add(turns, memory_type=memory_type, infer=infer, **kwargs)
        self._note_recorded(new)
        return results

    async def retrieve(self, msg: Msg | list[Msg] | None, limit: int = 5, **kwargs: Any) -> str:
        """Return what is relevant to these messages, a line for each memory.

        Args:
            msg: the message, or several, each of which is searched for.
            limit: the most memories for each message.
            **kwargs: further arguments, without effect.

        Raises:
            TypeError: there is something else than messages.
        """
        found = one_or_more([msg] if msg is None else msg)  # None does not count as a message here
        return "\n".join(await self._find([text_of(each) for each in found], limit))

    # --- calling mem0 ----------------------------------------------------------------------------------

    @property
    def _names(self) -> dict[str, str]:
        return {name: value for name in _IDS if (value := getattr(self, name)) is not None}

    async def _add(self, messages: list[dict[str, str]], memory_type: str | None = None, **kwargs: Any) -> Any:
        _note_loop()
        kind = self.default_memory_type if memory_type is None else memory_type
        given = {name: value for name, value in kwargs.items() if name not in _IDS}  # a model cannot name a user
        return await self.long_term_working_memory.add(
            messages=messages, **{"infer": True, **given, "memory_type": kind, **self._names}
        )

    async def _find(self, queries: Iterable[str], limit: int) -> list[str]:
        _note_loop()
        search = self.long_term_working_memory.search
        if _is_2(search):
            options: dict[str, Any] = {"filters": self._names, "top_k": limit, "threshold": 0.0}
        else:
            options = {**self._names, "limit": limit}
        found = await asyncio.gather(*(search(query=query, **options) for query in queries if query.strip()))
        return [text for each in found if each for text in _lines(each)]


def _note_loop() -> None:
    from memorist.adapters.agentscope.mem0_models import callers_loop

    callers_loop.set(asyncio.get_running_loop())


def _is_2(search: Any) -> bool:
    """Return whether mem0's search takes the arguments of version 2."""
    names = inspect.signature(search).parameters
    if "top_k" in names or "limit" in names:
        return "top_k" in names
    return int(version("mem0ai").split(".")[0]) >= 2  # a stand-in, such as a mock, that takes any arguments


def _turn(role: str, text: str, name: str | None = None) -> dict[str, str]:
    return {"role": role, "content": text, "name": name or role}


def _nothing(results: Any) -> bool:
    return isinstance(results, Mapping) and "results" in results and not results["results"]


def _lines(found: Mapping[str, Any]) -> list[str]:
    lines = [str(each["memory"]) for each in found["results"]]
    lines += [" -- ".join(str(each[part]) for part in _RELATION) for each in found.get("relations") or []]
    return [line for each in lines if (line := neutralise(each))]  # so that it stays data in a prompt


_RELATION = ("source", "relationship", "destination")
