"""Reading the ring of every process once: which events are found, and which are reported
missing.
"""

import asyncio
import socket
from pathlib import Path

import pytest

from kafka_edu.common.user_files import write_private_json
from kafka_edu.instruments.event_sizes import bytes_of
from kafka_edu.instruments.look_back import Newest, look_back
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.controller import ControllerSnapshot
from kafka_edu.trace.events.supervisor import ActionAsked
from kafka_edu.trace.wire_format import Decoder, name_of
from tests.unit.instruments.test_trace_feed import Teller

SNAPSHOT = ControllerSnapshot(
    active=True, controller_id=0, epoch=1, epoch_zk_version=1, queue_size=0
)


def test_rings_are_read_in_one_order_and_silent_processes_named(tmp_path: Path) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        tellers = [Teller(folder, broker) for broker in (0, 1)]
        for number in range(10):
            tellers[number % 2].tracer(ActionAsked(action="a", target=Source.of_broker(number)))
        for teller in tellers:
            await teller.start()
        with socket.create_server(("127.0.0.1", 0)) as paused, socket.socket() as dead:
            dead.bind(("127.0.0.1", 0))  # nobody listens there
            for broker, port in ((2, paused.getsockname()[1]), (3, dead.getsockname()[1])):
                path = folder.broker_events(broker)
                path.parent.mkdir()
                address = {"host": "127.0.0.1", "port": port, "token": "t", "pid": 1}
                write_private_json(str(path), address)
            past = await look_back(folder)
        asked = [e.event.target.id for e in past.envelopes if isinstance(e.event, ActionAsked)]
        assert asked == list(range(10))
        assert past.missing == [
            "broker 2 does not answer: it is paused, or too busy",
            "broker 3 has ended; its ring ended with it",
        ]
        for teller in tellers:
            teller.end()

    asyncio.run(run())


def test_only_facts_are_decoded_if_only_facts_are_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[str] = []
    decode = Decoder.decode

    def noted(self: Decoder, line: bytes) -> Envelope | None:
        decoded.append(name_of(line))
        return decode(self, line)

    monkeypatch.setattr(Decoder, "decode", noted)

    async def run(*, facts_only: bool) -> list[str]:
        folder = ClusterFolder(tmp_path / f"facts-only-{facts_only}")
        folder.path.mkdir()
        teller = Teller(folder, 0)
        teller.tracer.on_snapshot(lambda: [SNAPSHOT] * 500)
        teller.tracer(ActionAsked(action="a", target=Source.of_broker(0)))
        await teller.start()
        decoded.clear()
        past = await look_back(folder, facts_only=facts_only)
        teller.end()
        assert past.missing == []
        return [e.name for e in past.envelopes]

    assert "ControllerSnapshot" in asyncio.run(run(facts_only=False))
    assert decoded.count("ControllerSnapshot") >= 500
    names = asyncio.run(run(facts_only=True))
    assert names.count("ActionAsked") == 1
    assert "ControllerSnapshot" not in decoded


def told(source: int, at_us: int, words: str = "a") -> Envelope:
    event = ActionAsked(action=words, target=Source.of_broker(source))
    return Envelope(Source.of_broker(source), at_us, 0, 0, at_us, event)


def test_of_too_many_events_the_newest_of_all_processes_are_kept_without_a_hole() -> None:
    fast = [told(1, at_us) for at_us in range(1_000, 2_000)]
    slow = [told(2, at_us) for at_us in range(1_000, 2_000)]
    newest = Newest(500 * bytes_of(fast[0]))
    for envelope in (*fast[:900], *slow[:300], *fast[900:], *slow[300:]):
        newest.add(envelope)
    kept = newest.in_order()
    assert kept == [one for both in zip(fast, slow, strict=True) for one in both][-len(kept) :]
    assert 400 < len(kept) <= 520
    assert newest.left_out() == 2_000 - len(kept)


def test_it_says_how_many_facts_do_not_fit(tmp_path: Path) -> None:
    async def run() -> None:
        folder = ClusterFolder(tmp_path / "c")
        folder.path.mkdir()
        teller = Teller(folder, 0)
        for number in range(10):
            teller.tracer(ActionAsked(action="x" * 2**20, target=Source.of_broker(number)))
        await teller.start()
        past = await look_back(folder, facts_only=True, most_bytes=4 * 2**20)
        asked = [e.event.target.id for e in past.envelopes if isinstance(e.event, ActionAsked)]
        assert asked == [7, 8, 9]
        (words,) = past.missing
        assert words.startswith("the oldest 7 facts are left out")
        assert words.endswith("more than 4 MB of memory")
        teller.end()

    asyncio.run(run())
