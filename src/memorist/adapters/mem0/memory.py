"""mem0's calls on a memory of this package."""

from __future__ import annotations

from collections.abc import Awaitable, Generator, Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from memorist.adapters.entries import enough, first
from memorist.adapters.mem0 import checks
from memorist.adapters.mem0.adding import draw, model_of, store, summarise
from memorist.adapters.mem0.checks import MemoryNotFoundError
from memorist.adapters.mem0.finding import Finder, selection_of, shown
from memorist.adapters.mem0.settings import Opening, opening_of
from memorist.adapters.mem0.shapes import KINDS, deleting_source, history_rows, item, split_metadata
from memorist.adapters.opening import AnyMemory, behind
from memorist.adapters.originals import caught_by
from memorist.blocking_client import run
from memorist.errors import ClosedError, InvalidInputError
from memorist.memory import Memory
from memorist.records.record import Draft, Hit, Record
from memorist.records.times import TimeLike, parse_time
from memorist.system.locks import Lock

if TYPE_CHECKING:
    from memorist.embedders import EmbedderSpec
    from memorist.language import ChatModelSpec

Results = dict[str, list[dict[str, Any]]]
_PAGE = 1000
_UNSET: Any = object()
"""The default of an argument for which None has a meaning."""


class AsyncMemory:
    """mem0's `AsyncMemory` on this engine.

    ```python
    memory = AsyncMemory()
    await memory.add("Prefers homestays when she travels", user_id="alice")
    await memory.search("where does she like to stay?", filters={"user_id": "alice"})
    ```

    `user_id` is the user's wall; `agent_id` and `run_id` are the labels agent and session. The memory opens with
    the first call, with `async with`, or with `await`. It takes all arguments of mem0 1.x and 2.x, also those
    that the two name differently (`top_k` and `limit`, `text` and `data`).

    Args:
        config: a mem0 configuration, as a dict or a `MemoryConfig`; see `memorist.adapters.mem0.settings`.
        memory: an open memory to use instead of `url` and `embedder`, which is not closed here; a path is a `url`.
        url: the store; see `Memory.open`.
        embedder: the embedder; see `Memory.open`.
        chat_model: extracts facts in `add`; see `memorist.language.open_chat_model`. Without one, `add` stores
            messages as they are.

    Raises:
        InvalidInputError: the configuration names something unknown; also a ValueError.
    """

    def __init__(
        self,
        config: Any = None,
        *,
        memory: AnyMemory | None = None,
        url: str | PathLike[str] | None = None,
        embedder: EmbedderSpec = None,
        chat_model: ChatModelSpec | None = None,
    ) -> None:
        opening = opening_of(config) if config is not None else Opening()
        given = opening.chat_model if chat_model is None else chat_model
        self._model = None if given is None else model_of(given)
        self._closes_model = chat_model is None or isinstance(chat_model, str)
        self._instructions = opening.instructions
        if isinstance(memory, str | PathLike):
            url, memory = memory, None
        self._is_own = memory is None
        if memory is None:
            url = opening.url if url is None else url
            embedder = opening.embedder if embedder is None else embedder
            memory = Memory.open(url, tenant=opening.tenant, embedder=embedder)
        self._memory = memory = behind(memory, "mem0")
        self._is_open = not self._is_own
        self._is_closed = False
        self._opening = Lock()
        self._finder = Finder(memory)

    @classmethod
    def from_config(cls, config_dict: Mapping[str, Any]) -> Self:
        """Return a memory with a mem0 configuration. Awaiting it is optional."""
        return cls(config_dict)

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._close()

    def __await__(self) -> Generator[Any, None, Self]:
        return self.__aenter__().__await__()

    def close(self) -> Awaitable[None]:
        """Close the store at once. Awaiting the result is optional; a second call does nothing."""
        run(self._close)
        return _Nothing()

    # --- writing -----------------------------------------------------------------------------------

    async def add(
        self,
        messages: Any,
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        metadata: Mapping[str, Any] | None = None,
        timestamp: TimeLike | None = None,
        expiration_date: Any = None,
        infer: bool = True,
        memory_type: str | None = None,
        prompt: str | None = None,
        llm: Any = None,
    ) -> Results:
        """Store messages as they are; with `infer` and a chat model, the facts in them.

        Args:
            messages: a text, a message (`{"role": …, "content": …}`), or a list of messages.
            user_id: the user; one of the three ids is required.
            agent_id: a label.
            run_id: a label.
            metadata: the caller's own fields.
            timestamp: when it happened.
            expiration_date: the last day (YYYY-MM-DD, in UTC) on which `search` and `get_all` show it.
            infer: extract facts from the messages and reconcile them with the stored ones.
            memory_type: "procedural_memory", with an agent, stores a summary of how a task was done.
            prompt: instructions for the chat model: for facts, added in place of the configuration's
                `custom_instructions`; for a procedural memory, the whole prompt.
            llm: another chat model for a procedural memory: LangChain's, as in mem0, or as `chat_model`.

        Returns:
            ``{"results": [{"id", "memory", "event", …}]}``: what was stored (ADD) or replaced an older fact
            (UPDATE, with "previous_memory").

        Raises:
            ValidationError: none of the ids is given, or the messages are no messages.
            InvalidInputError: another argument is wrong; also a ValueError.
        """
        day = checks.day_of(expiration_date)
        owner = checks.require_owner({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        checks.check_memory_type(memory_type)
        given = checks.message_list(messages)
        own, beside = split_metadata(metadata, context="add()")
        if day is not None:
            beside["expiration_date"] = day
        happened_at = beside.get("created_at") if timestamp is None else timestamp
        pattern = Draft(
            content="-",
            metadata=own,
            payload=beside,
            happened_at=None if happened_at is None else parse_time(happened_at),
        )
        memory = await self._of(owner)
        if agent_id is not None and memory_type is not None:
            model = self._model if llm is None else model_of(llm)
            results = await summarise(memory, given, pattern, model, prompt)
        elif infer and self._model is not None:
            results = await draw(memory, given, pattern, self._model, prompt or self._instructions)
        else:
            results = await store(memory, given, pattern)
        for row in results:
            self._finder.keep_in_mind(row["id"], memory.scope.user)
        return {"results": results}

    async def update(
        self,
        memory_id: str,
        text: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expiration_date: Any = _UNSET,
        data: str | None = None,
    ) -> dict[str, str]:
        """Change a memory's text, some of its metadata, or its expiration date (None removes it).

        Raises:
            MemoryNotFoundError: there is no memory with this id; also a ValueError.
            InvalidInputError: nothing to change is given; also a ValueError.
        """
        text = data if text is None else text
        if text is None and metadata is None and expiration_date is _UNSET:
            raise InvalidInputError("At least one of text, metadata, or expiration_date must be provided.")
        record = await self._found(memory_id, " Please provide a valid 'memory_id'", "not found.")
        own, beside = split_metadata(metadata, context="update()", old=item(record))
        beside.pop("created_at", None)
        if expiration_date is not _UNSET:
            beside["expiration_date"] = checks.day_of(expiration_date)
        changed: dict[str, Any] = {"metadata": {**record.metadata, **own}} if own else {}
        changed |= {"payload": {**record.payload, **beside}} if beside else {}
        content = record.content if text is None else text
        await self._finder.behind(record).revise(record.id, content=content, **changed)
        return {"message": "Memory updated successfully!"}

    async def delete(self, memory_id: str) -> dict[str, str]:
        """Delete a memory and what it superseded.

        Raises:
            MemoryNotFoundError: there is none with this id; also a ValueError.
        """
        record = await self._found(memory_id)
        chain = await self._finder.chain(record)
        await self._finder.behind(record).forget(*(each.id for each in chain), source=deleting_source(chain[0]))
        return {"message": "Memory deleted successfully!"}

    async def delete_all(self, user_id: Any = None, agent_id: Any = None, run_id: Any = None) -> dict[str, str]:
        """Delete all memories of a user, or those with the labels; without a user, shared ones.

        Raises:
            InvalidInputError: none of the ids is given; also a ValueError.
        """
        owner = checks.owner_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id})
        if not any(owner.values()):
            raise InvalidInputError(
                "At least one filter is required to delete all memories. If you want to delete all memories, "
                "use the `reset()` method."
            )
        await (await self._of(owner)).forget(kind=KINDS)
        return {"message": "Memories deleted successfully!"}

    async def reset(self) -> None:
        """Delete every memory of every user: the notes and facts of the tenant."""
        memory = (await self._opened()).unlabelled()
        await memory.forget(kind=KINDS)
        if memory.scope.user is None:
            for user in await memory.admin.users():
                await memory.scoped(user=user).forget(kind=KINDS)

    # --- reading -----------------------------------------------------------------------------------

    async def get(self, memory_id: str) -> dict[str, Any] | None:
        """Return the memory with this id, or None."""
        await self._opened()
        record = await self._finder.find(memory_id)
        return None if record is None else item(record)

    async def get_all(
        self,
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        show_expired: bool = False,
    ) -> Results:
        """Return memories, newest first. The arguments and errors are those of `search`."""
        asked = selection_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, filters, top_k, limit)
        memory = await self._of(asked.owner)
        passes = asked.test(show_expired, memory.clock())
        page = min(asked.top_k + 1, _PAGE)
        records = memory.iterate(kind=KINDS, where=asked.where, order="newest", page=page)
        found = await first((each async for each in records if passes(each)), asked.top_k)
        return {"results": [item(each, with_score=False) for each in found]}

    async def search(
        self,
        query: str,
        *,
        user_id: Any = None,
        agent_id: Any = None,
        run_id: Any = None,
        filters: Mapping[str, Any] | None = None,
        top_k: int | None = None,
        limit: int | None = None,
        threshold: float | None = None,
        rerank: bool = False,
        explain: bool = False,
        reference_date: TimeLike | None = None,
        show_expired: bool = False,
    ) -> Results:
        """Return the memories relevant to a query, best first.

        A "memory" that came through an import, a web page, a tool or another agent says so first: "(from an import) …".

        Args:
            query: a question or any text.
            user_id: the user. The three ids may be given here or in `filters`.
            agent_id: a label.
            run_id: a label.
            filters: the ids, and conditions on the metadata.
            top_k: the most results; by default 20, or 100 where the ids are arguments.
            limit: the same as `top_k`.
            threshold: the least similarity, 0 to 1; by default 0.1, or 0 where the ids are arguments.
            rerank: has no effect: the order is always that of `Memory.recall`.
            explain: add "score_details", the parts of each score.
            reference_date: the time at which the question is asked, for "last week" and the like.
            show_expired: include memories whose expiration date has passed.

        Raises:
            InvalidInputError: no id is given, or an argument makes no sense; also a ValueError.
        """
        asked = selection_of({"user_id": user_id, "agent_id": agent_id, "run_id": run_id}, filters, top_k, limit)
        floor = asked.floor(threshold)
        query = checks.check_query(query)
        memory = await self._of(asked.owner)

        async def recall(count: int) -> list[Hit]:
            return await memory.recall(
                query,
                limit=count,
                kind=KINDS,
                where=asked.where,
                min_similarity=floor,
                explain=explain,
                now=reference_date,
            )

        hits = await enough(recall, asked.top_k, asked.test(show_expired, memory.clock()))
        return {"results": [shown(hit, floor, explain=explain) for hit in hits]}

    async def history(self, memory_id: str) -> list[dict[str, Any]]:
        """Return every change of a memory, oldest first. A deleted memory has no texts there."""
        await self._opened()
        return history_rows(memory_id, await self._finder.histories(memory_id))

    async def chat(self, query: str) -> None:
        """Raise NotImplementedError, as mem0 does."""
        raise NotImplementedError("Chat function not implemented yet.")

    # --- below the calls -----------------------------------------------------------------------------

    async def _opened(self) -> Memory:
        if self._is_closed:
            raise ClosedError("the memory is closed")
        if not self._is_open:
            async with self._opening:
                if not self._is_open:
                    await self._memory
                    self._is_open = True
        return self._memory

    async def _close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        if self._is_open and self._is_own:
            await self._memory.close()
        if self._closes_model and (close := getattr(self._model, "close", None)) is not None:
            await close()

    async def _of(self, owner: Mapping[str, str | None]) -> Memory:
        return (await self._opened()).scoped(**owner)

    async def _found(self, memory_id: str, hint: str = "", what: str = "not found") -> Record:
        await self._opened()
        record = await self._finder.find(memory_id)
        if record is None:
            raise caught_by("mem0.exceptions", MemoryNotFoundError)(f"Memory with id {memory_id} {what}{hint}")
        return record


class _Nothing:
    """An awaitable that is done already."""

    def __await__(self) -> Generator[Any, None, None]:
        return
        yield
