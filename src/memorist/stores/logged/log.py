"""The commit log: one row for each commit, whose id is its turn. The first to take a turn has it.

A back end here has no transactions, but two things make one: a single row is stored whole or not at all, and adding
a row whose id is taken changes nothing. So a commit writes what it will do under the next turn, reads back whether the
turn is its own, does it, and strikes the text out of the row. Who finds a row that is not struck out does it again.
"""

import logging
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memorist.errors import StoreUnavailableError
from memorist.stores.logged.plans import Effects
from memorist.stores.logged.tables import Fields, Table

__all__ = ["Commit", "Log"]

_PIECE = 4_000_000
"""Characters of a commit's text in one row."""
_KEPT = 1000
"""Turns that stay after they are done: who is further behind than that reads everything anew."""
_TRIM_EVERY = 100
_POLL = 0.02

logger = logging.getLogger("memorist.stores.logged")


@dataclass(frozen=True, slots=True)
class Commit:
    """A turn that was taken: by whom, up to which epoch, and which walls it touches ("*" stands for all)."""

    turn: int
    token: str
    epoch: int
    walls: frozenset[str]
    pieces: int
    text: str | None

    @classmethod
    def of(cls, fields: Fields) -> "Commit":
        """Return the commit that a row describes."""
        walls = frozenset(fields["walls"].split())
        return cls(fields["turn"], fields["token"], fields["epoch"], walls, fields["pieces"], fields.get("effects"))


class Log:
    """The turns taken in a table, followed from `turn` on.

    Args:
        table: where the rows are.
        carry_out: does what a commit says.
        patience: how long another process may take to carry out its commit, in seconds; then it is taken for dead.
    """

    def __init__(self, table: Table, carry_out: Callable[[Effects], None], patience: float) -> None:
        self.turn = 0
        self.epoch = 0
        self._table = table
        self._carry_out = carry_out
        self._patience = patience
        self._unfinished: str | None = None

    @property
    def behind(self) -> bool:
        """Whether a commit of this process is stored but not carried out."""
        return self._unfinished is not None

    def begin(self) -> None:
        """Find the last turn, and finish what was begun and never carried out."""
        rows = self._table.scan(("turn", ">", 0))
        commits = sorted((Commit.of(each) for each in rows.values()), key=lambda each: each.turn)
        for commit in commits:
            self._follow(commit)

    def news(self) -> list[Commit] | None:
        """Return what others committed since; None where it is so much that everything must be read anew."""
        found: list[Commit] = []
        while True:
            rows = self._table.get([_name(self.turn), _name(self.turn + 1)])
            commits = {each["turn"]: Commit.of(each) for each in rows.values()}
            if self.turn and self.turn not in commits:
                self.begin()
                return None
            if self.turn + 1 not in commits:
                return found
            following = commits[self.turn + 1]
            self._follow(following)
            found.append(following)

    def append(self, effects: Effects, epoch: int, walls: frozenset[str]) -> bool:
        """Commit, and carry it out; False where somebody else had the turn.

        Once it has its turn it is stored: where it cannot be carried out, the next call does it.

        Raises:
            StoreUnavailableError: the connection broke, and whether it is stored can only be seen later.
        """
        turn, token = self.turn + 1, uuid.uuid4().hex
        text = effects.dump()
        pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
        for number, piece in enumerate(pieces[1:], 1):
            self._table.add(f"{token}.{number}", {"token": token, "piece": 1, "effects": piece})
        row = {
            "turn": turn, "token": token, "epoch": epoch, "walls": " ".join(sorted(walls)), "pieces": len(pieces),
            "effects": pieces[0],
        }  # fmt: skip
        self._add_surely(turn, row)
        if not self._is_mine(turn, token):
            self._table.delete_where(("token", "=", token))
            return False
        self._unfinished = token
        try:
            self._finish(Commit.of(row), effects)
        except Exception:
            logger.warning("A write is stored, but could not be carried out yet", exc_info=True)
        return True

    def _add_surely(self, turn: int, row: dict[str, Any]) -> None:
        """Add the row; where the answer got lost, ask whether it is there."""
        try:
            self._table.add(_name(turn), row)
        except Exception:
            try:
                there = self._is_mine(turn, row["token"])
            except Exception as error:
                raise StoreUnavailableError(
                    f"the connection broke in the middle of a write, which may or may not be stored: {error}"
                ) from error
            if not there:
                raise

    def _is_mine(self, turn: int, token: str) -> bool:
        """Whether the turn is this commit's, and nobody is so far ahead that it was taken long ago."""
        rows = self._table.get([_name(turn), _name(turn - 1)])
        tokens = {each["turn"]: each["token"] for each in rows.values()}
        return tokens.get(turn) == token and (turn == 1 or turn - 1 in tokens)

    def _follow(self, commit: Commit) -> None:
        """Go on to another's commit, when it is carried out; where nobody does, do it."""
        deadline = time.monotonic() + self._patience
        while commit.text is not None:
            if time.monotonic() >= deadline or commit.token == self._unfinished:
                self._finish(commit, Effects.load(commit.text + self._rest(commit)))
                return
            time.sleep(_POLL)
            rows = self._table.get([_name(commit.turn)])
            if not rows:  # done so long ago that it is not kept
                break
            commit = Commit.of(rows[_name(commit.turn)])
        self.turn, self.epoch = commit.turn, commit.epoch

    def _rest(self, commit: Commit) -> str:
        ids = [f"{commit.token}.{number}" for number in range(1, commit.pieces)]
        if not ids:
            return ""
        pieces = self._table.get(ids)
        return "".join(pieces[id]["effects"] for id in ids)

    def _finish(self, commit: Commit, effects: Effects) -> None:
        self._carry_out(effects)
        self._table.update({_name(commit.turn): {"effects": None}})
        if commit.pieces > 1:
            self._table.delete([f"{commit.token}.{number}" for number in range(1, commit.pieces)])
        if commit.turn % _TRIM_EVERY == 0 and commit.turn > _KEPT:
            self._table.delete_where(("turn", "<", commit.turn - _KEPT))
        self.turn, self.epoch = commit.turn, commit.epoch
        self._unfinished = None


def _name(turn: int) -> str:
    return f"{turn:016d}"
