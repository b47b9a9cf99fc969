"""Tool calls as they were made, guidelines for each tool, and statistics."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Unpack

from memorist.errors import InvalidInputError, shown
from memorist.kinds.common import RecordFields, View, check_text
from memorist.kinds.options import SearchOptions
from memorist.operations.arguments import number, whole
from memorist.records.record import Hit, Kind, Record
from memorist.verbs import Verbs


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One call of a tool, as the payload of its record holds it.

    `seconds` is how long it took, `tokens` and `cost` what it cost (money, in the caller's currency), and `score` the
    caller's judgement; None where a value was not given.
    """

    tool: str
    arguments: Mapping[str, Any]
    result: Any
    success: bool = True
    seconds: float | None = None
    tokens: int | None = None
    cost: float | None = None
    score: float | None = None

    @classmethod
    def of(cls, record: Record) -> "ToolUse":
        """Return the call that a record holds; what else its payload has, such as an import's id, is left out."""
        names = cls.__dataclass_fields__
        return cls(**{name: value for name, value in record.payload.items() if name in names})

    def payload(self) -> dict[str, Any]:
        """Return the fields to store; missing measures are left out.

        Raises:
            InvalidInputError: a field is wrong.
        """
        check_text("tool", self.tool)
        if not isinstance(self.arguments, Mapping):
            raise InvalidInputError(f"arguments must be a mapping, not {type(self.arguments).__name__}")
        if not isinstance(self.success, bool):
            raise InvalidInputError(f"success must be true or false, not {shown(self.success)}")
        fields: dict[str, Any] = {"tool": self.tool, "arguments": dict(self.arguments), "result": self.result}
        measures = {name: number(name, value) for name in _MEASURES if (value := getattr(self, name)) is not None}
        return {**fields, "success": self.success, **measures}

    @property
    def text(self) -> str:
        """The call to read: the tool and its arguments, then what it returned.

        Raises:
            InvalidInputError: the arguments or the result are not JSON.
        """
        call = f"{self.tool}({_as_text('arguments', dict(self.arguments))})"
        result = self.result if isinstance(self.result, str) else _as_text("result", self.result)
        return f"{call}\n{result}" if result.strip() else call


_MEASURES = ("seconds", "tokens", "cost", "score")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStatistics:
    """How the calls of one tool went; a mean is over the calls that have the measure, None without any.

    `success_rate` is from 0 to 1, and 0 without a call.
    """

    tool: str
    calls: int
    successes: int
    success_rate: float
    mean_seconds: float | None
    mean_tokens: float | None
    mean_cost: float | None
    mean_score: float | None


