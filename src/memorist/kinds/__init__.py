"""The kinds of memory: typed views on one memory, with the words of each kind."""

from memorist.kinds.common import RecordFields
from memorist.kinds.conversation import Conversation, estimate_tokens
from memorist.kinds.episodes import Episode, Episodes
from memorist.kinds.experiences import Experiences
from memorist.kinds.facts import Facts
from memorist.kinds.message import Message
from memorist.kinds.notes import Notes
from memorist.kinds.options import SearchOptions
from memorist.kinds.tools import Tools, ToolStatistics, ToolUse
from memorist.kinds.topics import Topics

__all__ = [
    "Conversation",
    "Episode",
    "Episodes",
    "Experiences",
    "Facts",
    "Message",
    "Notes",
    "RecordFields",
    "SearchOptions",
    "ToolStatistics",
    "ToolUse",
    "Tools",
    "Topics",
    "estimate_tokens",
]
