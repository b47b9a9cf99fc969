"""Several processes that answer on one socket: started, supervised, and replaced without a failed request.

The parent holds the socket and answers nothing itself. A worker is told the socket's number, says `READY` on its
standard output when it answers, and ends when its standard input does, so that no worker outlives its parent.
"""

import asyncio
import logging
import os
import signal
import socket
import threading
from asyncio.subprocess import Process
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from memorist.errors import InvalidInputError, MemoristError

READY = "ready"
_PAUSE = 1.0
"""Seconds before a worker that ended by itself is replaced."""

log = logging.getLogger("memorist.serve")


async def supervise(
    command: Sequence[str],
    listening: socket.socket,
    count: int,
    answering: Callable[[], None],
    *,
    inherited: Sequence[int] = (),
) -> None:
    """Run `count` processes of a command, until this process receives SIGTERM or SIGINT.

    On SIGHUP each is replaced in turn: the next one ends when its successor answers. One that dies is replaced.

    Args:
        command: the program and its arguments; the number of the socket is added at its end.
        listening: the socket that all answer on.
        count: how many.
        answering: called once, when all answer.
        inherited: the numbers of other files that each worker gets.

    Raises:
        InvalidInputError: this system cannot hand a socket to another process.
        MemoristError: a worker did not start; its standard error says why.
    """
    hangup = getattr(signal, "SIGHUP", None)
    if hangup is None:  # as on Windows, where a process hands no socket on
        raise InvalidInputError("several workers need a POSIX system; run the server with one worker")
    command, files = [*command, str(listening.fileno())], (listening.fileno(), *inherited)
    stop, replace = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number, event in ((signal.SIGINT, stop), (signal.SIGTERM, stop), (hangup, replace)):
        loop.add_signal_handler(number, event.set)
    workers: list[Process] = []
    try:
        async with asyncio.TaskGroup() as starting:
            for _ in range(count):
                starting.create_task(_start(command, files, workers))
        answering()
        while not stop.is_set():
            await _any(stop.wait(), replace.wait(), *(worker.wait() for worker in workers))
            await _replace(command, files, workers, [each for each in workers if each.returncode is not None], stop)
            if replace.is_set():
                replace.clear()
                await _replace(command, files, workers, list(workers), stop)
    except* MemoristError as errors:
        raise errors.exceptions[0] from None
    finally:
        await asyncio.gather(*map(_end, workers))


async def _end(worker: Process) -> None:
    """Stop a worker after its pending requests, within the server's own grace period."""
    if worker.returncode is None:
        worker.terminate()
    await worker.wait()


async def _start(command: Sequence[str], files: Sequence[int], workers: list[Process]) -> None:
    worker = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        pass_fds=files,
        start_new_session=True,  # Ctrl-C is for the parent, which ends the workers in order
    )
    workers.append(worker)
    assert worker.stdout is not None
    if (await worker.stdout.readline()).decode().strip() != READY:
        await _end(worker)
        workers.remove(worker)
        raise MemoristError("a worker of the server did not start; see its error above")


async def _replace(
    command: Sequence[str],
    files: Sequence[int],
    workers: list[Process],
    old: Sequence[Process],
    stop: asyncio.Event,
) -> None:
    """Replace each of `old`: end it once its successor answers, keep it if no successor starts."""
    for worker in old:
        if worker.returncode is not None:
            log.error("a worker exited with %s and is being restarted", worker.returncode)
            await _any(stop.wait(), asyncio.sleep(_PAUSE))
        if stop.is_set():
            return
        try:
            await _start(command, files, workers)
        except MemoristError:
            log.error("a worker did not start; see its error above")
            continue
        await _end(worker)
        workers.remove(worker)


async def _any(*waited: Coroutine[Any, Any, object]) -> None:
    tasks = [asyncio.ensure_future(each) for each in waited]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def end_with_parent() -> None:
    """End this process as SIGTERM does when its standard input ends: the parent holds the other end."""

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="memorist-parent", daemon=True).start()
