"""The events of coding agents, and how each is answered."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple


class Event(NamedTuple):
    """An event by its agent's own name.

    Args:
        does: "start" tells what always holds and what was last, "prompt" what the prompt is about, "keep" stores what
            was said.
        says: of "keep": who said what the event itself holds, by field; empty where it names a transcript.
    """

    does: str
    says: Mapping[str, str] = MappingProxyType({})


_COPILOT = "copilot."
EVENTS = {
    # Claude Code and Codex, VS Code, and the plugin for OpenCode
    "SessionStart": Event("start"),
    "UserPromptSubmit": Event("prompt"),
    "PreCompact": Event("keep"),
    "Stop": Event("keep"),
    "SessionEnd": Event("keep"),
    # Cursor
    "sessionStart": Event("start"),
    "beforeSubmitPrompt": Event("keep", {"prompt": "user"}),
    "afterAgentResponse": Event("keep", {"text": "assistant"}),
    # Gemini CLI, and its SessionStart
    "BeforeAgent": Event("prompt"),
    "AfterAgent": Event("keep", {"prompt": "user", "prompt_response": "assistant"}),
    # Windsurf
    "pre_user_prompt": Event("keep", {"user_prompt": "user"}),
    "post_cascade_response": Event("keep", {"response": "assistant"}),
}
# VS Code and Copilot CLI share hooks that have these of Claude Code's events.
EVENTS |= {f"{_COPILOT}{name}": EVENTS[name] for name in ("SessionStart", "UserPromptSubmit", "PreCompact", "Stop")}


def answer_of(event: str, text: str) -> dict[str, Any]:
    """Return the JSON that passes a text to an agent."""
    if event == "sessionStart":
        return {"additional_context": text}
    told = {"additionalContext": text}
    answer = {"hookSpecificOutput": {"hookEventName": event.removeprefix(_COPILOT), **told}}
    return {**told, **answer} if event.startswith(_COPILOT) else answer  # Copilot CLI reads the one, VS Code the other
