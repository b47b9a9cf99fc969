"""Free texts, found by meaning."""

from typing import Unpack

from memorist.kinds.common import check_text, delete, find, keep, search
from memorist.kinds.options import RecordFields, SearchOptions
from memorist.records import Hit, Kind, Record
from memorist.verbs import Verbs

__all__ = ["Notes"]


class Notes:
    """The notes of one scope: anything worth keeping, in plain words.

    ```python
    await memory.notes.add("The staging database is wiped every Sunday night")
    [hit] = await memory.notes.search("when is staging wiped?", limit=1)
    ```
    """

    def __init__(self, memory: Verbs) -> None:
        self._memory = memory

    async def add(self, text: str, **fields: Unpack[RecordFields]) -> Record:
        """Keep a text, and return its record.

        Args:
            text: the note.
            **fields: what any record can have, as in `Memory.remember`: id, metadata, source, expires_at, …

        Raises:
            InvalidInputError: the text is blank, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        return await keep(self._memory, Kind.NOTE, check_text("text", text), fields)

    async def search(self, query: str, *, limit: int = 5, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Find the notes that matter to a query, best first.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most.
            **options: as in `Memory.recall`: where, since, min_similarity, shared, …

        Raises:
            InvalidInputError: an argument is wrong.
        """
        return await search(self._memory, Kind.NOTE, query, limit, options)

    async def get(self, id: str) -> Record | None:
        """Return the note with this id, or None."""
        return await find(self._memory, Kind.NOTE, id)

    async def delete(self, *ids: str) -> int:
        """Delete the notes named, and return how many existed. Unknown ids are ignored."""
        return await delete(self._memory, Kind.NOTE, ids)
