"""Who speaks before and after whom: the neighbours of a wall's messages in their conversations."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memorist.recall.vectors import VectorTable

Table: TypeAlias = Mapping[str, NDArray[Any]]
"""The columns of an index; neighbours are in "before" and "after", -1 for none."""


class Threads:
    """Links each message to its neighbours.

    Messages of a single speaker are no conversation: there the neighbours say little about a message.

    Attributes:
        in_order: whether all links hold; if not, `link` makes them anew.
        told: the codes of the sessions that are conversations, where only some of their messages are here; else None.
    """

    def __init__(self) -> None:
        self.in_order = True
        self.told: set[int] | None = None
        self._last_in: dict[int, int] = {}
        self._voice: dict[int, int] = {}
        self._dialogues: set[int] = set()
        self._blend = np.zeros(256, np.float32)
        """The length of each row's vector with half of its neighbours' added; not a number where it is not known."""

    def begin(self, table: Table, first: int, rows: int) -> None:
        """Make room for the rows from `first` on, which have no neighbours yet."""
        if rows > len(self._blend):
            longer = np.zeros(len(table["before"]), np.float32)
            longer[: len(self._blend)] = self._blend
            self._blend = longer
        table["before"][first:rows] = table["after"][first:rows] = -1
        self._blend[first:rows] = np.nan

    def change(self, table: Table, row: int) -> None:
        """Note that the vector of a row has changed."""
        for mixed in (row, table["before"][row], table["after"][row]):
            if mixed >= 0:
                self._blend[mixed] = np.nan

    def follow(self, table: Table, row: int) -> None:
        """Link a new message to the one before it in its conversation, if it is the newest message there."""
        session, voice = int(table["session"][row]), int(table["speaker"][row])
        if session not in self._dialogues:
            if self._voice.setdefault(session, voice) != voice:
                self.in_order = False
            return
        last = self._last_in.get(session)
        if last is not None:
            if (table["at"][last], table["number"][last]) > (table["at"][row], table["number"][row]):
                self.in_order = False
                return
            table["before"][row] = last
            table["after"][last] = row
            self._blend[last] = np.nan
        self._last_in[session] = row

    def link(self, table: Table, rows: int, message: int) -> None:
        """Link all messages anew.

        Args:
            table: the columns, as far as they hold rows.
            rows: how many rows there are.
            message: the code of a message in the column "kind".
        """
        table["before"][:] = table["after"][:] = -1
        linked = np.flatnonzero(table["alive"] & (table["session"] >= 0) & (table["kind"] == message))
        pairs = (table["session"][linked].astype(np.int64) << 32) + (table["speaker"][linked] + 1)
        pairs, _ = np.unique(pairs, return_counts=True)  # counting, or NumPy imports its masked arrays for 8 ms
        spoken, voice = pairs >> 32, (pairs & 0xFFFFFFFF) - 1
        sessions, voices = np.unique(spoken, return_counts=True)
        self._voice = dict(zip(spoken.tolist(), voice.tolist(), strict=True))  # who spoke may have been revised
        self._dialogues = set(sessions[voices > 1].tolist()) if self.told is None else self.told
        linked = linked[np.isin(table["session"][linked], np.fromiter(self._dialogues, np.int32))]
        linked = linked[np.lexsort((table["number"][linked], table["at"][linked], table["session"][linked]))]
        same = table["session"][linked[1:]] == table["session"][linked[:-1]]
        table["after"][linked[:-1][same]] = linked[1:][same]
        table["before"][linked[1:][same]] = linked[:-1][same]
        ends = np.append(~same, True) if len(linked) else np.zeros(0, bool)
        self._last_in = {int(table["session"][row]): int(row) for row in linked[ends]}
        self._blend[:rows] = np.nan
        self.in_order = True

    def blend_lengths(self, table: Table, rows: NDArray[np.intp], vectors: VectorTable) -> NDArray[np.float32]:
        """Return the length of each row's vector with half of its neighbours' added."""
        before, after = table["before"], table["after"]
        stale = rows[np.isnan(self._blend[rows])]
        for start in range(0, len(stale), 256):  # as many rows as fit in the core's cache
            some = stale[start : start + 256]
            mixed = vectors.take(some)
            for beside in (before[some], after[some]):
                mixed[beside >= 0] += 0.5 * vectors.take(beside[beside >= 0])
            self._blend[some] = np.linalg.norm(mixed, axis=1)
        lengths: NDArray[np.float32] = self._blend[rows]
        return lengths
