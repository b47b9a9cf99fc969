"""Digesting: facts and experiences from unread messages and raw records; it may run any number of times."""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from memorist.errors import NotFoundError
from memorist.framing.frame import without_recalled
from memorist.kinds import Message
from memorist.language.experiences import draw_experiences, store_lesson
from memorist.language.extracting import BATCH, Extraction, Statement, batches_of, extract_batch
from memorist.language.models import NO_USAGE, ChatModel, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.reconciling import NEAREST, Decision, Reconciler, again
from memorist.language.steps import NO_MODEL, Problem, opened
from memorist.memory import Memory
from memorist.operations.arguments import whole
from memorist.records.origins import NOBODY
from memorist.records.record import Kind, Record
from memorist.records.times import parse_time

Progress = Callable[[int, int], None]
_NO_FACTS = ("system", "developer", "tool", "function")
"""Messages with these roles are ignored."""
_DONE, _RAW = "done", "raw"
_SOURCE = "digest"


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestReport:
    """The result of a digest.

    Args:
        messages: the number of messages read.
        records: the number of raw or unreconciled records that were retried.
        decisions: the number of statements for each `Decision`.
        experiences: the number of experiences stored.
        raw: the number of messages and records that stay raw, because no answer was usable; they are retried only
            with `again=True`.
        left: the number of messages and records not processed, because the model was unavailable; the next run
            processes them.
        problem: the last problem; None if there was none.
        usage: the calls, tokens and cost.
    """

    messages: int = 0
    records: int = 0
    decisions: Mapping[str, int] = field(default_factory=dict)
    experiences: int = 0
    raw: int = 0
    left: int = 0
    problem: Problem | None = None
    usage: Usage = NO_USAGE

    def __add__(self, other: "DigestReport") -> "DigestReport":
        added = ("messages", "records", "experiences", "raw", "left", "usage")
        totals: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in added}
        decisions = dict(Counter(self.decisions) + Counter(other.decisions))
        return DigestReport(**totals, decisions=decisions, problem=other.problem or self.problem)


