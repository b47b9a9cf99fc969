"""The flows with which personal, task and tool memory record and retrieve."""

import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any, Self, TypeAlias

from memorist.adapters.agentscope.calls import call_key, read_call
from memorist.adapters.agentscope.models import as_chat_model, as_embedder
from memorist.adapters.opening import AnyMemory, behind, is_place
from memorist.errors import ClosedError, InvalidInputError
from memorist.framing.frame import neutralise
from memorist.kinds import ToolUse
from memorist.language import Decision, keep_experiences, keep_facts, keep_guidelines
from memorist.memory import Memory
from memorist.operations.arguments import MAX_LIMIT
from memorist.records.attribution import told_text
from memorist.records.record import Hit, Kind, Record
from memorist.records.scope import Scope
from memorist.system.locks import Lock

Result: TypeAlias = dict[str, Any]
"""`answer` (a text), `success`, and `metadata`."""

PERSONAL_ACKNOWLEDGEMENT = "I understand and will remember this information."
TASK_ACKNOWLEDGEMENT = "Task information recorded."

_TOP_K = 3
_CALLS_KEPT = 100
"""How many calls of each tool are kept."""


class FlowRunner:
    """Runs the flows on a memory, each in one workspace, which is a user of that memory.

    | flow | arguments | answers with |
    |---|---|---|
    | `summary_personal_memory` | `trajectories=[{"messages"}]` | `metadata["memory_list"]`: what is kept |
    | `retrieve_personal_memory` | `query`, `top_k` | the facts, a line for each |
    | `summary_task_memory` | `trajectories=[{"messages", "score"}]` | `metadata["memory_list"]` |
    | `retrieve_task_memory` | `query`, `top_k` | the experiences, separated by blank lines |
    | `add_tool_call_result` | `tool_call_results` | `metadata["recorded"]`: how many are fit to record |
    | `summary_tool_memory` | `tool_names` | `metadata["memory_list"]`: the guidelines |
    | `retrieve_tool_memory` | `tool_names="a,b"`, `top_k` | the guidelines |

    Args:
        memory: a file or URL, which the runner opens and closes, or an open memory.
        embedder: for a file or URL; ours or AgentScope's.
        model: a chat model, ours or AgentScope's.
        agent: a label of the records.
        session: a label of the records.
    """

    def __init__(
        self,
        memory: AnyMemory | None = None,
        *,
        embedder: Any = None,
        model: Any = None,
        agent: str | None = None,
        session: str | None = None,
    ) -> None:
        self._given = memory if memory is None or is_place(memory) else behind(memory, "agentscope")
        self._embedder = as_embedder(embedder)
        self._model = as_chat_model(model)
        self._labels: dict[str, Any] = {
            name: value for name, value in (("agent", agent), ("session", session)) if value
        }
        self._root: Memory | None = None
        self._recording = Lock()

    async def __aenter__(self) -> Self:
        if isinstance(self._given, Memory):
            self._root = self._given
        elif self._root is None:
            self._root = await Memory.open(self._given, embedder=self._embedder).through("agentscope")
        return self

    async def __aexit__(self, *raised: object) -> None:
        root, self._root = self._root, None
        if root is not None and root is not self._given:
            await root.close()

    async def async_execute(self, name: str, workspace_id: str | None = None, **arguments: Any) -> Result:
        """Run a flow in a workspace. Unknown arguments are ignored.

        Raises:
            ClosedError: used outside of ``async with``.
            InvalidInputError: there is no such flow, or an argument is missing or wrong.
            MemoristError: the store, the embedder or the chat model failed.
        """
        flow = _FLOWS.get(name)
        if flow is None:
            raise InvalidInputError(f"there is no flow {name!r}; available: {', '.join(_FLOWS)}")
        workspace = self._workspace(workspace_id)
        if name.startswith("retrieve_"):
            return await flow(self, workspace, arguments)
        async with self._recording:  # equal calls and facts are recognised by what is stored before
            return await flow(self, workspace, arguments)

    def _workspace(self, id: str | None) -> Memory:
        if self._root is None:
            raise ClosedError("the runner of the flows is not open; enter it with 'async with'")
        return self._root.unlabelled() if id is None else self._root.unlabelled().scoped(user=_user_of(id))

    # --- personal --------------------------------------------------------------------------------------

    async def _summary_personal(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        kept: list[Record] = []
        for trajectory in _required(arguments, "trajectories"):
            messages = _messages(trajectory)
            items = _items(messages)
            if items and messages[0] is not items[0]:  # what the agent thinks, which is not what a user says
                messages[0] = {**messages[0], "role": "assistant"}
            # Texts that the caller asked to keep are always kept. In a conversation the model may find nothing to keep.
            done = await keep_facts(
                workspace, messages, model=self._model, raw_if_none=bool(items) or self._model is None, **self._labels
            )
            kept += [each.record for each in done.outcomes if each.decision is not Decision.CONTAINED]
        return _result(memory_list=[_told(each) for each in kept])

    async def _retrieve_personal(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        hits = await workspace.facts.search(_required(arguments, "query"), limit=arguments.get("top_k", _TOP_K))
        texts = dict.fromkeys(neutralise(told_text(hit.record)) for hit in hits)
        return _result("\n".join(text for text in texts if text))

    # --- task ------------------------------------------------------------------------------------------

    async def _summary_task(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        trajectories: list[dict[str, Any]] = []
        for trajectory in _required(arguments, "trajectories"):
            messages, score = _messages(trajectory), trajectory.get("score", 1.0)
            items = _items(messages) if self._model is None else []
            parts = [[item] for item in items] or [messages]  # without a model, each item is an experience
            trajectories += [{"messages": part, "score": score} for part in parts]
        done = await keep_experiences(workspace, trajectories, model=self._model, **self._labels)
        return _result(memory_list=[_told(each) for each in done.records])

    async def _retrieve_task(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        query, limit = _required(arguments, "query"), arguments.get("top_k", _TOP_K)
        # several may have the same text
        hits = await workspace.experiences.search(query, limit=min(2 * limit, MAX_LIMIT))
        return _result("\n\n".join(_lessons(hits)[: max(limit, 0)]))

    # --- tool ------------------------------------------------------------------------------------------

    async def _add_calls(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        results, now = _required(arguments, "tool_call_results"), workspace.clock()
        calls = [call for given in results if (call := read_call(given, now)) is not None]
        for tool in dict.fromkeys(use.tool for use, _ in calls):
            known = {call_key(ToolUse.of(each)) for each in await workspace.tools.uses(tool, limit=_CALLS_KEPT)}
            for use, at in calls:
                if use.tool == tool and (key := call_key(use)) not in known:
                    known.add(key)
                    await workspace.tools.record(
                        None, tool, use.arguments, use.result, success=use.success, seconds=use.seconds,
                        tokens=use.tokens, score=use.score, happened_at=at, **self._labels,
                    )  # fmt: skip
            await workspace.tools.trim(tool, _CALLS_KEPT)
        return _result(recorded=len(calls))

    async def _summary_tool(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        tools = _names(_required(arguments, "tool_names"))
        written = [await keep_guidelines(workspace, tool, model=self._model) for tool in tools]
        records = [each.record for each in written if each is not None and each.record is not None]
        return _result(memory_list=[_told(each) for each in records])

    async def _retrieve_tool(self, workspace: Memory, arguments: Mapping[str, Any]) -> Result:
        found = {
            tool: neutralise(told_text(guideline))
            for tool in _names(_required(arguments, "tool_names"))
            if (guideline := await workspace.lookup(tool, kind=Kind.TOOL_GUIDELINE)) is not None
        }
        most = arguments.get("top_k")
        chosen = list(found.items())[: most if most is None else max(most, 0)]
        if not chosen:
            return _result()
        parts = [f"Tool: {tool}\n{guideline}" for tool, guideline in chosen]
        return _result(f"Retrieved {len(parts)} tool memory(ies):\n\n" + "\n---\n".join(parts))


_Flow: TypeAlias = Callable[[FlowRunner, Memory, Mapping[str, Any]], Awaitable[Result]]

_FLOWS: Mapping[str, _Flow] = {
    "summary_personal_memory": FlowRunner._summary_personal,
    "retrieve_personal_memory": FlowRunner._retrieve_personal,
    "summary_task_memory": FlowRunner._summary_task,
    "retrieve_task_memory": FlowRunner._retrieve_task,
    "add_tool_call_result": FlowRunner._add_calls,
    "summary_tool_memory": FlowRunner._summary_tool,
    "retrieve_tool_memory": FlowRunner._retrieve_tool,
}


def _user_of(workspace: object) -> str:
    """Return the user of a workspace: its name, or a digest of a name that no user may have."""
    name = str(workspace)
    try:
        Scope(user=name)
        if not re.fullmatch(r"workspace-[0-9a-f]{64}", name):  # so that no name is the digest of another
            return name
    except InvalidInputError:
        pass
    return f"workspace-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _required(arguments: Mapping[str, Any], name: str) -> Any:
    if name not in arguments:
        raise InvalidInputError(f"the flow needs the argument {name}")
    return arguments[name]


def _messages(trajectory: Mapping[str, Any]) -> list[dict[str, str]]:
    given = [
        (str(each.get("role", "user")), str(each.get("content") or "")) for each in _required(trajectory, "messages")
    ]
    return [{"role": role, "content": content} for role, content in given if content.strip()]


def _items(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return the acknowledged items of a recording, without the thinking; [] for a conversation."""
    acknowledged = (PERSONAL_ACKNOWLEDGEMENT, TASK_ACKNOWLEDGEMENT)
    return [each for each, reply in pairwise(messages) if reply["content"] in acknowledged]


def _names(given: Any) -> list[str]:
    """Return the names of tools in a list, or in a text with commas or line breaks between.

    The whole text is also one of the names, because a name may contain a comma.
    """
    if not isinstance(given, str):
        return list(dict.fromkeys(name for each in given if (name := str(each).strip())))
    parts = [part.strip() for part in re.split(r"[,\n]", given)]
    return [name for name in dict.fromkeys([given.strip(), *parts]) if name]


def _lessons(hits: Iterable[Hit]) -> list[str]:
    """Return the texts of experiences without duplicates."""
    best: dict[str, Record] = {}
    for hit in hits:
        best.setdefault(hit.record.content, hit.record)
    found = []
    for record in best.values():
        if text := neutralise(told_text(record)):
            alone = record.cue is None or record.cue == record.content
            found.append(text if alone else f"When to use: {neutralise(str(record.cue))}\nExperience: {text}")
    return found


def _told(record: Record) -> dict[str, Any]:
    return {"id": record.id, "content": record.content, "when_to_use": record.cue}


def _result(answer: str = "", **metadata: Any) -> Result:
    return {"answer": answer, "success": True, "metadata": metadata}
