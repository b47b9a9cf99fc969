"""Where a thread stood when its last turn was stored, so that the next turn hands over only what is new.

This is remembered in the process alone. The store has the last word: whoever takes it up looks whether what the thread
ended with is still there.
"""

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from memorist.engine.base import Engine
from memorist.memory import Memory
from memorist.records.origins import NOBODY, Author

_MOST = 4096
"""Most threads of an opened memory of which this process remembers where they stood."""


@dataclass(frozen=True, slots=True)
class ThreadState:
    """Where a thread stood.

    Args:
        length: how many messages it had.
        mark: a digest of them, of this process.
        last: the id of the record with which they end.
        read: whose texts the next answer rests on, and whether the turn was answered.
    """

    length: int = 0
    mark: int = 0
    last: str | None = None
    read: tuple[Author, bool] = (NOBODY, True)

    def after(self, given: Sequence[Any], last: str, read: tuple[Author, bool] = (NOBODY, True)) -> "ThreadState":
        """Return where the thread stands with these messages, which begin with those that it had."""
        return ThreadState(len(given), _mark(given[self.length :], self.mark), last, read)


_THREADS: WeakKeyDictionary[Engine, OrderedDict[Hashable, ThreadState]] = WeakKeyDictionary()


def taken(memory: Memory, place: Hashable, given: Sequence[Any]) -> ThreadState:
    """Return where a thread stood if the messages given begin with those it had, else an empty one; and forget it.

    Until it is noted again, another call for the thread compares everything.
    """
    state = _THREADS.get(memory._engine, OrderedDict()).pop(place, ThreadState())
    same = 0 < state.length <= len(given) and _mark(given[: state.length]) == state.mark
    return state if same else ThreadState()


def note(memory: Memory, place: Hashable, state: ThreadState) -> None:
    """Remember where a thread stands."""
    threads = _THREADS.setdefault(memory._engine, OrderedDict())
    threads[place] = state
    while len(threads) > _MOST:
        threads.popitem(last=False)


def _mark(given: Iterable[Any], mark: int = 0) -> int:
    """Return a number that differs where one of the messages does, or its place; `mark` is that of those before."""
    for each in given:
        fields = each if isinstance(each, Mapping) else getattr(each, "__dict__", {})
        if (content := fields.get("content")) is None:
            mark = hash((mark, repr(each)))
            continue
        calls = fields.get("tool_calls")
        text = content if isinstance(content, str) else repr(content)
        names = fields.get("id"), fields.get("role"), fields.get("type"), fields.get("name")
        mark = hash((mark, *names, text, repr(calls) if calls else ""))
    return mark
