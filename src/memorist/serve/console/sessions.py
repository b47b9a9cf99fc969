"""Sessions of browsers: a cookie, the token behind it, and the records that can be restored."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, tzinfo

from memorist.files.cases import Report
from memorist.records.record import Record
from memorist.serve.console.jobs import Job

COOKIE = "memorist"
_IDLE_SECONDS = 12 * 3600
_MOST_SESSIONS = 1000
_UNDO_SECONDS = 120


@dataclass(slots=True)
class Session:
    """The session of one browser. `secret` is its token; None if the server requires none.

    Every form must contain `csrf`, which no other site can know. `notice` is shown once, and times in `zone`.
    `archived` are the tenant, the user and the ids of the records that were archived last.
    `evaluated` is the last run of cases, without the texts that they should find; `job` is the import at hand.
    """

    id: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    secret: str | None = None
    notice: str | None = None
    zone: tzinfo = UTC
    archived: tuple[str, str | None, tuple[str, ...]] | None = None
    evaluated: Report | None = None
    job: Job | None = None
    seen: float = field(default_factory=time.monotonic)
    _forgotten: tuple[Sequence[Record], float] = ((), 0.0)

    def forgot(self, records: Sequence[Record]) -> None:
        """Keep forgotten records for two minutes in this process's memory, in the place of those before."""
        self._forgotten = records, time.monotonic() + _UNDO_SECONDS

    @property
    def forgotten(self) -> Sequence[Record]:
        """The records that can still be restored."""
        if self._forgotten[1] < time.monotonic():
            self.took_back()
        return self._forgotten[0]

    def took_back(self) -> None:
        """Drop the forgotten records, which have been restored."""
        self._forgotten = (), 0.0


class Sessions:
    """The sessions of this process; idle ones are removed, and the oldest if there are too many."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def find(self, id: str | None) -> Session | None:
        """Return the session that a cookie names, or None."""
        session = self._sessions.get(id or "")
        if session is None:
            return None
        if session.seen + _IDLE_SECONDS < time.monotonic():
            del self._sessions[session.id]
            return None
        session.seen = time.monotonic()
        self._sessions.move_to_end(session.id)
        return session

    def begin(self, zone: tzinfo, secret: str | None = None) -> Session:
        """Return a new session that shares nothing with an older one, and is shown times in a zone."""
        session = Session(secret=secret, zone=zone)
        self._sessions[session.id] = session
        while len(self._sessions) > _MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return session

    def end(self, session: Session) -> None:
        """Remove a session, and the files that it uploaded."""
        self._sessions.pop(session.id, None)
        if session.job is not None:
            session.job.discard()