class Tools(View):
    """The tool memory of one scope.

    A tool use is found by its question (the record's `cue`), a guideline by the tool's exact name; for a
    guideline the labels `agent` and `session` do not matter.

    ```python
    await memory.tools.record("Flights to Oslo?", "search_flights", {"to": "OSL"}, "3 flights", seconds=0.8)
    [hit] = await memory.tools.search("are there flights to Norway's capital?", limit=1)
    ToolUse.of(hit.record).arguments  # {"to": "OSL"}
    (await memory.tools.statistics("search_flights")).success_rate  # 1.0
    ```
    """

    _kind = Kind.TOOL_USE

    def __init__(self, memory: Verbs) -> None:
        super().__init__(memory)
        self._guidelines = memory.unlabelled()

    # --- uses --------------------------------------------------------------------------------------

    async def record(
        self,
        question: str | None,
        tool: str,
        arguments: Mapping[str, Any],
        result: Any = "",
        *,
        success: bool = True,
        seconds: float | None = None,
        tokens: int | None = None,
        cost: float | None = None,
        score: float | None = None,
        **fields: Unpack[RecordFields],
    ) -> Record:
        """Keep a call of a tool, and return its record.

        Args:
            question: what it was called for: what a search matches. None: the call itself is matched.
            tool: the tool's name.
            arguments: what it was called with, JSON.
            result: what it returned, or a summary of that: a text, or any JSON.
            success: whether it did what it should.
            seconds: how long it took.
            tokens: how many tokens it cost.
            cost: how much money, in the caller's currency.
            score: how good the outcome was, in the caller's judgement.
            **fields: what any record can have, as in `Memory.remember`; `verified` makes it an example.

        Raises:
            InvalidInputError: the arguments or the result are not JSON, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        use = ToolUse(
            tool=tool, arguments=arguments, result=result, success=success,
            seconds=seconds, tokens=tokens, cost=cost, score=score,
        )  # fmt: skip
        cue = None if question is None else check_text("question", question)
        payload = use.payload()  # which checks the fields that the text is made of
        return await self._keep(use.text, fields, cue=cue, payload=payload)

    async def search(
        self,
        question: str,
        *,
        limit: int = 5,
        tool: str | None = None,
        success: bool | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[Hit]:
        """Find the calls made for questions like this one, best first.

        Args:
            question: what one is about to do. A blank one finds nothing.
            limit: how many hits at most.
            tool: only calls of this tool.
            success: only calls that did, or did not, succeed.
            **options: as in `Memory.recall`; `verified` asks for examples (True) or for the others (False).

        Raises:
            InvalidInputError: an argument is wrong.
        """
        wanted = {"tool": tool, "success": success}
        payload = {name: value for name, value in wanted.items() if value is not None}
        return await self._search(question, limit, options, payload or None)

    async def examples(
        self, question: str, *, limit: int = 5, tool: str | None = None, **options: Unpack[SearchOptions]
    ) -> list[Hit]:
        """Find the verified calls for questions like this one, best first: as `search` with `verified`."""
        options["verified"] = True
        return await self.search(question, limit=limit, tool=tool, **options)

    async def uses(self, tool: str, *, limit: int = 100) -> list[Record]:
        """Return the newest calls of a tool, newest first.

        Raises:
            InvalidInputError: the limit is not a whole number, or over 10,000.
        """
        if isinstance(limit, int) and limit < 1:
            return []
        chosen = {"tool": check_text("tool", tool)}
        return (await self._memory.browse(kind=Kind.TOOL_USE, payload=chosen, limit=limit)).records

    async def trim(self, tool: str, keep: int) -> int:
        """Forget all calls of a tool but the newest `keep`, and return how many are gone."""
        whole("keep", keep)
        chosen = {"tool": check_text("tool", tool)}
        calls = [each.id async for each in self._memory.iterate(kind=Kind.TOOL_USE, order="newest", payload=chosen)]
        return await self.delete(*calls[keep:])

    async def tools(self) -> list[str]:
        """Return the names of all tools that have a call or a guideline, sorted."""
        names = {ToolUse.of(each).tool async for each in self._memory.iterate(kind=Kind.TOOL_USE)}
        names.update([each.key or "" async for each in self._guidelines.iterate(kind=Kind.TOOL_GUIDELINE, order="key")])
        return sorted(names)

    async def statistics(self, tool: str) -> ToolStatistics:
        """Return how the stored calls of a tool went, counted exactly.

        Raises:
            InvalidInputError: the name is blank.
        """
        chosen = {"tool": check_text("tool", tool)}
        uses = [ToolUse.of(each) async for each in self._memory.iterate(kind=Kind.TOOL_USE, payload=chosen)]
        successes = sum(use.success for use in uses)
        return ToolStatistics(
            tool=tool,
            calls=len(uses),
            successes=successes,
            success_rate=successes / len(uses) if uses else 0.0,
            **{f"mean_{name}": mean(getattr(use, name) for use in uses) for name in _MEASURES},
        )

    # --- guidelines --------------------------------------------------------------------------------

    async def guideline(self, tool: str, *, shared: bool = False) -> str | None:
        """Return the guideline of a tool, by its exact name, or None.

        Args:
            tool: the tool's name.
            shared: where the user has none, look at the tenant's shared ones.

        Raises:
            InvalidInputError: the name is blank.
        """
        record = await self._guidelines.lookup(check_text("tool", tool), kind=Kind.TOOL_GUIDELINE, shared=shared)
        return None if record is None else record.content

    async def set_guideline(
        self,
        tool: str,
        guideline: str,
        *,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Record:
        """Say how to use a tool, and return the record; what was said before is in its history.

        Raises:
            InvalidInputError: a text is blank, or a field is wrong.
        """
        return await self._guidelines.remember(
            check_text("guideline", guideline),
            kind=Kind.TOOL_GUIDELINE,
            key=check_text("tool", tool),
            source=source,
            metadata=metadata,
            if_exists="replace",
        )

    async def delete_guideline(self, tool: str) -> bool:
        """Forget the guideline of a tool, and tell whether there was one."""
        return await self._guidelines.forget(kind=Kind.TOOL_GUIDELINE, key=check_text("tool", tool)) > 0


def mean(values: Iterable[float | None]) -> float | None:
    """Return the mean of the numbers among the values, exactly rounded; None without any."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _as_text(name: str, value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"{name} must be JSON: {error}") from error
