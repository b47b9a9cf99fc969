"""What the messages on the bus are called."""

__all__ = ["RESPONSE_GENERATION", "TOOL_SCHEMA", "USER_FEEDBACK", "tool_request", "tool_result"]

RESPONSE_GENERATION = "response.generation"
"""An answer that was given: answer, thinking, tool_calls, query, session_id, query_id."""
USER_FEEDBACK = "user.feedback"
"""What somebody thought of an answer: query_id (or the episode's id), score."""
TOOL_SCHEMA = "tool.schema"
"""What a tool can do, told once when it starts: tool, schema."""


def tool_request(name: str) -> str:
    """Return where calls of the tool `name` go: args."""
    return f"tool.request.{name}"


def tool_result(name: str) -> str:
    """Return where results of the tool `name` come from: tool, result."""
    return f"tool.result.{name}"
