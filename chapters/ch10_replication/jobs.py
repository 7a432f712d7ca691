"""The jobs of chapter 10: an unmodified producer and consumer, whose records are counted.

    orders    sends ten records with acks=all, and waits for their answers
    refused   sends records until the leader refuses some immediately, and reports the answers
    read      reads the partition to its end, and looks for all records that were sent

The producer does not retry, so each record gets the broker's first answer. The producer knows only
the leader's address, because the other brokers may be paused.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Final

from kafka import KafkaProducer
from kafka.errors import BrokerResponseError

from kafka_edu.cluster.leader_and_isr import NO_LEADER
from kafka_edu.common.errors import Errors
from kafka_edu.supervisor.cluster import attach
from kafka_edu.supervisor.cluster_spec import HOST
from kafka_edu.trace.events.client import ClientProduced, ClientRead
from kafka_edu.trace.events.spark import JobStarted

from ..chapter import JobPlace
from .one_partition import PARTITION, PATIENCE_S, read_to_the_end, wait_for_leader

JOBS: Final[Mapping[str, str]] = {
    "orders": "send ten records with acks=all",
    "refused": "send records until the leader refuses them",
    "read": "check which of these records are in the log",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()

CLIENT: Final = "kafka-python"
READER: Final = "librdkafka"
TOPIC: Final = "ch10"
ORDER: Final = b"order "
"""The beginning of the value of each record. The load's records do not begin with it."""
RECORDS: Final = 10
REFUSALS: Final = 5
"""How many records the leader has to refuse at once, before the job ends."""
EVERY_S: Final = 0.1
IN_FLIGHT: Final = 1_000
"""The maximum number of requests without an answer. It is large, so each record is sent at once."""
REFUSED: Final = Errors.NOT_ENOUGH_REPLICAS.name


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    with closing(OrderJobs(place)) as jobs:
        yield jobs.run


class OrderJobs:
    """The jobs of chapter 10 on one cluster. The object remembers which answer each record got."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place
        self._answers: dict[bytes, str] = {}
        """Value of a record that has an answer → name of its error. The name is empty if the record
        was acknowledged.
        """
        self._open: tuple[str, KafkaProducer] | None = None
        """The leader's address, and the producer that is connected to it."""
        self._lock = threading.Lock()
        self._sent = 0

    def run(self, name: str) -> None:
        """Run the job with this name to its end.

        Raises KafkaTimeoutError of kafka-python if the leader does not answer.
        """
        jobs: Mapping[str, Callable[[], None]] = {
            "orders": self._orders,
            "refused": self._refused,
            "read": self._read,
        }
        jobs[name]()

    def _leader(self) -> str:
        """Return the address (host:port) of the partition's leader, as ZooKeeper names it.

        This reads ZooKeeper and not a broker, because the brokers may be paused. Raises Standstill
        if the partition has no leader.
        """
        with closing(attach(self._place.cluster)) as cluster:
            leader = wait_for_leader(
                cluster.zookeeper_connect,
                TOPIC,
                lambda broker: broker != NO_LEADER,
                f"a leader of {TOPIC}-{PARTITION}",
            )
            return f"{HOST}:{cluster.port(leader)}"

    def _producer(self) -> KafkaProducer:
        """Return a producer that is connected to the leader.

        If the leader is still the same as at the last call, return the same producer.
        """
        leader = self._leader()
        if self._open is None or self._open[0] != leader:
            self.close()
            self._open = (
                leader,
                KafkaProducer(
                    bootstrap_servers=leader,
                    client_id=CLIENT,
                    acks="all",
                    retries=0,
                    linger_ms=0,
                    enable_idempotence=False,
                    max_in_flight_requests_per_connection=IN_FLIGHT,
                    request_timeout_ms=PATIENCE_S * 1_000,
                    delivery_timeout_ms=PATIENCE_S * 1_000 + 1_000,
                    max_block_ms=PATIENCE_S * 1_000,
                ),
            )
        return self._open[1]

    def close(self) -> None:
        """Close the producer."""
        opened, self._open = self._open, None
        if opened is not None:
            opened[1].close(0)

    def _send(self, producer: KafkaProducer, answers: Counter[str]) -> None:
        """Send the next record. Its answer is counted in `answers` when it comes."""
        self._sent += 1
        value = ORDER + b"%d of %d" % (self._sent, id(self))

        def note(answer: str) -> None:
            with self._lock:
                self._answers[value] = answer
                answers[answer] += 1

        def failed(error: Exception) -> None:
            if isinstance(error, BrokerResponseError):
                note(Errors.of(int(error.errno)).name)
            else:
                note(type(error).__name__)

        sent = producer.send(TOPIC, value, partition=PARTITION)
        sent.add_callback(lambda _: note(""))
        sent.add_errback(failed)

    def _orders(self) -> None:
        self._place.emit(JobStarted(job="orders"))
        answers: Counter[str] = Counter()
        producer = self._producer()
        for _ in range(RECORDS):
            self._send(producer, answers)
        producer.flush(PATIENCE_S)
        self._tell(answers)

    def _refused(self) -> None:
        """Send a record every 100 ms, until the leader has immediately refused REFUSALS records.

        The job counts as started when its first record has an answer. So some records come before
        the ISR shrinks and some after it, even if this process needs long to find the leader.
        """
        answers: Counter[str] = Counter()
        producer = self._producer()
        self._send(producer, answers)
        producer.flush(PATIENCE_S)
        self._place.emit(JobStarted(job="refused"))
        while answers[REFUSED] < REFUSALS and not self._place.another_waits():
            self._send(producer, answers)
            time.sleep(EVERY_S)  # the pace of this producer, as the presentation announces it
        producer.flush(PATIENCE_S)
        self._tell(answers)

    def _tell(self, answers: Counter[str]) -> None:
        for answer, count in answers.items():
            acked = 0 if answer else count
            self._place.emit(ClientProduced(client=CLIENT, sent=count, acked=acked, error=answer))

    def _read(self) -> None:
        self._place.emit(JobStarted(job="read"))
        if not self._answers:  # the user left the presentation meanwhile: this process is a new one
            self._refused()
        there = {*read_to_the_end(self._leader(), TOPIC)}
        with self._lock:
            answers = dict(self._answers)
        sent = Counter(answers.values())
        found = Counter(answer for value, answer in answers.items() if value in there)
        for answer in sent:
            self._place.emit(
                ClientRead(client=READER, answer=answer, sent=sent[answer], found=found[answer])
            )
