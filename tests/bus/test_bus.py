"""What every bus promises, on the one in this process and on one over a real NATS server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from types import MappingProxyType
from typing import Any

import pytest

from memorist.bus import Bus, Envelope, LocalBus, NatsBus
from memorist.errors import BusError, InvalidInputError
from natsserver import nats_server
from ports import free_port

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    pytest.importorskip("nats")
    with nats_server() as url:
        yield url


def patient(url: str, **options: Any) -> NatsBus:
    """Return a bus at a server that is there, however slowly it answers."""
    return NatsBus(url, connect_timeout=60, **options)


@pytest.fixture(params=["local", "nats"])
async def bus(request: pytest.FixtureRequest) -> AsyncIterator[Bus]:
    made = LocalBus() if request.param == "local" else patient(request.getfixturevalue("server"))
    async with made as bus:
        yield bus


def message(subject: str, correlation_id: str | None = None, **payload: object) -> Envelope:
    return Envelope(
        subject=subject, message_type="test", sender_id="tester", payload=payload, correlation_id=correlation_id
    )


class Inbox:
    """A handler that keeps what it gets."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[Envelope] = asyncio.Queue()

    async def __call__(self, envelope: Envelope) -> None:
        self.queue.put_nowait(envelope)

    async def next(self) -> Envelope:
        return await asyncio.wait_for(self.queue.get(), 60)


async def test_a_subscriber_gets_what_is_published_as_it_was_sent_and_in_order(bus: Bus) -> None:
    inbox = Inbox()
    await bus.subscribe("weather.oslo", inbox)
    sent = [message("weather.oslo", "c-1", degrees=n, text="Schnee ❄") for n in range(20)]
    for each in sent:
        await bus.publish(each)
    assert [await inbox.next() for _ in sent] == sent


async def test_every_subscriber_gets_every_message_and_others_none(bus: Bus) -> None:
    first, second, other = Inbox(), Inbox(), Inbox()
    await bus.subscribe("news", first)
    await bus.subscribe("news", second)
    await bus.subscribe("newspaper", other)
    await bus.publish(message("news", n=1))
    await bus.publish(message("newspaper", n=2))
    assert (await first.next()).payload == (await second.next()).payload == {"n": 1}
    assert (await other.next()).payload == {"n": 2}


async def test_wildcards_stand_for_one_word_or_for_the_rest(bus: Bus) -> None:
    one, rest = Inbox(), Inbox()
    await bus.subscribe("tool.*.save", one)
    await bus.subscribe("tool.>", rest)
    for subject in ("tool", "tool.request", "tool.request.save", "tool.request.save.now"):
        await bus.publish(message(subject))
    assert (await one.next()).subject == "tool.request.save"
    assert [(await rest.next()).subject for _ in range(3)] == [
        "tool.request",
        "tool.request.save",
        "tool.request.save.now",
    ]
    assert one.queue.empty()


async def test_a_handler_that_fails_is_logged_and_gets_the_next_message(
    bus: Bus, caplog: pytest.LogCaptureFixture
) -> None:
    inbox = Inbox()

    async def fragile(envelope: Envelope) -> None:
        if envelope.payload["n"] == 1:
            raise RuntimeError("out of order")
        await inbox(envelope)

    await bus.subscribe("work", fragile)
    await bus.publish(message("work", n=1))
    await bus.publish(message("work", n=2))
    assert (await inbox.next()).payload == {"n": 2}
    assert "the handler of work failed" in caplog.text and "out of order" in caplog.text


async def test_a_handler_whose_own_work_is_cancelled_gets_the_next_message(bus: Bus) -> None:
    inbox = Inbox()

    async def fragile(envelope: Envelope) -> None:
        if envelope.payload["n"] == 1:
            waiting = asyncio.get_running_loop().create_future()
            waiting.cancel()
            await waiting
        await inbox(envelope)

    await bus.subscribe("work", fragile)
    await bus.publish(message("work", n=1))
    await bus.publish(message("work", n=2))
    assert (await inbox.next()).payload == {"n": 2}


