"""The tools `search` and `fetch`, by which ChatGPT's connectors and deep research read a source."""

from typing import Any

from memorist.agents.core_tools import proposing
from memorist.agents.excerpts import MOST_TEXT, marked
from memorist.agents.turns import across_sessions
from memorist.errors import NotFoundError, shown
from memorist.framing.frame import frame, neutralise
from memorist.records.attribution import note_on
from memorist.records.record import Record
from memorist.serve.mcp.access import Access

READING = ("search", "fetch")
_RESULTS = 10
_TITLE = 80


class ConnectorTools:
    """The two tools of one memory; a method's docstring is what a model reads."""

    def __init__(self, access: Access) -> None:
        self._memory = proposing(across_sessions(access.memory))
        self._link = access.link

    async def search(self, query: str) -> dict[str, Any]:
        """Search the user's long-term memory, and return ids and titles of what may answer, best first.

        Args:
            query: what you want to know, in plain words.
        """
        hits = await self._memory.recall(query, limit=_RESULTS)
        return {"results": [self._result(hit.record) for hit in hits]}

    async def fetch(self, id: str) -> dict[str, Any]:
        """Return one memory with its whole text.

        Args:
            id: an id that search returned.
        """
        record = await self._memory.get(id)
        if record is None:
            raise NotFoundError(f"there is no memory {shown(id)}")
        told = {"source": record.source, "replaced_by": record.superseded_by, "date": f"{self._day(record)}"}
        text = frame(note_on(record) + marked(record.content, MOST_TEXT))
        metadata = {name: neutralise(value) for name, value in told.items() if value is not None}
        return {**self._result(record), "text": text, "metadata": metadata}

    def _result(self, record: Record) -> dict[str, str]:
        text = " ".join(neutralise(record.content).split())
        short = text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"
        return {"id": record.id, "title": f"{self._day(record)}: {short}", "url": self._link(record.id)}

    def _day(self, record: Record) -> str:
        return f"{record.read_in(self._memory.zone).at:%Y-%m-%d}"
