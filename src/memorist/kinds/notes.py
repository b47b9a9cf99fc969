"""Free texts, found by meaning."""

from typing import Unpack

from memorist.kinds.common import RecordFields, SearchedView, check_text
from memorist.records.record import Kind, Record


class Notes(SearchedView):
    """The notes of one scope: anything worth keeping, in plain words.

    ```python
    await memory.notes.add("The staging database is wiped every Sunday night")
    [hit] = await memory.notes.search("when is staging wiped?", limit=1)
    ```
    """

    _kind = Kind.NOTE

    async def add(self, text: str, **fields: Unpack[RecordFields]) -> Record:
        """Keep a text, and return its record.

        Args:
            text: the note.
            **fields: what any record can have, as in `Memory.remember`: id, metadata, source, expires_at, …

        Raises:
            InvalidInputError: the text is blank, or a field is wrong.
            ConflictError: the id is taken and `if_exists` is "error".
        """
        return await self._keep(check_text("text", text), fields)