async def test_a_request_returns_the_answer_with_its_correlation_id(bus: Bus) -> None:
    async def double(request: Envelope) -> None:
        for id in ("somebody-else's", request.correlation_id or request.message_id):
            answer = message("double.answer", id, n=2 * request.payload["n"])
            await bus.publish(answer)

    await bus.subscribe("double", double)
    answers = await asyncio.gather(
        *(bus.request(message("double", f"c-{n}", n=n), answer="double.answer") for n in range(5))
    )
    assert [each.payload["n"] for each in answers] == [0, 2, 4, 6, 8]
    assert (await bus.request(message("double", n=21), answer="double.answer")).payload == {"n": 42}


async def test_a_request_that_nobody_answers_is_an_error(bus: Bus) -> None:
    with pytest.raises(BusError, match=r"nobody answered void on void\.answer within 0\.01 s"):
        await bus.request(message("void"), answer="void.answer", timeout=0.01)


async def test_a_cancelled_subscription_gets_nothing_more(bus: Bus) -> None:
    gone, stays = Inbox(), Inbox()
    subscription = await bus.subscribe("news", gone)
    await bus.subscribe("news", stays)
    assert subscription.subject == "news"
    await subscription.cancel()
    await subscription.cancel()
    await bus.publish(message("news"))
    await stays.next()
    assert gone.queue.empty()


async def test_a_handler_that_cancels_its_own_subscription_finishes_and_gets_nothing_more(bus: Bus) -> None:
    taken, others = Inbox(), Inbox()

    async def once(envelope: Envelope) -> None:
        await subscription.cancel()
        for _ in range(10):
            await asyncio.sleep(0)
        await taken(envelope)

    subscription = await bus.subscribe("news", once)
    await bus.subscribe("news", others)
    await bus.publish(message("news", n=1))
    await bus.publish(message("news", n=2))
    assert (await taken.next()).payload == {"n": 1}
    await bus.publish(message("news", n=3))
    assert [(await others.next()).payload["n"] for _ in range(3)] == [1, 2, 3]
    await subscription.cancel()
    assert taken.queue.empty()


async def test_closing_lets_the_handlers_finish_what_has_arrived(bus: Bus) -> None:
    begun, handled = asyncio.Event(), []

    async def slow(envelope: Envelope) -> None:
        begun.set()
        for _ in range(10):
            await asyncio.sleep(0)
        handled.append(envelope.payload["n"])

    await bus.subscribe("work", slow)
    for n in range(5):
        await bus.publish(message("work", n=n))
    await asyncio.wait_for(begun.wait(), 60)
    await bus.close()
    await bus.close()
    assert handled == [0, 1, 2, 3, 4]


async def test_what_handlers_publish_while_the_bus_closes_is_sent(bus: Bus) -> None:
    begun, results = asyncio.Event(), []

    async def answer(envelope: Envelope) -> None:
        begun.set()
        for _ in range(10):
            await asyncio.sleep(0)
        await bus.publish(message("result", n=1))
        results.append("sent")

    await bus.subscribe("work", answer)
    await bus.publish(message("work"))
    await asyncio.wait_for(begun.wait(), 60)
    await bus.close()
    assert results == ["sent"]


async def test_opening_twice_keeps_what_is_subscribed(bus: Bus) -> None:
    inbox = Inbox()
    await bus.subscribe("news", inbox)
    await bus.open()
    await bus.publish(message("news", n=1))
    assert (await inbox.next()).payload == {"n": 1}


async def test_a_bus_that_is_not_open_says_so(bus: Bus) -> None:
    await bus.close()
    with pytest.raises(BusError, match="not open"):
        await bus.publish(message("news"))
    with pytest.raises(BusError, match="not open"):
        await bus.subscribe("news", Inbox())


@pytest.mark.parametrize("subject", ["", ".", "a..b", "a b", "a.*", ">", "line\nbreak"])
async def test_what_is_no_subject_is_refused(subject: str, bus: Bus) -> None:
    with pytest.raises(InvalidInputError, match="is not a subject"):
        message(subject)