class Digest:
    """Extracts facts and experiences from unread messages, and from records that a failing model left raw.

    A message that was read is marked in its payload (`digested`), after its facts are on the disk: the next run
    resumes an interrupted one, and a message that is read twice is stored once. Facts are stored in the user's
    memory without a session, with the agent of the messages.

    ```python
    report = await Digest(memory, "ollama:qwen3").run()
    print(report.messages, report.decisions, report.left)
    ```

    Args:
        memory: the memory with the messages; its scope limits what is read.
        model: the chat model; without one, nothing is done.
        prompts: by default the bundled ones.
        batch: the most messages in one call.
        concurrency: the most calls at once.
        nearest: the number of stored facts with which each statement is compared.
        again: also retry texts that stayed raw after an unusable answer.
    """

    def __init__(
        self,
        memory: Memory,
        model: ChatModelSpec | None,
        *,
        prompts: Prompts | None = None,
        batch: int = BATCH,
        concurrency: int = 4,
        nearest: int = NEAREST,
        again: bool = False,
    ) -> None:
        for name, number in (("batch", batch), ("concurrency", concurrency), ("nearest", nearest)):
            whole(name, number, 1)
        self._memory = memory
        self._given = model
        self._prompts = prompts
        self._batch = batch
        self._concurrency = concurrency
        self._nearest = nearest
        self._again = again
        self._report = DigestReport()
        self._outage: Problem | None = None

    async def pending(self) -> int:
        """Return the number of raw messages and records."""
        return len(await self._messages()) + len(await self._records())

    async def run(self, progress: Progress | None = None) -> DigestReport:
        """Process everything that is raw now, oldest first.

        If the model cannot be reached, the run ends and reports how much is left.

        Args:
            progress: called with (done, total) after each step.
        """
        self._report, self._outage = DigestReport(), None
        messages, records = await self._messages(), await self._records()
        total, done = len(messages) + len(records), 0
        told = progress or (lambda done, total: None)
        if self._given is None:
            return DigestReport(left=total, problem=NO_MODEL if total else None)
        async with opened(self._given, concurrency=self._concurrency) as model:
            for record in records:
                if self._outage is None:
                    await self._take_up(record, model)
                    done += 1
                    told(done, total)
            batches = self._batches(messages)
            for start in range(0, len(batches), self._concurrency):
                if self._outage is None:
                    some = batches[start : start + self._concurrency]
                    done += await self._read(some, model)
                    told(done, total)
        usage = replace(self._report.usage, concurrency=self._concurrency)
        left = total - self._report.messages - self._report.records
        return replace(self._report, left=left, usage=usage, problem=self._outage or self._report.problem)

    # --- what is raw -------------------------------------------------------------------------------

    async def _messages(self) -> list[Record]:
        unread: Mapping[str, Any] = {"digested": {"$exists": False}}
        if self._again:
            unread = {"$or": [unread, {"digested": _RAW}]}
        return [record async for record in self._memory.iterate(kind=Kind.MESSAGE, payload=unread)]

    async def _records(self) -> list[Record]:
        raw: Mapping[str, Any] = {"$or": [{"raw": {"$exists": True}}, {"unreconciled": {"$exists": True}}]}
        if not self._again:
            raw = {"$and": [raw, {"digested": {"$exists": False}}]}
        kinds = (Kind.FACT, Kind.EXPERIENCE)
        return [record async for record in self._memory.iterate(kind=kinds, payload=raw)]

    def _batches(self, records: Sequence[Record]) -> list[list[Record]]:
        """Return the messages in batches, each of one agent and session, in the order of their first message."""
        conversations: dict[tuple[str | None, str | None], list[Record]] = {}
        for record in records:
            conversations.setdefault((record.scope.agent, record.scope.session), []).append(record)
        batches = []
        for conversation in conversations.values():
            rest = iter(conversation)
            for batch in batches_of([Message.of(record) for record in conversation], self._batch):
                batches.append([next(rest) for _ in batch])
        return sorted(batches, key=lambda batch: batch[0].at)

    # --- messages ----------------------------------------------------------------------------------

    async def _read(self, batches: Sequence[list[Record]], model: ChatModel) -> int:
        parts = await asyncio.gather(*(self._extract(batch, model) for batch in batches))
        done = 0
        for batch, part in zip(batches, parts, strict=True):
            self._count(usage=part.usage)
            if part.problem is not None and part.problem.temporary:
                self._outage = part.problem
                continue
            if part.problem is None:
                target = self._memory.unlabelled().scoped(agent=batch[0].scope.agent)
                reconciler = Reconciler(target, self._prompts, self._nearest, {"source": _SOURCE})
                for statement in part.statements:
                    outcome = await reconciler.one(statement, self._outage or model)
                    self._count(usage=outcome.usage, decision=outcome.decision, problem=outcome.problem)
                    if outcome.problem is not None and outcome.problem.temporary:
                        self._outage = outcome.problem
            else:
                self._count(raw=len(batch), problem=part.problem)
            await self._mark(batch, part.problem)
            self._count(messages=len(batch))
            done += len(batch)
        return done

    async def _extract(self, batch: Sequence[Record], model: ChatModel) -> Extraction:
        messages = []
        for record in batch:
            message = Message.of(record)
            text = without_recalled(message.content)
            if text.strip() and message.role.lower() not in _NO_FACTS:
                messages.append(replace(message, content=text, id=record.id))
        return (
            await extract_batch(messages, model, self._prompts, self._memory.clock(), self._memory.zone)
            if messages
            else Extraction()
        )

    async def _mark(self, records: Sequence[Record], problem: Problem | None) -> None:
        for record in records:
            marks = {"digested": _DONE} if problem is None else {"digested": _RAW, "digest_problem": problem.reason}
            kept = {name: value for name, value in record.payload.items() if name != "digest_problem"}
            try:
                await self._memory.revise(record.id, payload={**kept, **marks})
            except NotFoundError:  # forgotten meanwhile
                continue

    # --- records -----------------------------------------------------------------------------------

    async def _take_up(self, record: Record, model: ChatModel) -> None:
        scope = record.scope
        target = self._memory.unlabelled().scoped(agent=scope.agent, session=scope.session)
        if record.kind is Kind.EXPERIENCE:
            problem = await self._redraw(target, record, model)
        else:
            problem = await self._refine(target, record, model)
        if problem is not None and problem.temporary:
            self._outage = problem
            return
        self._count(records=1, raw=int(problem is not None), problem=problem)
        if problem is not None:
            await self._mark([record], problem)

    async def _refine(self, target: Memory, record: Record, model: ChatModel) -> Problem | None:
        """Replace a raw record by its facts, or reconcile one that has not been reconciled."""
        told_at = record.payload.get("told_at")
        moment = record.happened_at if told_at is None else parse_time(told_at)
        ids = tuple(record.payload.get("messages", ()))
        statements: Sequence[Statement] = [
            Statement(text=record.content, happened_at=record.happened_at, told_at=moment)
        ]
        if "raw" in record.payload:
            said = [Message(content=record.content, happened_at=moment)]
            found = await extract_batch(said, model, self._prompts, self._memory.clock(), self._memory.zone)
            self._count(usage=found.usage)
            if found.problem is not None:
                return found.problem
            statements = found.statements
        fields = {"source": record.source or _SOURCE, "metadata": record.metadata}
        reconciler, holding = Reconciler(target, self._prompts, self._nearest, fields), list[str]()
        for each in statements:
            statement = replace(each, messages=ids, author=NOBODY, sources=(record.id,))  # whose authors are its own
            outcome = await reconciler.one(statement, model, taken_up=record)
            self._count(usage=outcome.usage)
            if outcome.problem is not None:
                return outcome.problem
            self._count(decision=outcome.decision)
            holding.append(outcome.record.id)
        await self._replace(target, record, holding)
        return None

    async def _redraw(self, target: Memory, record: Record, model: ChatModel) -> Problem | None:
        """Replace a raw trajectory by its experiences."""
        trajectory = record.payload.get("trajectory")
        if not isinstance(trajectory, Mapping):
            return Problem("the trajectory is not there")
        drawn = await draw_experiences(trajectory, model=model, prompts=self._prompts)
        self._count(usage=drawn.usage)
        if drawn.problem is not None:
            return drawn.problem
        fields = {"source": record.source or _SOURCE, "metadata": record.metadata, "derived_from": [record.id]}
        stored = [await store_lesson(target, lesson, fields) for lesson in drawn.lessons]
        self._count(experiences=len(stored))
        await self._replace(target, record, [each.id for each in stored])
        return None

    async def _replace(self, target: Memory, record: Record, holding: Sequence[str]) -> None:
        """Supersede a raw record by the first of the current records, unless there is none or it is that record."""
        for id in () if record.id in holding else holding:
            current = await target.get(id)
            if current is not None and current.current:
                await target.remember(again(current, supersedes=record.id), if_exists="replace")
                return
        kept = {name: value for name, value in record.payload.items() if name not in ("raw", "unreconciled")}
        await target.revise(record.id, payload={**kept, "digested": _DONE})

    def _count(
        self, *, decision: Decision | None = None, usage: Usage = NO_USAGE, problem: Problem | None = None, **more: int
    ) -> None:
        decisions = {} if decision is None else {str(decision): 1}
        self._report += DigestReport(decisions=decisions, usage=usage, problem=problem, **more)
