"""Who is at the browser: a cookie, what it was let in with, and what it may still take back."""

import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass, field

from memorist.records import Record

__all__ = ["COOKIE", "Forgotten", "Session", "Sessions"]

COOKIE = "memorist"
_IDLE_SECONDS = 12 * 3600
_MOST = 1000
_UNDO_SECONDS = 120


@dataclass(frozen=True, slots=True)
class Forgotten:
    """A record that was just forgotten, kept in this process's memory alone, to be taken back for a while."""

    record: Record
    until: float


@dataclass(slots=True)
class Session:
    """One browser. `secret` is the token it was let in with; None where the server asks for none.

    `csrf` must come with every form: no other site can know it.
    """

    id: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    secret: str | None = None
    notice: str | None = None
    seen: float = field(default_factory=time.monotonic)
    _forgotten: Forgotten | None = None

    def forgot(self, record: Record) -> None:
        """Keep a forgotten record for a while, in the place of the one before."""
        self._forgotten = Forgotten(record, time.monotonic() + _UNDO_SECONDS)

    @property
    def forgotten(self) -> Record | None:
        """The record that can still be taken back."""
        if self._forgotten is not None and self._forgotten.until < time.monotonic():
            self._forgotten = None
        return None if self._forgotten is None else self._forgotten.record

    def took_back(self) -> None:
        """Let the forgotten record go: it is stored again."""
        self._forgotten = None

    def take_notice(self) -> str | None:
        """Return what is to be told once."""
        notice, self.notice = self.notice, None
        return notice


class Sessions:
    """The browsers of this process; idle ones go, and the oldest where there are too many."""

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

    def begin(self, secret: str | None = None) -> Session:
        """Return a new session; nothing of an older one goes on in it."""
        session = Session(secret=secret)
        self._sessions[session.id] = session
        while len(self._sessions) > _MOST:
            self._sessions.popitem(last=False)
        return session

    def end(self, session: Session) -> None:
        """Forget a session."""
        self._sessions.pop(session.id, None)
