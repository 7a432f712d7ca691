"""When brokers count as ready, by their answers to Metadata. The brokers here are scripted."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.protocol.messages.metadata import MetadataResponse, MetadataResponseBroker
from kafka_edu.supervisor import readiness
from kafka_edu.supervisor.readiness import Answers, answers_of, wait_until_listed

GUEST = 7


def answer(controller: int, *brokers: int) -> MetadataResponse:
    return MetadataResponse(
        controller_id=controller,
        brokers=[
            MetadataResponseBroker(node_id=broker, host="h", port=9000 + broker)
            for broker in brokers
        ],
    )


class ScriptedClient:
    """Answers Metadata from a script, for each port. The last answer is repeated."""

    answers: Mapping[int, list[MetadataResponse]] = {}

    def __init__(self, _transport: SocketTransport, _client_id: str) -> None:
        self.connected = False
        self._port = 0

    async def connect(self, _host: str, port: int, _timeout_ms: float) -> None:
        self.connected, self._port = True, port

    async def ask(self, *_: object) -> MetadataResponse:
        left = self.answers[self._port]
        return left.pop(0) if len(left) > 1 else left[0]

    def close(self) -> None:
        self.connected = False


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mapping[int, Sequence[object]]], None]:
    def script(answers: Mapping[int, Sequence[object]]) -> None:
        monkeypatch.setattr(ScriptedClient, "answers", answers)

    monkeypatch.setattr(readiness, "NetworkClient", ScriptedClient)
    monkeypatch.setattr(readiness, "_is_open", lambda *_: True)
    return script


def wait(
    ports: Sequence[int],
    listed: Sequence[int],
    may_be_controller: Callable[[int, int], bool] | None,
    looks: int,
) -> tuple[int | None, dict[int, str]]:
    """Return the controller, or None if the brokers are not ready after `looks` answers."""
    seen: dict[int, str] = {}

    async def run() -> int | None:
        waiting = asyncio.create_task(
            wait_until_listed(
                SocketTransport(), {i: ("h", i) for i in ports}, listed, seen, may_be_controller
            )
        )
        for _ in range(looks):
            await asyncio.sleep(0)
            if waiting.done():
                return waiting.result()
        waiting.cancel()
        return None

    return asyncio.run(run()), seen


def test_a_guest_that_is_registered_may_be_the_controller(brokers) -> None:
    brokers({0: [answer(GUEST, 0, 1, GUEST)], 1: [answer(GUEST, 0, 1, GUEST)]})
    assert wait([0, 1], [0, 1], lambda broker, _: broker not in (2,), 20) == (GUEST, {0: "", 1: ""})


def test_a_controller_that_is_not_registered_is_none(brokers) -> None:
    brokers({0: [answer(GUEST, 0)]})
    controller, seen = wait([0], [0], lambda *_: True, 20)
    assert controller is None
    assert seen == {0: "it names broker 7, which does not run, as controller"}


def test_a_broker_of_ours_that_does_not_run_is_no_controller(brokers) -> None:
    """The broker was killed, but ZooKeeper lists it until its session expires."""
    brokers({1: [answer(0, 0, 1)]})
    controller, seen = wait([1], [1], lambda broker, _: broker == 1, 20)
    assert controller is None
    assert seen == {1: "it names broker 0, which does not run, as controller"}


def test_a_guest_is_known_by_its_port(brokers) -> None:
    """It has the id of a broker of ours that is stopped."""
    brokers({1: [answer(0, 0, 1)]})
    assert wait([1], [1], lambda broker, port: port == 9000, 20)[0] == 0


def test_without_more_the_controller_is_one_of_the_listed(brokers) -> None:
    brokers({0: [answer(GUEST, 0, GUEST)]})
    assert wait([0], [0], None, 20)[0] is None


def test_the_answers_of_all_brokers_name_the_guests_too(brokers) -> None:
    brokers({0: [answer(GUEST, 0, GUEST)], 1: [answer(GUEST, 0, 1)], 2: [answer(-1)]})
    found = asyncio.run(answers_of(SocketTransport(), [("h", 0), ("h", 1), ("h", 2)]))
    assert found == Answers(GUEST, {0: 9000, 1: 9001, GUEST: 9007})
