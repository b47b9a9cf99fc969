"""What older versions stored otherwise, for migrations and for the exports that they wrote.

Migrations of released versions read it, so that what stands here is added to and not changed.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from memorist.records.kind import Kind
from memorist.records.record import Record

FORMS, FORMS_BEGIN = ("adk", "agentscope", "claude_session", "openai_agents", "strands"), "agent_framework/"
FIELDS = ("langgraph", "langgraph_checkpoint", "pydantic_ai")
"""What marks the payload of a topic that a framework kept for itself, when these were not yet of the kind state."""
SUMMARIES, SUMMARIES_DOOR = "agentscope/summary/", "agentscope"
"""How the key of a topic with AgentScope's summary of a session began, and its door, if doors were noted yet."""


def as_today(record: Record) -> Record:
    """Return a record that any version has exported as this version would have stored it."""
    if record.kind is not Kind.TOPIC:
        return record
    if (record.key or "").startswith(SUMMARIES) and record.origin.door in (SUMMARIES_DOOR, None):
        agent, _, session = str(record.key).removeprefix(SUMMARIES).rpartition("/")
        key, content, payload = summary_today(agent, session, record.content)
        record = replace(record, key=key, content=content, payload=payload)
    return replace(record, kind=Kind.STATE) if _of_framework(record.payload) else record


def summary_today(agent: str | None, session: str | None, summary: str) -> tuple[str, str, dict[str, Any]]:
    """Return the key, the content and the payload of the summary of a session of AgentScope."""
    labels = [quote(each or "", safe=" :@.,+-_") for each in (agent, session)]
    return SUMMARIES + "/".join(labels), json.dumps(summary, ensure_ascii=False), {"form": "agentscope"}


def _of_framework(payload: Mapping[str, Any]) -> bool:
    form = payload.get("form")
    if isinstance(form, str) and (form in FORMS or form.startswith(FORMS_BEGIN)):
        return True
    return any(isinstance(payload.get(each), Mapping) for each in FIELDS)
