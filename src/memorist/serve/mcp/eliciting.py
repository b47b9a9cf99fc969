"""Asking the user through the client about what would wait in the inbox."""

import json
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
)
from mcp_types.version import LATEST_MODERN_VERSION, is_version_at_least

from memorist.errors import InvalidInputError, MemoristError, WaitingError
from memorist.framing.frame import neutralise
from memorist.memory import Memory
from memorist.operations.answers import Proposal
from memorist.serve.mcp.shapes import record_of

_QUESTION = "keep"
_FIRST = {"remember": "Remember this?", "revise": "Change a memory to this?", "forget": "Forget this for good?"}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {_QUESTION: {"type": "boolean", "title": "Yes", "default": True}},
    "required": [_QUESTION],
}


def can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    """Return whether a client can show its user a question, and repeat the call with the answer.

    That is the way of the protocol from 2026 on; before, a server had to hold the call open.
    """
    version = context.protocol_version
    if version is None or not is_version_at_least(version, LATEST_MODERN_VERSION):
        return False
    capabilities = context.session.client_capabilities
    offered = None if capabilities is None else capabilities.elicitation
    return offered is not None and (offered.form is not None or offered.url is None)


async def decided(
    user: Memory, params: CallToolRequestParams, waiting: WaitingError, *, structured: bool
) -> CallToolResult | InputRequiredResult:
    """Return the question to the user, or with the user's answer what came of it.

    The same call is the same proposal, so an answer can only be about what the call asks for, and no state travels.

    Args:
        user: the memory in which the user decides.
        params: the call's.
        waiting: says what waits.
        structured: whether the tool's answers have structured content.
    """
    answer = (params.input_responses or {}).get(_QUESTION)
    proposal = next((each for each in await user.admin.inbox() if each.id == waiting.proposal), None)
    if proposal is None:  # it was decided elsewhere since
        return _said(str(waiting), error=structured)
    if answer is None:
        message = f"{_FIRST[proposal.verb]}\n\n{neutralise(proposal.content)}"
        question = ElicitRequestFormParams(message=message, requested_schema=_SCHEMA)
        return InputRequiredResult(input_requests={_QUESTION: ElicitRequest(params=question)})
    if not isinstance(answer, ElicitResult) or answer.action == "cancel":
        return _said(str(waiting), error=structured)
    try:
        if answer.action == "accept" and (answer.content or {}).get(_QUESTION) is True:
            return await _approved(user, proposal, structured=structured)
        await user.admin.reject(proposal.id)
    except MemoristError as error:
        return _said(str(error), error=True)
    return _said("the user said no, so nothing was done; do not ask again", error=True)


async def _approved(user: Memory, proposal: Proposal, *, structured: bool) -> CallToolResult:
    records = await user.admin.approve(proposal.id)
    if proposal.verb == "forget":
        told: dict[str, Any] = {"id": proposal.ids[0] if proposal.ids else "", "deleted": True}
    elif not records:
        raise InvalidInputError("nothing was stored")
    else:
        told = record_of(records[0], user.zone) if structured else {"id": records[0].id}
    text = json.dumps(told, ensure_ascii=False)
    return CallToolResult(content=[TextContent(text=text)], structured_content=told if structured else None)


def _said(text: str, *, error: bool) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=error)
