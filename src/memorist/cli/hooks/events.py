"""The events of coding agents, and how each is answered."""

from typing import Any, NamedTuple


class Event(NamedTuple):
    """An event by its agent's own name.

    Args:
        does: "start" tells what always holds and what was last, "prompt" what the prompt is about; "keep" stores
            what the transcript has, "said" one message that the event itself holds.
        role: of "said": who said it.
    """

    does: str
    role: str = ""


EVENTS = {
    # Claude Code and Codex
    "SessionStart": Event("start"),
    "UserPromptSubmit": Event("prompt"),
    "PreCompact": Event("keep"),
    "Stop": Event("keep"),
    "SessionEnd": Event("keep"),
    # Cursor
    "sessionStart": Event("start"),
    "beforeSubmitPrompt": Event("said", "user"),
    "afterAgentResponse": Event("said", "assistant"),
}


def answer_of(event: str, text: str) -> dict[str, Any]:
    """Return the JSON that passes a text to an agent."""
    if event == "sessionStart":
        return {"additional_context": text}
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}
