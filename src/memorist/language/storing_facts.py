"""Extracting facts from messages and storing them, in one call that loses no message."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memorist.language.extracting import Extraction, dated, extract_facts, raw_statements
from memorist.language.models import NO_USAGE, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.reconciling import NEAREST, Decision, Reconciled, Reconciler
from memorist.language.steps import Given, Problem, messages_of, told, worst
from memorist.memory import Memory
from memorist.records.record import Record
from memorist.records.times import TimeLike


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The result of `keep_facts`.

    Args:
        outcomes: the outcome of each statement, in order.
        problem: why some were kept as they are, or added without being reconciled; None if there was no problem.
        usage: the calls, tokens and cost.
    """

    outcomes: tuple[Reconciled, ...] = ()
    problem: Problem | None = None
    usage: Usage = NO_USAGE

    @property
    def records(self) -> list[Record]:
        """The current facts, each once."""
        return list({each.record.id: each.record for each in self.outcomes}.values())

    def count(self, *decisions: Decision) -> int:
        """Return the number of statements with one of these decisions."""
        return sum(each.decision in decisions for each in self.outcomes)


async def keep_facts(
    memory: Memory,
    messages: Iterable[Given] | Given,
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    now: TimeLike | None = None,
    raw_if_none: bool = True,
    nearest: int = NEAREST,
    **fields: Any,
) -> Kept:
    """Extract the facts from messages and reconcile them with the stored ones.

    Messages that the model cannot process are stored as they are, with the reason under `raw` in the record's
    payload; `Digest` retries them. Recalled memories in a message are not extracted.

    Args:
        memory: the memory with the stored facts, in which new ones are stored.
        messages: the messages in order.
        model: without one, the users' messages are kept as they are, the same words once.
        prompts: by default the bundled ones.
        now: the date of messages without one; by default the present.
        raw_if_none: keep the texts as they are even if the model finds nothing to remember in them.
        nearest: the number of stored facts with which each statement is compared.
        **fields: what any record can have, as in `Memory.remember`.

    Raises:
        InvalidInputError: a message is invalid, a field is wrong, or the prompts cannot be read.
        EmbedderError: a text could not be embedded; the statements before it are stored.
    """
    given = dated(messages_of(messages, memory.zone), now)
    today = memory.clock() if now is None else now
    found = await extract_facts(given, model=model, prompts=prompts, now=today, zone=memory.zone)
    if given and not found.statements and raw_if_none:
        problem = told("Extracting facts", Problem("the model found nothing to remember"))
        found = Extraction(statements=tuple(raw_statements(given, problem.reason)), problem=problem, usage=found.usage)
    outcomes = await Reconciler(memory, prompts, nearest, fields).in_turn(found.statements, model)
    return Kept(
        outcomes=tuple(outcomes),
        problem=worst((found.problem, *(outcome.problem for outcome in outcomes))),
        usage=sum((outcome.usage for outcome in outcomes), found.usage),
    )
