"""Memory: how it is opened, and its kinds. The verbs are in `memorist.verbs`."""

from collections.abc import Callable, Generator
from importlib import import_module
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from memorist.config import Settings
from memorist.errors import InvalidInputError, UnknownArgumentError
from memorist.operations.arguments import handle
from memorist.operations.calls import Call
from memorist.records.origins import PYTHON, Door
from memorist.records.scope import DEFAULT_TENANT, Scope
from memorist.records.zones import ZoneLike, zone_of
from memorist.verbs import Verbs

if TYPE_CHECKING:
    from memorist import kinds
    from memorist.admin import Admin
    from memorist.embedders import EmbedderSpec
    from memorist.engine import Engine
    from memorist.engine.traced import Telemetry, Watch
    from memorist.indexes import Index
    from memorist.kinds import Conversation, Episodes, Experiences, Facts, Notes, Tools, Topics

__all__ = ["Memory"]


class _Kinds:
    """`memorist.kinds`, imported when one of its views is first asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module("memorist.kinds"), name)


if not TYPE_CHECKING:
    kinds = _Kinds()


def around(memory: "Memory", wrap: "Callable[[Engine], Engine]") -> "Memory":
    """Return the same memory with another engine around its own."""
    return Memory(wrap(memory._engine), memory._call)


class Memory(Verbs):
    """Long-term memory, seen from one scope.

    ```python
    async with Memory.open("agent.db") as memory:
        alice = memory.scoped(user="alice")
        await alice.remember("Prefers homestays when she travels")
        for hit in await alice.recall("where does she like to stay?", limit=5):
            print(f"{hit.score:.2f}  {hit.record.content}")
    ```

    Every verb sees exactly one tenant's one user: without a user the tenant's shared records, never
    everyone's. The labels `agent` and `session` narrow further where the scope has them. A verb may be
    called from any thread and event loop. All raise `ClosedError` when the memory is not open and
    `StoreError` when the store fails. A verb that raises has changed nothing, but for `purge`, `load` and, of
    `admin`, `sweep` and `reindex`, which take several steps: called again, they do those that are left.
    """

    def __init__(self, engine: "Engine | None" = None, call: Call | None = None, **unknown: Any) -> None:
        if engine is None or call is None or unknown:
            raise UnknownArgumentError("Memory.open(path) opens a memory, and Memory.connect(url) one at a server")
        super().__init__(engine, call)

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        tenant: str = DEFAULT_TENANT,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        embedder: "EmbedderSpec" = None,
        index: "str | Index | None" = None,
        keep_traces: str | float | None = None,
        key_from: str | None = None,
        confirm: bool | None = None,
        zone: ZoneLike | None = None,
        settings: Settings | None = None,
    ) -> "Memory":
        """Return a memory; ``async with`` or ``await`` opens it. The blocking client's is open already.

        Args:
            url: a file, ``sqlite:PATH``, ``:memory:``, or another store's URL; by default what
                MEMORIST_DB says, else ``memorist.db`` in the user's data folder.
            tenant: the first wall.
            user: the second wall; none means the tenant's shared records.
            agent: a label.
            session: a label.
            embedder: see `memorist.embedders.open_embedder`; by default the bundled model.
            index: the URL of a vector database (or an `Index`) that finds candidates in walls too large to be read, as
                ``qdrant://host`` or ``chroma:folder``; see `memorist.indexes.open_index`. None needs none.
            keep_traces: how long a trace of each `recall` and `context` is kept, as ``"7d"`` or in seconds; by default
                what MEMORIST_KEEP_TRACES says, else none is kept. `Admin.traces` returns them.
            key_from: where the key is kept that encrypts a SQLite file: ``file:PATH``, ``env:NAME``,
                ``command:COMMAND`` or ``keyring:SERVICE/NAME``; by default what MEMORIST_KEY_FROM says.
                Without a key the file is plain.
            confirm: whether what an agent asks for by its own tools waits in the inbox, `Admin.inbox`, for the user's
                yes; by default what MEMORIST_CONFIRM says, else nothing waits.
            zone: the zone of whoever the memory is about, such as Europe/Lisbon: "yesterday" is a day of it, and so are
                the days that a context tells; a time that names no zone is one of it. By default what MEMORIST_ZONE
                says, else this machine's. `scoped` sets it for a user.
            settings: everything else; by default read from the environment.

        Raises (on entering):
            StoreUnavailableError, StoreCorruptError, SchemaError: the store cannot be used.
            StoreKeyError: the key cannot be read, or does not fit the file.
            EmbedderMismatchError: it holds vectors of another embedder.
        """
        from memorist.engine.local import LocalEngine

        settings = (settings or Settings.load(url=url, key_from=key_from)).with_given(
            url, embedder, index, keep_traces, key_from, confirm, zone
        )
        return cls(LocalEngine(settings), Call(Scope(tenant, user, agent, session), PYTHON))

    @classmethod
    def connect(
        cls,
        url: str,
        *,
        token: str | None = None,
        tenant: str = DEFAULT_TENANT,
        user: str | None = None,
        agent: str | None = None,
        session: str | None = None,
        zone: ZoneLike | None = None,
        timeout: float = 60.0,
    ) -> "Memory":
        """Return a memory at a server of ``memorist serve``; every verb answers as after `open`.

        Args:
            url: the server's, as ``http://127.0.0.1:8765``.
            token: the secret that grants access; a server on this machine may need none.
            tenant: for an operator's token: which. Any other token is bound to its own.
            user: the second wall, where the token is not bound to a user.
            agent: a label.
            session: a label.
            zone: as for `open`, an IANA name; by default the server's.
            timeout: seconds to wait for an answer.

        Raises (on entering):
            StoreUnavailableError: there is no server there.
            ScopeError: the token is not valid, or is of another tenant or user.
        """
        from memorist.engine.remote import RemoteEngine

        known = None if zone is None else zone_of(zone)
        return cls(RemoteEngine(url, token, timeout), Call(Scope(tenant, user, agent, session), PYTHON, zone=known))

    async def __aenter__(self) -> Self:
        _check_loop()
        self._call = self._call.at(await self._engine.open(self._call))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __await__(self) -> Generator[Any, None, "Memory"]:
        return self.__aenter__().__await__()

    async def close(self) -> None:
        """Close the store, for every scope of this memory. A second call does nothing."""
        await self._engine.close()

    def traced(self, watch: "Watch | Telemetry | None" = None) -> "Memory":
        """Return the same memory with a span and a measure for each request, its views' included.

        Args:
            watch: what is told of each request; by default OpenTelemetry, with the program's providers.

        Raises:
            MissingExtraError: OpenTelemetry's API is not installed.
        """
        from memorist.engine.traced import TracedEngine

        return around(self, lambda engine: TracedEngine(engine, watch))

    def through(self, door: str | Door, *, token: str | None = None) -> "Memory":
        """Return the same memory; what comes through it has `door` as its door, in origins, traces and the audit log.

        The adapters name themselves so. At a server, the door stays that of the server.

        Args:
            door: its name, or a `Door`. It lies inside the door of this memory: it lets nothing in that this one does
                not.
            token: the id of the token that the caller brought, for the audit log.

        Raises:
            InvalidInputError: `door` is not a text.
        """
        inner = door if isinstance(door, Door) else Door(handle("door", door))
        return Memory(self._engine, self._call.through(inner, token))

    def __repr__(self) -> str:
        names = {label: getattr(self.scope, label) for label in ("tenant", "user", "agent", "session")}
        given = ", ".join(f"{label}={name!r}" for label, name in names.items() if name is not None)
        return f"Memory({given})"  # not the URL, which may hold a password

    @property
    def admin(self) -> "Admin":
        """What an operator does in this scope: users, traces, audit, retention, checks and backups."""
        from memorist.admin import Admin

        return Admin(self)

    # --- kinds -------------------------------------------------------------------------------------

    def conversation(self, session: str | None = None) -> "Conversation":
        """Return the messages of one session; by default the scope's."""
        return kinds.Conversation(self if session is None else self.scoped(session=session))

    @property
    def notes(self) -> "Notes":
        """Free texts, found by meaning."""
        return kinds.Notes(self)

    @property
    def topics(self) -> "Topics":
        """Standing values under exact keys."""
        return kinds.Topics(self)

    @property
    def episodes(self) -> "Episodes":
        """What happened: a question and its answer, or a task and how it went."""
        return kinds.Episodes(self)

    @property
    def facts(self) -> "Facts":
        """Statements that hold until another takes their place."""
        return kinds.Facts(self)

    @property
    def experiences(self) -> "Experiences":
        """Lessons, found by when to use them."""
        return kinds.Experiences(self)

    @property
    def tools(self) -> "Tools":
        """Tool calls that worked, guidelines and statistics."""
        return kinds.Tools(self)


def _check_loop() -> None:
    """Raise InvalidInputError on the event loop of another library than asyncio."""
    import asyncio  # which `import memorist` does not load

    try:
        asyncio.get_running_loop()
    except RuntimeError as error:
        raise InvalidInputError(
            "a memory needs asyncio; under another event loop such as trio, open `memorist.sync.Memory` and call it "
            "in a thread, for example with trio.to_thread.run_sync"
        ) from error
