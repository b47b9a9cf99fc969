"""What every bus can do: publish, subscribe, and ask for the answer to a request."""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Protocol, Self, TypeAlias

from memorist.bus.envelope import Envelope
from memorist.errors import BusError, InvalidInputError

__all__ = ["Bus", "Handler", "Subscription", "deliver"]

Handler: TypeAlias = Callable[[Envelope], Awaitable[None]]

log = logging.getLogger("memorist.bus")


class Subscription(Protocol):
    """A handler that gets the messages of one subject."""

    @property
    def subject(self) -> str:
        """What it is subscribed to."""
        ...

    async def cancel(self) -> None:
        """Get no more messages. A second call does nothing."""
        ...


class Bus(ABC):
    """Carries envelopes from publishers to every subscriber of their subject, at most once.

    A subscription gets its messages one after the other, in the order of each publisher. What nobody is
    subscribed to when it is published is gone. A handler that raises is logged and gets the next message.

    ```python
    async with LocalBus() as bus:
        await bus.subscribe("response.generation", remember)
        await bus.publish(Envelope(subject="response.generation", message_type="response", ...))
    ```
    """

    async def __aenter__(self) -> Self:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @abstractmethod
    async def open(self) -> None:
        """Connect.

        Raises:
            BusError: the bus cannot be reached.
        """

    @abstractmethod
    async def close(self) -> None:
        """Let the handlers finish what has arrived, then disconnect. A second call does nothing."""

    @abstractmethod
    async def publish(self, envelope: Envelope) -> None:
        """Send a message to whoever is subscribed to its subject.

        Raises:
            BusError: the bus is closed, or refused the message, as one that is too large.
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
            InvalidInputError: `subject` is none.
        """

    async def request(self, envelope: Envelope, *, answer: str, timeout: float = 30.0) -> Envelope:
        """Publish a request and return the message on the subject `answer` that has its correlation id.

        Without a correlation id of its own, the request's message id is it.

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
    """Hand one message to a handler; what goes wrong there is logged, for the next message must be handled."""
    try:
        envelope = Envelope.from_json(data)
    except InvalidInputError as error:
        log.warning("a message on %s was passed over: %s", subject, error)
        return
    try:
        await handler(envelope)
    except (Exception, asyncio.CancelledError) as error:  # the edge to code that is not ours
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise  # it is the subscription that is cancelled, not something that the handler waited for
        log.exception("the handler of %s failed on message %s", subject, envelope.message_id)
