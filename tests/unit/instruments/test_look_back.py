"""Reading every process's ring once: what is there, and what is said to be missing."""

import asyncio
import socket
from pathlib import Path

from kafka_edu.common.user_files import write_private_json
from kafka_edu.instruments.look_back import look_back
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.supervisor import ActionAsked
from tests.unit.instruments.test_trace_feed import Teller


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
