"""The base class of message buses: publish, subscribe, and request an answer."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Protocol, Self, TypeAlias

from memorist.bus.envelope import Envelope
from memorist.errors import BusError, InvalidInputError

Handler: TypeAlias = Callable[[Envelope], Awaitable[None]]

log = logging.getLogger("memorist.bus")


class Subscription(Protocol):
    """A handler's subscription to one subject."""

    @property
    def subject(self) -> str:
        """The subject."""
        ...

    async def cancel(self) -> None:
        """Stop receiving messages. Idempotent."""
        ...


class Bus(ABC):
    """Carries envelopes from publishers to every subscriber of their subject, at most once.

    A subscription gets its messages one after the other, in the order of each publisher. A message without a
    subscriber when it is published is lost. If a handler raises, the error is logged and it gets the next message.

    ```python
    async with LocalBus() as bus:
        await bus.subscribe("response.generation", remember)
        await bus.publish(Envelope(subject="response.generation", message_type="response", ...))
    ```
    """

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    @abstractmethod
    async def open(self) -> None:
        """Connect.

        Raises:
            BusError: the bus cannot be reached.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let the handlers process the messages that have arrived, then disconnect. Idempotent.

        A handler must not call this: it would wait for itself, until the bus gives up waiting for handlers.
        """

    @abstractmethod
    async def publish(self, envelope: Envelope) -> None:
        """Send a message to the subscribers of its subject.

        Raises:
            BusError: the bus is closed, or refused the message, for example because it is too large.
            InvalidInputError: the payload cannot be sent as JSON.
        """

    @abstractmethod
    async def subscribe(self, subject: str, handler: Handler) -> Subscription:
        """Call `handler` with every message of a subject from now on.

        Args:
            subject: ``*`` stands for one word, ``>`` at the end for all that follow.
            handler: an async function.

        Raises:
            BusError: the bus is closed.
            InvalidInputError: `subject` is invalid.
        """

    async def request(self, envelope: Envelope, *, answer: str, timeout: float = 30.0) -> Envelope:
        """Publish a request and return the message on the subject `answer` that has its correlation id.

        If the request has no correlation id, its message id is used.

        Args:
            timeout: seconds to wait.

        Raises:
            BusError: no answer came in time, or the bus failed.
        """
        wanted = envelope.correlation_id or envelope.message_id
        found: asyncio.Future[Envelope] = asyncio.get_running_loop().create_future()

        async def look(each: Envelope) -> None:
            if each.correlation_id == wanted and not found.done():
                found.set_result(each)

        subscription = await self.subscribe(answer, look)
        try:
            await self.publish(envelope)
            return await asyncio.wait_for(found, timeout)
        except TimeoutError as error:
            raise BusError(f"nobody answered {envelope.subject} on {answer} within {timeout:g} s") from error
        finally:
            await subscription.cancel()


async def deliver(subject: str, data: bytes, handler: Handler) -> None:
    """Pass one message to a handler; an error is logged, so that the next message is handled."""
    try:
        envelope = Envelope.from_json(data)
    except InvalidInputError as error:
        log.warning("a message on %s was skipped: %s", subject, error)
        return
    try:
        await handler(envelope)
    except (Exception, asyncio.CancelledError) as error:  # a handler may raise anything
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # the subscription itself was cancelled, not a task that the handler awaited
        log.exception("the handler of %s failed on message %s", subject, envelope.message_id)
