"""Messages set aside by conversation, for formats that have a conversation in one place."""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from memorist.imports.staged import Staged
from memorist.records.record import Record


class Conversations:
    """What a format has of each message, in a file without a name; in memory are eight bytes a message."""

    def __init__(self) -> None:
        self._staged = Staged()
        self._places: dict[tuple[str | None, str | None], array[int]] = defaultdict(lambda: array("Q"))

    def add(self, record: Record, message: Any) -> None:
        """Set a message aside, as JSON, behind those of its conversation."""
        self._places[record.scope.agent, record.scope.session].append(self._staged.file.tell())
        self._staged.file.write(json.dumps(message).encode() + b"\n")

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, labels: object) -> bool:
        return labels in self._places

    def __iter__(self) -> Iterator[tuple[str | None, str | None, Iterator[Any]]]:
        """Yield each conversation's agent, session and messages; the file is released behind the last."""
        for (agent, session), places in self._places.items():
            yield agent, session, map(self._read, places)
        self._staged.close()

    def _read(self, place: int) -> Any:
        self._staged.file.seek(place)
        return json.loads(self._staged.file.readline())