async def test_a_subscription_to_what_is_no_subject_is_refused(bus: Bus) -> None:
    for subject in ("", "a..b", "a.>.b", "a b"):
        with pytest.raises(InvalidInputError, match="is not a subject"):
            await bus.subscribe(subject, Inbox())


async def test_a_payload_that_json_cannot_carry_is_refused(bus: Bus) -> None:
    for payload in ({"a": object()}, {"a": float("nan")}):
        with pytest.raises(InvalidInputError, match="cannot be sent as JSON"):
            await bus.publish(message("news", **payload))


def test_an_envelope_has_a_new_id_and_the_present_time_unless_given() -> None:
    first, second = message("a"), message("a")
    assert first.message_id != second.message_id and first.timestamp_utc.endswith("+00:00")
    assert Envelope.from_json(first.to_json()) == first


def test_a_payload_may_be_any_mapping() -> None:
    sent = Envelope(subject="news", message_type="test", sender_id="x", payload=MappingProxyType({"n": 1}))
    assert Envelope.from_json(sent.to_json()).payload == {"n": 1}


def test_an_answer_echoes_the_correlation_id_or_else_names_the_message() -> None:
    for request, wanted in ((message("a", "c-7"), "c-7"), (asked := message("a"), asked.message_id)):
        answer = request.answered(subject="b", message_type="result", sender_id="me", payload={})
        assert answer.correlation_id == wanted and answer.message_id != request.message_id


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\xff\xfe", "not JSON"),
        (b"[]", "not an object"),
        (b"{}", "lacks message_type, payload, sender_id, subject"),
        (b'{"subject": "a", "message_type": "t", "sender_id": "s", "payload": []}', "must be an object"),
        (b'{"subject": "a", "message_type": 1, "sender_id": "s", "payload": {}}', "message_type"),
        (b'{"subject": "a", "message_type": "t", "sender_id": "s", "payload": {}, "correlation_id": 1}', "correlation"),
    ],
)
def test_what_is_no_envelope_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(InvalidInputError, match=reason):
        Envelope.from_json(data)


async def test_an_envelope_may_hold_fields_of_a_newer_version() -> None:
    data = b'{"subject": "a", "message_type": "t", "sender_id": "s", "payload": {"n": 1}, "priority": 9}'
    assert Envelope.from_json(data).payload == {"n": 1}


async def test_a_message_from_elsewhere_that_is_no_envelope_is_passed_over(
    server: str, caplog: pytest.LogCaptureFixture
) -> None:
    import nats

    caplog.set_level(logging.WARNING)
    inbox = Inbox()
    async with patient(server) as bus:
        await bus.subscribe("news", inbox)
        stranger = await nats.connect(server)
        await stranger.publish("news", b"hello?")
        await stranger.publish("news", message("news", n=1).to_json())
        await stranger.drain()
        assert (await inbox.next()).payload == {"n": 1}
    assert "a message on news was skipped: a message is not JSON" in caplog.text


async def test_a_message_that_the_server_refuses_is_an_error(server: str) -> None:
    async with patient(server) as bus:
        with pytest.raises(BusError, match="was not sent"):
            await bus.publish(message("news", text="x" * 2_000_000))


async def test_a_server_that_is_not_there_is_an_error_that_names_it_without_the_password() -> None:
    pytest.importorskip("nats")
    with pytest.raises(BusError, match=r"no NATS server can be reached at nats://127\.0\.0\.1:1") as raised:
        async with NatsBus("nats://me:secret@127.0.0.1:1", connect_timeout=0.5):
            pass
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("url", ["", " , ", "nats://", "nats://[::1"])
def test_an_address_that_names_no_server_is_refused(url: str) -> None:
    with pytest.raises(InvalidInputError, match="nats://HOST:PORT"):
        NatsBus(url)


