"""What the views share: checks, and the verbs restricted to one kind."""

from collections.abc import Mapping
from typing import Any, ClassVar, Unpack

from memorist.errors import InvalidInputError
from memorist.kinds.options import SearchOptions
from memorist.operations.arguments import text, unknown_arguments
from memorist.operations.requests import IfExists
from memorist.records.record import CommonFields, Hit, Kind, Record
from memorist.verbs import Verbs

_PAGE = 500


class RecordFields(CommonFields, total=False):
    """What any record can have, and what to do where its id is taken; see `Memory.remember`."""

    if_exists: IfExists


def check_text(name: str, value: object) -> str:
    """Return `value` if it is a text that is not blank.

    Raises:
        InvalidInputError: it is not; the text names the argument.
    """
    given = text(name, value)
    if not given.strip():
        raise InvalidInputError(f"{name} must not be blank")
    return given


async def find(memory: Verbs, kind: Kind, id: str) -> Record | None:
    """Return the record with this id if it is of this kind, superseded or not; else None."""
    record = await memory.get(id)
    return record if record is not None and record.kind == kind else None


async def delete(memory: Verbs, kind: Kind, ids: tuple[str, ...]) -> int:
    """Forget those of `ids` that are of this kind; return how many there were. Without ids, nothing is forgotten."""
    return sum([await memory.forget(*ids[start : start + _PAGE], kind=kind) for start in range(0, len(ids), _PAGE)])


class View:
    """One kind's records in one scope: what the views of all kinds have in common.

    Args:
        memory: the memory in that scope.
    """

    _kind: ClassVar[Kind]

    def __init__(self, memory: Verbs) -> None:
        self._memory = memory

    async def get(self, id: str) -> Record | None:
        """Return the record with this id if it is of this kind, superseded or not; else None."""
        return await find(self._memory, self._kind, id)

    async def delete(self, *ids: str) -> int:
        """Delete the records named that are of this kind, and return how many existed. Unknown ids are ignored."""
        return await delete(self._memory, self._kind, ids)

    async def _keep(
        self,
        content: str,
        fields: RecordFields,
        *,
        cue: str | None = None,
        payload: Mapping[str, Any] | None = None,
        supersedes: str | None = None,
    ) -> Record:
        """Remember one record of this kind, with the fields that the caller gave the view."""
        unknown_arguments(f"a record of kind {self._kind}", fields, RecordFields.__annotations__)
        record: Record = await self._memory.remember(
            content, kind=self._kind, cue=cue, payload=payload, supersedes=supersedes, **fields
        )
        return record

    async def _search(
        self, query: str, limit: int, options: SearchOptions, payload: Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """Recall records of this kind, with the options that the caller gave the view."""
        unknown_arguments("search", options, SearchOptions.__annotations__)
        return await self._memory.recall(query, limit=limit, kind=self._kind, payload=payload, **options)


class SearchedView(View):
    """A view whose records are searched by a query and nothing else."""

    async def search(self, query: str, *, limit: int = 5, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Find the records of this kind that matter to a query, best first.

        Args:
            query: a question or any text. A blank one finds nothing.
            limit: how many hits at most.
            **options: as in `Memory.recall`: where, since, as_of, min_similarity, shared, …

        Raises:
            InvalidInputError: an argument is wrong.
        """
        return await self._search(query, limit, options)
