"""Standing values under exact keys, such as ``user.language_preference``."""

from collections.abc import Mapping
from typing import Any

from memorist.kinds.common import check_text
from memorist.records.origins import AuthorLike
from memorist.records.record import Kind, Record, Sources
from memorist.records.times import TimeLike
from memorist.verbs import Verbs


class Topics:
    """The topics of one scope: each has one value, replaced in place.

    Names are matched exactly, to the letter and the space. Nothing is embedded, nothing is guessed, and
    `recall` never finds a topic. The labels `agent` and `session` do not matter: what is set in one session
    stands in the next.

    ```python
    await memory.topics.set("user.language_preference", "Elixir")
    await memory.topics.get("user.language_preference")  # "Elixir"
    ```
    """

    def __init__(self, memory: Verbs) -> None:
        self._memory = memory.unlabelled()

    async def set(
        self,
        topic: str,
        value: str,
        *,
        source: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: TimeLike | None = None,
        author: AuthorLike | None = None,
        derived_from: Sources = (),
    ) -> Record:
        """Set the value of a topic, and return its record.

        An old value is replaced: the id stays, and `Memory.history` has the old value.

        Args:
            topic: the name.
            value: a text.
            source: who or what says so.
            metadata: the caller's own fields; they replace the old ones.
            expires_at: when it stops being remembered: a point in time, or seconds from now.
            author: as in `Draft`.
            derived_from: as in `Draft`.

        Raises:
            InvalidInputError: the topic or the value is blank, or a field is wrong.
        """
        return await self._memory.remember(
            check_text("value", value),
            kind=Kind.TOPIC,
            key=check_text("topic", topic),
            source=source,
            metadata=metadata,
            expires_at=expires_at,
            author=author,
            derived_from=derived_from,
            if_exists="replace",
        )

    async def get(self, topic: str, *, shared: bool = False) -> str | None:
        """Return the topic's value, or None.

        Args:
            topic: the name, exactly.
            shared: where the user has no such topic, look at the tenant's shared ones.

        Raises:
            InvalidInputError: the topic is blank.
        """
        record = await self.record(topic, shared=shared)
        return None if record is None else record.content

    async def record(self, topic: str, *, shared: bool = False) -> Record | None:
        """Return the topic's record, with its id, times and source, or None; otherwise as `get`."""
        return await self._memory.lookup(check_text("topic", topic), kind=Kind.TOPIC, shared=shared)

    async def list(self, prefix: str = "") -> dict[str, str]:
        """Return every topic that begins with `prefix` and its value, in the order of the names."""
        topics = self._memory.iterate(kind=Kind.TOPIC, order="key", key_prefix=prefix or None)
        return {record.key: record.content async for record in topics if record.key is not None}

    async def delete(self, topic: str) -> bool:
        """Forget a topic, and tell whether there was one.

        Raises:
            InvalidInputError: the topic is blank.
        """
        return await self._memory.forget(kind=Kind.TOPIC, key=check_text("topic", topic)) > 0
