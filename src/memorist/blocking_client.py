"""Blocking clients of asynchronous classes: the same names, signatures and docstrings, generated."""

import asyncio
import functools
import inspect
import os
import re
import sys
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar, get_args, get_origin

from memorist.errors import MemoristError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_AHEAD = 256
"""Most items that are fetched in one go; an iterator begins with one, for those who stop early."""
_DUNDERS = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}


# --- the loop ------------------------------------------------------------------------------------------


class _Background:
    """One event loop in one daemon thread, started on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="memorist", daemon=True)
                self._thread.start()
            return self._loop

    def is_here(self) -> bool:
        """Whether the caller is on the loop's own thread."""
        return threading.current_thread() is self._thread


_background = _Background()


def _start_anew() -> None:
    global _background
    _background = _Background()  # the thread of the old one stayed in the parent


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def run(call: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run the coroutine that `call` makes on the background loop, and return its result or raise its error.

    The coroutine runs with the caller's context variables. Ctrl-C while waiting cancels it.

    Raises:
        MemoristError: the caller is on the background loop, which would wait for itself forever.
    """
    if _background.is_here():
        raise MemoristError(
            "a callback of memorist.sync cannot make a blocking call, which would deadlock; "
            "make the call after the callback has returned, or in another thread"
        )
    if sys.is_finalizing():
        raise MemoristError("Python is shutting down; close the memory before the program ends")
    future = asyncio.run_coroutine_threadsafe(call(), _background.loop())
    try:
        return future.result()
    finally:
        if not future.done():
            future.cancel()


# --- iterators -----------------------------------------------------------------------------------------


def _iterate(items: AsyncIterator[_T]) -> Iterator[_T]:
    """Yield what `items` does, fetched in small groups; `items` is closed when this generator ends or is collected."""
    ahead, ended, error = 1, False, None
    try:
        while not ended:
            some, ended, error = run(functools.partial(_fetch, items, ahead))
            yield from some
            ahead = min(2 * ahead, _AHEAD)
        if error is not None:
            raise error
    finally:
        _close(items)


async def _fetch(items: AsyncIterator[_T], count: int) -> tuple[list[_T], bool, Exception | None]:
    """Return up to `count` items, whether that was all, and the error that came after them."""
    some: list[_T] = []
    try:
        while len(some) < count:
            some.append(await anext(items))
    except StopAsyncIteration:
        return some, True, None
    except Exception as error:  # the error is not lost: it is raised after the items before it were yielded
        return some, True, error
    return some, False, None


def _close(items: Any) -> None:
    if not hasattr(items, "aclose") or sys.is_finalizing():
        return
    if _background.is_here():  # the garbage collector may let an iterator go on any thread
        _background.loop().create_task(items.aclose())
    else:
        run(items.aclose)


async def _pull(items: Iterator[_T]) -> AsyncIterator[_T]:
    """Yield the items of a plain iterator, which may block and may come from a blocking client."""
    while some := await asyncio.to_thread(lambda: list(islice(items, _AHEAD))):
        for each in some:
            yield each


# --- the blocking client -------------------------------------------------------------------------------


class BlockingClient:
    """Base of the blocking clients; ``class Memory(BlockingClient, of=asynchronous.Memory)`` is a whole one.

    Args:
        *args: an object of the asynchronous class, or the arguments to make one.
    """

    _of: ClassVar[type]
    _clients: ClassVar[dict[type, type["BlockingClient"]]] = {}

    def __init_subclass__(cls, of: type | None = None) -> None:
        if of is None:  # a user's class that is derived from a blocking client
            return
        cls._of = of
        cls._clients[of] = cls
        cls.__doc__ = blocking_text(of.__doc__ or "")
        members = {name: member for base in reversed(of.__mro__[:-1]) for name, member in vars(base).items()}
        for name, member in members.items():
            new_name = blocking_name(name)
            if new_name is not None and new_name not in vars(cls):
                setattr(cls, new_name, _blocking(name, member))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) == 1 and not kwargs and isinstance(args[0], self._of):
            self._async: Any = args[0]
        else:
            self._async = self._of(*map(_inward, args), **{name: _inward(value) for name, value in kwargs.items()})

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._async!r})"


def asynchronous(value: Any) -> Any:
    """Return the asynchronous object behind a blocking client; any other value as it is."""
    return value._async if isinstance(value, BlockingClient) else value


def blocking(function: Callable[_P, Coroutine[Any, Any, _T]]) -> Callable[_P, _T]:
    """Return the blocking version of an async function; like `BlockingClient`, it takes and gives blocking objects."""
    client = _blocking_call(function)
    client.__doc__ = blocking_text(function.__doc__ or "")
    return client


def blocking_in_memory(function: Callable[..., Coroutine[Any, Any, _T]]) -> Callable[..., _T]:
    """Return the blocking version of an async function of a memory; no type can say that its memory blocks."""
    return blocking(function)


def blocking_method(
    function: Callable[Concatenate[Any, _P], Coroutine[Any, Any, _T]],
) -> Callable[Concatenate[Any, _P], _T]:
    """Return the blocking version of an async method, for a class that has both."""
    return blocking(function)


def blocking_name(name: str) -> str | None:
    """Return what a member is called in the blocking client; None for a member that is not part of the interface."""
    return _DUNDERS.get(name) or (None if name.startswith("_") else name)


def blocking_text(text: str) -> str:
    """Return a text about asynchronous calls, written for blocking ones."""
    return re.sub(r"\b(async|await) +", "", text)


def _blocking(name: str, member: Any) -> Any:
    """Return the blocking version of a member of the asynchronous class."""
    if isinstance(member, property):
        getter = member.fget
        return property(functools.wraps(getter)(lambda self: _outward(getter(self._async)))) if getter else member
    if isinstance(member, classmethod):
        function = member.__func__

        @functools.wraps(function)
        def constructor(cls: type[BlockingClient], /, *args: Any, **kwargs: Any) -> Any:
            made = function(cls._of, *map(_inward, args), **kwargs)
            run(made.__aenter__)
            return cls(made)

        return classmethod(constructor)
    if not inspect.isfunction(member):
        return member
    if name == "__aenter__":
        return functools.wraps(member)(lambda self: self)  # it is open already
    return _blocking_call(member)


def _blocking_call(function: Callable[..., Any]) -> Callable[..., Any]:
    signature = inspect.signature(function)
    hints = {each.name: (each.annotation, *get_args(each.annotation)) for each in signature.parameters.values()}
    # Where the asynchronous method takes an asynchronous iterator, the blocking caller has a plain one.
    lazy = {name for name, kinds in hints.items() if any(get_origin(each) is AsyncIterator for each in kinds)}
    asynchronous = inspect.iscoroutinefunction(function)
    generating = inspect.isasyncgenfunction(function)

    @functools.wraps(function)
    def client(*args: Any, **kwargs: Any) -> Any:
        if lazy:  # only in this case, because the check takes a tenth of the time of a short call
            bound = signature.bind(*args, **kwargs)
            for name in lazy & bound.arguments.keys():
                items = bound.arguments[name]
                if isinstance(items, Iterable) and not isinstance(items, AsyncIterable | list | tuple | str):
                    bound.arguments[name] = _pull(iter(items))  # the loop is not held up by reading it
            args, kwargs = bound.args, bound.kwargs
        given = {name: _inward(value) for name, value in kwargs.items()}
        call = functools.partial(function, *map(_inward, args), **given)
        if generating:
            return _iterate(call())
        return _outward(run(call) if asynchronous else call())

    return client


def _inward(value: Any) -> Any:
    """Return an argument as the asynchronous class takes it; the caller's iterators run on its own thread."""
    return list(value) if isinstance(value, Iterator) else asynchronous(value)


def _outward(value: Any) -> Any:
    """Return a result as the blocking caller wants it."""
    client = BlockingClient._clients.get(type(value))
    return value if client is None else client(value)
