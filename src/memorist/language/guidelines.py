"""Guidelines for a tool, written from its calls; the statistics in them are computed, never a model's."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memorist.kinds import ToolUse
from memorist.kinds.tools import mean
from memorist.language.models import NO_USAGE, ChatModelSpec, Usage
from memorist.language.prompting import Prompts
from memorist.language.steps import NO_MODEL, TEXT, Problem, ask_texts, object_of
from memorist.memory import Memory
from memorist.records.record import Record

NEWEST = 30
"""The number of calls that a model sees."""
_LONGEST = 500
"""Most characters of a call's arguments, and of its result."""
_FORM = object_of(guidelines=TEXT)
_HEADING = "## Statistics"
_WORKED, _FAILED = "Worked with:", "Failed with:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidelines:
    """Guidelines for a tool.

    Args:
        text: the guidelines, ending in the statistics.
        problem: why a model did not write it; None if one did.
        usage: the calls, tokens and cost.
        record: the stored record, for `keep_guidelines`.
    """

    text: str
    problem: Problem | None = None
    usage: Usage = NO_USAGE
    record: Record | None = None


async def write_guidelines(
    tool: str,
    uses: Iterable[ToolUse],
    *,
    model: ChatModelSpec | None = None,
    prompts: Prompts | None = None,
    previous: str | None = None,
) -> Guidelines:
    """Write the guidelines of a tool.

    Args:
        tool: its name.
        uses: its calls, newest first; the model sees some, the statistics count all.
        model: without one, the previous guidelines are kept; if there are none, the text lists which arguments worked
            and which failed.
        prompts: by default the bundled ones.
        previous: the current guidelines.
    """
    calls = list(uses)
    body = (previous or "").partition(_HEADING)[0].strip()
    if body.startswith((_WORKED, _FAILED)):  # examples, and the new ones are better
        body = ""
    if model is None:
        return Guidelines(text=_ending(body or _examples(calls), calls), problem=NO_MODEL)
    data = {"tool": tool, "guidelines": body, "calls": [_shown(call) for call in calls[:NEWEST]]}
    asked = await ask_texts(
        "Writing guidelines", model, "guidelines", data, _FORM, prompts, sources=[json.dumps(data, ensure_ascii=False)],
        read=lambda found: [found["guidelines"].partition(_HEADING)[0].strip()],
    )  # fmt: skip
    text = asked.data[0] if asked.problem is None else body or _examples(calls)
    return Guidelines(text=_ending(text, calls), problem=asked.problem, usage=asked.usage)


async def keep_guidelines(
    memory: Memory, tool: str, *, model: ChatModelSpec | None = None, prompts: Prompts | None = None, newest: int = 1000
) -> Guidelines | None:
    """Write the guidelines of a tool from its stored calls, and store them; None for a tool without calls.

    They are rewritten only if there are new calls; otherwise the current guidelines are returned.

    Args:
        memory: the memory with the calls, in which the guidelines are stored.
        tool: its exact name.
        model: without one, see `write_guidelines`. If a model failed, the next call tries again.
        prompts: by default the bundled ones.
        newest: the most calls in the statistics.
    """
    records = await memory.tools.uses(tool, limit=newest)
    if not records:
        return None
    standing = await memory.unlabelled().lookup(tool, kind="tool_guideline")
    # a fingerprint, since one call may have replaced another while their number stays
    seen = hashlib.sha256(" ".join(sorted(each.id for each in records)).encode()).hexdigest()
    known = {} if standing is None else standing.payload
    if standing is not None and known.get("calls") == seen and (model is None or known.get("by_model")):
        return Guidelines(text=standing.content, record=standing)
    previous = None if standing is None else standing.content
    written = await write_guidelines(
        tool, [ToolUse.of(each) for each in records], model=model, prompts=prompts, previous=previous
    )
    record = await memory.unlabelled().remember(
        written.text,
        kind="tool_guideline",
        key=tool,
        payload={"calls": seen, "by_model": written.problem is None},
        derived_from=records,
        metadata=None if standing is None else standing.metadata,
        if_exists="replace",
    )
    return replace(written, record=record)


def statistics_text(uses: Sequence[ToolUse]) -> str:
    """Return the exact statistics of calls, for the end of guidelines; "n/a" for a missing measurement.

    A call without a score counts 1 in the average score if it succeeded, else 0.
    """
    means = (
        ("Success Rate", "{:.2%}", mean(float(use.success) for use in uses)),
        ("Average Score", "{:.3f}", mean(float(use.success) if use.score is None else use.score for use in uses)),
        ("Average Time Cost", "{:.3f}s", mean(use.seconds for use in uses)),
        ("Average Token Cost", "{:.1f}", mean(use.tokens for use in uses)),
    )
    told = (f"- **{name}**: {'n/a' if value is None else form.format(value)}" for name, form, value in means)
    return "\n".join((_HEADING, *told))


def _ending(body: str, calls: Sequence[ToolUse]) -> str:
    return f"{body}\n\n{statistics_text(calls)}" if body else statistics_text(calls)


def _examples(calls: Sequence[ToolUse]) -> str:
    """Return the newest call that succeeded and the newest that failed, as guidelines without a model."""
    worked = next((call for call in calls if call.success), None)
    failed = next((call for call in calls if not call.success), None)
    lines = []
    if worked is not None:
        lines.append(f"{_WORKED} {_short(worked.arguments)}")
    if failed is not None:
        lines.append(f"{_FAILED} {_short(failed.arguments)}: {_short(failed.result)}")
    return "\n".join(lines)


def _shown(call: ToolUse) -> dict[str, Any]:
    measured = {"seconds": call.seconds, "tokens": call.tokens, "score": call.score}
    return {
        "arguments": _short(call.arguments),
        "result": _short(call.result),
        "success": call.success,
        **{name: value for name, value in measured.items() if value is not None},
    }


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
