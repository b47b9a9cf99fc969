"""OpenTelemetry's names for what is done to a memory, of its GenAI semantic conventions v0.1.0, in development."""

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

from memorist.operations import requests
from memorist.operations.answers import Context, Receipt
from memorist.operations.requests import Request
from memorist.records.record import Hit, Page, Record
from memorist.records.scope import Scope
from memorist.system.offload import offload

CAPTURE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The variable by which the texts of a program's users are put into its spans."""
OPERATIONS: Mapping[str, str] = {
    **dict.fromkeys(("recall", "context", "recent", "lookup", "browse", "get", "find", "values"), "search_memory"),
    **dict.fromkeys(("remember", "restore"), "create_memory"),
    **dict.fromkeys(("revise", "rate"), "update_memory"),
    **dict.fromkeys(("forget", "purge", "sweep"), "delete_memory"),
}
"""The operation that each verb is. The conventions have none for the others."""
_OPERATION, _RECORDS = "gen_ai.operation.name", "gen_ai.memory.records"
_NAMES = {
    "tenant": "gen_ai.memory.store.id",
    "user": "user.id",
    "agent": "gen_ai.agent.name",
    "session": "gen_ai.conversation.id",
}


def captures() -> bool:
    """Return whether the variable asks for texts in spans."""
    return os.environ.get(CAPTURE, "").strip().lower() in ("true", "span_only", "span_and_event")


def operation_of(request: Request[Any]) -> str | None:
    """Return the conventions' operation for a request, None where they have none."""
    if isinstance(request, requests.Remember) and request.if_exists == "replace":
        return "upsert_memory"
    return OPERATIONS.get(request.verb)


def asked(request: Request[Any], scope: Scope, *, names: bool, content: bool) -> dict[str, Any]:
    """Return what a span says of a request: with `names`, whose memory and which record it is about."""
    told: dict[str, Any] = {"memorist.verb": request.verb, _OPERATION: operation_of(request)}
    if names:
        told |= {attribute: getattr(scope, label) for label, attribute in _NAMES.items()}
        told["gen_ai.memory.record.id"] = getattr(request, "id", None)
    if content:
        told["gen_ai.memory.query.text"] = getattr(request, "query", None)
    return {name: value for name, value in told.items() if value is not None}


async def answered(request: Request[Any], answer: Any, *, content: bool) -> dict[str, Any]:
    """Return what a span says of an answer: how many records it is about, and with `content` the records."""
    if operation_of(request) is None:
        return {}
    if isinstance(request, requests.Values):
        return {"gen_ai.memory.record.count": len(answer)}
    found = list(_found(answer))
    given = answer.purged if isinstance(answer, Receipt) else answer
    count = given if isinstance(given, int) else len(getattr(request, "records", None) or found)
    told: dict[str, Any] = {"gen_ai.memory.record.count": count}
    return told | {_RECORDS: await offload(lambda: json.dumps(list(map(_plain, found))), found)} if content else told


def _found(answer: Any) -> Iterable[Any]:
    match answer:
        case Record():
            return [answer]
        case Page():
            return answer.records
        case Context():
            return answer.items
        case list():
            return [each for each in answer if isinstance(each, Record | Hit)]
    return ()


def _plain(found: Any) -> dict[str, Any]:
    record: Record = getattr(found, "record", found)
    told = {"content": record.content, "id": record.id, "metadata": dict(record.metadata)}
    return told | ({} if found is record else {"score": found.score})
