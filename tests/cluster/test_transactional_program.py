"""The transactional program of docs/clients.md on real brokers, and Ctrl-C in a transaction.

After Ctrl-C, one line is printed, the transaction is aborted at once, and committed records stay.
After SIGKILL, the coordinator aborts the transaction after transaction.timeout.ms.
"""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.common.python_process import checkout
from kafka_edu.supervisor.cluster import running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

RECORDS: Final = 5
#: The coordinator looks for transactions that are too old every second, not every ten.
PROPERTIES: Final = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
IN_THE_MIDDLE: Final = """
import asyncio
from kafka_edu.clients.producer.producer import Producer


async def main():
    settings = {{"bootstrap.servers": "127.0.0.1:9092", "transactional.id": "held"}}
    settings |= {{"transaction.timeout.ms": {timeout_ms}}}
    async with Producer(settings) as producer:
        await producer.init_transactions()
        async with producer.transaction():
            await producer.send("loud", b"committed")
        async with producer.transaction():
            await (await producer.send("loud", b"open"))
            print("in the middle")
            await asyncio.Event().wait()


try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with running_cluster("transactional-program", brokers=1, props=PROPERTIES) as cluster:
        yield cluster.bootstrap_servers


@pytest.fixture
def loud(servers: str) -> str:
    """A new topic for each test, in the place of `loud`."""
    name = f"loud-{os.urandom(4).hex()}"
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(PATIENCE_S)
    return name


class Program:
    """A process that runs the program of a documentation page, with the test's brokers and
    topic.
    """

    def __init__(self, folder: Path, text: str, servers: str, loud: str) -> None:
        file = folder / "program.py"
        file.write_text(text.replace("127.0.0.1:9092", servers).replace('"loud"', f'"{loud}"'))
        self._output = folder / "output"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(file)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"PYTHONUNBUFFERED": "1", "PYTHONPATH": str(checkout())},
                start_new_session=True,
            )

    @property
    def lines(self) -> list[str]:
        return self._output.read_text(encoding="utf-8").splitlines()

    def wait_for_lines(self, count: int) -> list[str]:
        def there() -> bool:
            return len(self.lines) >= count or self.process.poll() is not None

        wait_for(there, lambda: f"{count} lines are not there: {self.lines}")
        assert self.process.poll() is None, self.lines
        return self.lines

    def end(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)
        self.process.wait(PATIENCE_S)


def page_program() -> str:
    root = checkout()
    assert root is not None
    page = (root / "docs" / "clients.md").read_text(encoding="utf-8")
    [found] = [
        block
        for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)
        if "producer.transaction()" in block
    ]
    assert isinstance(found, str)
    return found


def produce(servers: str, topic: str, values: list[str]) -> None:
    producer = confluent_kafka.Producer({"bootstrap.servers": servers, "log_level": 0})
    for value in values:
        producer.produce(topic, value)
    assert producer.flush(PATIENCE_S) == 0


def committed_up_to(servers: str, topic: str, last: str) -> list[str]:
    """Return what read_committed shows of a topic of one partition, up to the value `last`.

    It shows nothing behind an open transaction.
    """
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "check",
            "isolation.level": "read_committed",
            "enable.auto.commit": False,
            "log_level": 0,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    values: list[str] = []
    while not values or values[-1] != last:
        message = consumer.poll(PATIENCE_S)
        assert message is not None, f"{last} is not readable after {PATIENCE_S} s: {values}"
        assert message.error() is None, message.error()
        values.append((message.value() or b"").decode())
    consumer.close()
    return values


def test_the_program_of_the_page_handles_each_record_once(
    servers: str, loud: str, tmp_path: Path
) -> None:
    produce(servers, "web", [f"page {number}" for number in range(RECORDS)])
    program = Program(tmp_path, page_program(), servers, loud)
    lines = program.wait_for_lines(RECORDS)
    assert lines == [f"web-0 offset {number} is done" for number in range(RECORDS)]
    program.end(signal.SIGINT)
    assert program.process.returncode == 0
    assert program.lines == [*lines, "stopped"]
    produce(servers, "web", ["page after"])
    again = Program(tmp_path, page_program(), servers, loud)  # it goes on where the first one ended
    assert again.wait_for_lines(1) == [f"web-0 offset {RECORDS} is done"]
    again.end(signal.SIGINT)
    assert again.lines[1:] == ["stopped"]
    assert committed_up_to(servers, loud, "PAGE AFTER") == [
        *(f"PAGE {number}" for number in range(RECORDS)),
        "PAGE AFTER",
    ]


@pytest.mark.parametrize(
    ("number", "timeout_ms", "said"),
    [
        # The time-out is longer than the test waits, so the producer itself has aborted.
        (signal.SIGINT, PATIENCE_S * 4_000, ["stopped"]),
        (signal.SIGKILL, 10_000, []),
    ],
    ids=["Ctrl-C", "kill -9"],
)
def test_a_transaction_that_is_interrupted_is_aborted(
    servers: str,
    loud: str,
    tmp_path: Path,
    number: signal.Signals,
    timeout_ms: int,
    said: list[str],
) -> None:
    program = Program(tmp_path, IN_THE_MIDDLE.format(timeout_ms=timeout_ms), servers, loud)
    assert program.wait_for_lines(1) == ["in the middle"]
    program.end(number)
    assert program.lines == ["in the middle", *said]
    produce(servers, loud, ["after"])
    assert committed_up_to(servers, loud, "after") == ["committed", "after"]
