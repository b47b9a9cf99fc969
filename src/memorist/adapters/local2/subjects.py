"""The subjects of messages on the bus."""

RESPONSE_GENERATION = "response.generation"
"""An answer: answer, thinking, tool_calls, query, session_id, query_id."""
USER_FEEDBACK = "user.feedback"
"""A score for an answer: query_id (or the episode's id), score."""
TOOL_SCHEMA = "tool.schema"
"""A tool's schema, published once when the tool starts: tool, schema."""


def tool_request(name: str) -> str:
    """Return the subject of requests to the tool `name`: args."""
    return f"tool.request.{name}"


def tool_result(name: str) -> str:
    """Return the subject of results of the tool `name`: tool, result."""
    return f"tool.result.{name}"
