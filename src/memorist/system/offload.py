"""Work on large inputs, done on a thread beside the event loop, so that a large text does not delay other requests."""

import os
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_T = TypeVar("_T")
LARGE = 16 * 1024
"""Characters and elements from which on work leaves the event loop; less takes a few milliseconds."""
_THREADS = 2
"""Large inputs have threads of their own, so that they do not occupy those with which the store reads."""
_TEXTS = (str, bytes, bytearray)
_COLLECTIONS = (list, tuple, set, frozenset)
_FIELDS = ("content", "cue", "metadata", "payload")


@cache
def _threads() -> "ThreadPoolExecutor":
    # imported here, as asyncio below, because small programs never need them
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(_THREADS, "memorist-offload")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # a forked process has none of its parent's threads


async def offload(work: Callable[[], _T], *inputs: Any) -> _T:
    """Return what `work` returns; where its inputs are large it runs on a thread, in this task's context.

    A caller that is cancelled does not wait; the work is completed and its result is dropped.

    Args:
        work: computes, and touches nothing that the event loop touches meanwhile.
        inputs: what the work grows with: texts, collections, drafts, records and hits.
    """
    if not is_large(inputs):
        return work()
    import asyncio
    from contextvars import copy_context

    return await asyncio.get_running_loop().run_in_executor(_threads(), copy_context().run, work)


def is_large(value: Any) -> bool:
    """Return whether a value holds `LARGE` characters and elements; the check takes no longer for larger values."""
    held, waiting = 0, [value]
    while waiting and held < LARGE:
        each = waiting.pop()
        if isinstance(each, _TEXTS):
            held += len(each)
        elif each is None or isinstance(each, int | float):
            continue
        elif isinstance(each, _COLLECTIONS):
            held += len(each)
            for found in islice(each, LARGE):
                if isinstance(found, str):  # most are, and need no turn of their own
                    held += len(found)
                else:
                    waiting.append(found)
        elif hasattr(each, "content"):
            waiting += [found for name in _FIELDS if (found := getattr(each, name, None))]
        elif hasattr(each, "record"):  # of a hit or an item, all that grows
            waiting.append(each.record)
        elif isinstance(each, Mapping):
            held += len(each)
            waiting += _some(each) + _some(each.values())
        elif hasattr(each, "nbytes"):  # an array
            held += each.size
        elif hasattr(each, "__dataclass_fields__"):  # contexts, pages
            waiting += [getattr(each, name) for name in each.__dataclass_fields__]
    return held >= LARGE


def _some(values: Iterable[Any]) -> list[Any]:
    return list(islice(values, LARGE))