async def test_a_wrong_password_is_an_error() -> None:
    pytest.importorskip("nats")
    with nats_server("--user", "me", "--pass", "right") as url:
        with pytest.raises(BusError, match="no NATS server can be reached"):
            async with NatsBus(url.replace("//", "//me:wrong@"), connect_timeout=0.5):
                pass
        async with patient(url.replace("//", "//me:right@")) as bus:
            await bus.publish(message("news"))


async def test_opening_that_is_given_up_leaves_no_connection() -> None:
    pytest.importorskip("nats")
    accepted = asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]]()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:  # and say nothing
        accepted.put_nowait((reader, writer))

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()
        opening = asyncio.create_task(patient(f"nats://{host}:{port}").open())
        reader, writer = await asyncio.wait_for(accepted.get(), 60)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert await asyncio.wait_for(reader.read(), 60) == b""
        writer.close()
        await writer.wait_closed()


async def test_a_client_that_misses_that_it_is_cancelled_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    client = pytest.importorskip("nats.aio.client").Client

    async def connect(self: object, *args: object, **options: object) -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        await asyncio.Event().wait()

    monkeypatch.setattr(client, "connect", connect)
    with pytest.raises(BusError, match="it does not answer"):
        await NatsBus(connect_timeout=0.01).open()


async def test_nats_py_missing_is_an_error_that_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "nats", None)
    with pytest.raises(ImportError, match=r"pip install .*\[nats\]'"):
        await NatsBus().open()


async def test_after_the_server_was_away_the_bus_goes_on(server: str) -> None:
    pytest.importorskip("nats")
    inbox, back = Inbox(), asyncio.Event()

    async def reconnected() -> None:
        back.set()

    port = str(free_port())
    with nats_server("-p", port) as url:
        bus = patient(url, reconnected_cb=reconnected, reconnect_time_wait=0.05)
        await bus.open()
        await bus.subscribe("news", inbox)
    with nats_server("-p", port):
        await asyncio.wait_for(back.wait(), 60)
        await bus.publish(message("news", n=1))
        assert (await inbox.next()).payload == {"n": 1}
        await bus.close()


async def test_a_bus_whose_server_is_gone_closes_without_an_error() -> None:
    pytest.importorskip("nats")
    lost = asyncio.Event()

    async def disconnected() -> None:
        lost.set()

    with nats_server() as url:
        bus, other = patient(url, disconnected_cb=disconnected), patient(url)
        await bus.open()
        await other.open()
    await other.publish(message("news"))
    await other.close()
    await asyncio.wait_for(lost.wait(), 60)
    await bus.publish(message("news"))
    await bus.close()
    with pytest.raises(BusError, match="not open"):
        await bus.publish(message("news"))


async def test_a_subscription_that_the_server_does_not_confirm_gets_nothing(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = pytest.importorskip("nats.aio.client").Client
    first, second = Inbox(), Inbox()

    async def unanswered(self: object, timeout: float) -> None:
        await asyncio.Event().wait()

    async with patient(server) as other, patient(server) as bus:
        with monkeypatch.context() as patched:
            patched.setattr(client, "flush", unanswered)
            patched.setattr(bus, "_connect_timeout", 0.01)
            with pytest.raises(BusError, match="news could not be subscribed to: TimeoutError"):
                await bus.subscribe("news", first)
        await bus.subscribe("news", second)
        await other.publish(message("news", n=1))
        assert (await second.next()).payload == {"n": 1}
        assert first.queue.empty()


async def test_a_subscriber_that_is_cancelled_leaves_the_bus_working(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = pytest.importorskip("nats.aio.client").Client
    flush, asked = client.flush, asyncio.Event()
    inbox, other = Inbox(), Inbox()

    async def noted(self: object, timeout: float = 10) -> None:
        asked.set()
        await flush(self, timeout)

    async with patient(server) as bus:
        await bus.subscribe("news", inbox)
        monkeypatch.setattr(client, "flush", noted)
        subscribing = asyncio.create_task(bus.subscribe("news", other))
        await asked.wait()
        subscribing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await subscribing
        await bus.publish(message("news", n=1))
        assert (await inbox.next()).payload == {"n": 1}
        assert other.queue.empty()
