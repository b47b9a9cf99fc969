"""The verbs of a memory: each makes a request of its arguments and hands it to the engine.

Those that are one request each are in `memorist.verbs.declared`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import partial
from typing import Any, Self, TypeVar, Unpack, cast, overload

from memorist.engine.base import Engine
from memorist.operations import requests
from memorist.operations.arguments import draft_of
from memorist.operations.calls import Call
from memorist.operations.lines import Lines, LoadReport, header, line_of, load_records
from memorist.operations.requests import Id, IfExists, Narrowing, Request
from memorist.records.origins import Door, TrustRules
from memorist.records.record import Draft, Fields, Kind, Order, Page, Record
from memorist.records.scope import Scope
from memorist.records.times import Clock, TimeLike
from memorist.records.zones import ZoneLike, zone_of
from memorist.secrets import Policy
from memorist.system.offload import offload
from memorist.verbs.declared import MemoryVerbs

T = TypeVar("T")
_PAGE = 1000
_LINES = 100
"""Records of an export that become lines at once."""


async def pages(
    ask: Callable[[requests.Browse], Awaitable[Page]], asked: requests.Browse
) -> AsyncIterator[list[Record]]:
    """Yield the records that a request finds, page by page, to the last one."""
    request: requests.Browse | None = asked
    while request is not None:
        found = await ask(request)
        yield found.records
        request = None if found.next is None else replace(request, cursor=found.next)


class Verbs(MemoryVerbs):
    """What one can ask of a memory in one scope; `memorist.Memory` is this and how it is opened.

    Args:
        engine: what answers.
        call: who asks: in which scope, and through which door.
    """

    def __init__(self, engine: Engine, call: Call) -> None:
        self._engine = engine
        self._call = call

    async def ask(self, request: Request[T]) -> T:
        """Return what the engine answers to a request in this scope; every verb is one call of this."""
        return await self._engine.answer(self._call, request)

    async def _ask(self, request: Request[T]) -> T:
        return await self.ask(request)

    async def prepare(self, request: Request[Any]) -> None:
        """Let the engine embed the texts of a request that will come soon. Nothing is stored."""
        await self._engine.prepare(self._call, request)

    # --- scope -------------------------------------------------------------------------------------

    @property
    def scope(self) -> Scope:
        """What this memory sees and where it writes."""
        return self._call.scope

    @property
    def clock(self) -> Clock:
        """Returns the present, in UTC. See `Settings.clock`."""
        return self._engine.clock

    @property
    def zone(self) -> tzinfo:
        """Whose days are asked for and told, and that of times which name none. See `scoped`."""
        return self._engine.zone if self._call.zone is None else self._call.zone

    @property
    def trust(self) -> TrustRules:
        """How far each author is trusted: `Settings.trust`; at a server, the server's rules."""
        return self._engine.trust

    @property
    def secrets(self) -> Policy | None:
        """What is done with secrets in texts, if the settings say: `Settings.secrets`; None at a server."""
        return self._engine.secrets

    @property
    def door(self) -> Door:
        """Where calls of this memory come in."""
        return self._call.door

    def scoped(
        self,
        *,
        user: str | None = None,
        tenant: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        zone: ZoneLike | None = None,
    ) -> Self:
        """Return the same memory seen from a narrower scope. Costs nothing.

        Args:
            user: the second wall.
            tenant: the first wall.
            agent: a label.
            session: a label.
            zone: the user's zone, such as Europe/Lisbon: whose days are asked for and told, and that of times which
                name none. By default that of this memory.

        Raises:
            ScopeError: another user or tenant than the one already set: a scoped memory cannot climb out.
            InvalidInputError: there is no such zone.
        """
        call = self._call.at(self.scope.narrowed(tenant=tenant, user=user, agent=agent, session=session))
        return type(self)(self._engine, call if zone is None else replace(call, zone=zone_of(zone)))

    def unlabelled(self) -> Self:
        """Return the same memory without the labels `agent` and `session`; the walls stay."""
        return self._at(Scope(self.scope.tenant, self.scope.user))

    def _at(self, scope: Scope) -> Self:
        return type(self)(self._engine, self._call.at(scope))

    # --- writing -----------------------------------------------------------------------------------

    @overload
    async def remember(  # type: ignore[overload-overlap]  # a text is one text, not an iterable of letters
        self,
        content: str | Draft | Mapping[str, Any],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[Id] | Id = ...,
        proposed: bool = ...,
        **fields: Unpack[Fields],
    ) -> Record: ...

    @overload
    async def remember(
        self,
        content: Iterable[str | Draft | Mapping[str, Any]],
        *,
        if_exists: IfExists = ...,
        forgetting: Iterable[Id] | Id = ...,
        proposed: bool = ...,
        **fields: Unpack[Fields],
    ) -> list[Record]: ...

    async def remember(
        self,
        content: str | Draft | Mapping[str, Any] | Iterable[str | Draft | Mapping[str, Any]],
        *,
        if_exists: IfExists = "error",
        forgetting: Iterable[Id] | Id = (),
        proposed: bool = False,
        **fields: Unpack[Fields],
    ) -> Record | list[Record]:
        """Store one record, or many at once: all of them or none. On disk when it returns.

        Args:
            content: a text, a `Draft`, a mapping of the fields of one, or several of these.
            if_exists: what to do where the id, or the key in this kind, is taken: raise ("error"), put the
                new record in the old one's place, keeping its id and history ("replace"), or leave the
                old one and return it ("ignore").
            forgetting: ids of records to forget in the same step, before; unknown ids are ignored.
            proposed: an agent asks for it: where the memory was opened with `confirm`, it waits for the user's yes.
            **fields: the fields of `Draft`, for texts given as such: kind, id, cue, key, metadata, payload,
                source, verified, rating, happened_at, expires_at, supersedes, author, derived_from, agent, session,
                vector.

        Returns:
            The record stored, or a list of them in the order given.

        Raises:
            InvalidInputError: a field is wrong.
            ConflictError: an id or key is taken and `if_exists` is "error", or the id is that of a record of
                another agent or session than this memory's.
            NotFoundError: the record to be superseded, or one that another is derived from, does not exist.
            ScopeError: an author is named that may not be named through this door.
            WaitingError: it waits for the user's yes; see `Admin.inbox`.
            EmbedderError: the text could not be embedded; nothing is stored.
        """
        single = isinstance(content, str | Draft | Mapping)
        drafts: Any = content
        if fields and (single or isinstance(content, Iterable)):
            drafts = [draft_of(each, fields) for each in ([content] if single else cast(Iterable[Any], content))]
        stored = await self.ask(
            requests.Remember(records=drafts, if_exists=if_exists, forgetting=cast(Any, forgetting), proposed=proposed)
        )
        return stored[0] if single else stored

    # --- reading -----------------------------------------------------------------------------------

    async def iterate(
        self,
        *,
        as_of: TimeLike | None = None,
        superseded: bool = False,
        order: Order = "oldest",
        shared: bool = False,
        everyone: bool = False,
        page: int = _PAGE,
        **narrowing: Unpack[Narrowing],
    ) -> AsyncIterator[Record]:
        """Yield every record that passes the filter, in order, read page by page.

        Args:
            as_of: the records that were current at this time.
            superseded: also those whose place another took.
            order: as in `browse`.
            shared: also the tenant's shared records.
            everyone: all users of the tenant; only where the scope has no user.
            page: how many are read at a time.
            **narrowing: which records; see `Narrowing`.
        """
        given = {
            "as_of": as_of,
            "superseded": superseded,
            "order": order,
            "shared": shared,
            "everyone": everyone,
            "limit": page,
        }
        async for records in pages(self.ask, requests.Browse.of(given | narrowing)):
            for record in records:
                yield record

    # --- export and load -----------------------------------------------------------------------------------

    async def export(self, *, everyone: bool = False) -> AsyncIterator[str]:
        """Yield every record of the scope, superseded ones too, as lines of JSON; the first names the format.

        `load` of the lines gives the same records. `everyone` exports all users of the tenant.
        """
        yield header()
        asked = requests.Browse.of(
            {"kind": tuple(Kind), "superseded": True, "everyone": everyone, "order": "oldest", "limit": _LINES}
        )
        async for records in pages(self.ask, asked):
            for line in await offload(partial(list[str], map(line_of, records)), records):
                yield line

    async def load(self, lines: Lines) -> LoadReport:
        """Store what `export` wrote, each record under its own user; records already there are left alone.

        Returns:
            How many were added and were there before, and the lines that could not be read, by number.

        Raises:
            FormatError: the first line is not that of an export, or of a newer version.
            ScopeError: a record of another user than this scope's.
        """
        return await load_records(lines, self.restore)
