"""An idempotent producer of librdkafka meets a leader that has started again.

The leader may have forgotten four of the producer's last five batches.

The broker keeps the last five batches of each producer in memory. The file of this state, the
snapshot, has only the last one. A stopped broker starts from the snapshot. The producer's five
batches were written but not answered, so it sends all of them again. The leader recognises the
fifth. It takes the first for a gap, and refuses it with OUT_OF_ORDER_SEQUENCE_NUMBER. librdkafka
then gives up for good, since it cannot know that nothing is lost.

A broker that was killed with -9 reads its log again. Ours then knows all five batches. Apache Kafka
2.8.2 ends its recovery with a snapshot, and forgets four (docs/differences.md).

The topic has one replica, on a broker that is not the controller. The answers are delayed on their
way. When the log has all batches, the link to the clients is cut, and the answers are lost.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer

from kafka_edu.cli.demo_topic import demo_admin, wait_until_in_sync
from kafka_edu.cli.progress import STANDSTILL_S, Progress, Standstill, wait_while_moving
from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.log.log_file_names import CLEAN_SHUTDOWN_FILE
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.supervisor.cluster import Cluster, attach
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.client import ClientProduced, RecordsCounted
from kafka_edu.trace.events.replication import BecameLeader
from kafka_edu.trace.trace_client import EventsAddress, TraceClient

from ..ch10_replication.one_partition import PARTITION, read_to_the_end
from ..chapter import JobPlace

IN_FLIGHT: Final = 5
SLOW_MS: Final = 4_000
"""The first delay of each request and of each response."""
_LOOK_EVERY_S: Final = 0.05


#: Each job, with its description. Its topic and its client have the same name.
FORGOTTEN: Final[Mapping[str, str]] = {
    "forgotten-killed": "kill -9 a leader whose answers to five batches did not arrive",
    "forgotten-stopped": "stop such a leader with SIGTERM",
}
log = logging.getLogger(__name__)
log.addHandler(logging.NullHandler())  # the job itself reports the error that ends librdkafka


class Payments:
    """The producer, and the results of its records."""

    def __init__(self, servers: str, topic: str) -> None:
        self.answers: list[bool] = []
        """For each record with an answer, whether it is acknowledged."""
        self.fatal = ""
        """The name of the error that ended the producer. Empty if it continues."""
        self.topic = topic
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "client.id": topic,
                "enable.idempotence": True,
                "max.in.flight": IN_FLIGHT,
                "batch.num.messages": 1,
                "linger.ms": 0,
                "error_cb": self._note,
                "logger": log,
            }
        )

    def _note(self, error: KafkaError) -> None:
        """Store a fatal error, and drop the records that wait. None of them is sent again."""
        if error.fatal() and not self.fatal:
            self.fatal = error.name()
            self._producer.purge()

    def send(self, records: int) -> None:
        """Send records, each in a batch of its own."""
        for number in range(records):
            self._producer.produce(
                self.topic,
                b"payment %d" % number,
                partition=PARTITION,
                on_delivery=lambda error, _: self.answers.append(error is None),
            )

    def wait_for_answers(self, records: int) -> None:
        """Return when this number of records have an answer. Raises Standstill."""
        progress = Progress(f"the answers of {records} batches")
        while len(self.answers) < records:
            progress.note(len(self.answers))
            try:
                self._producer.poll(_LOOK_EVERY_S)
            except KafkaException as error:
                self._note(error.args[0])


def forget(place: JobPlace, name: str) -> None:
    """Run the job `name`, and emit what librdkafka reports and what the log has.

    On a busy machine an answer may arrive before the link is cut. Then the job runs again, with
    slower answers. Raises Standstill and ClusterError.
    """
    slow_ms = SLOW_MS
    with closing(attach(place.cluster)) as cluster:
        leader = _leader(cluster, place.bootstrap_servers, name)
        while True:
            before = _batches(cluster, leader, name)
            payments = Payments(place.bootstrap_servers, name)
            if _restarted_without_answers(cluster, leader, payments, before, slow_ms):
                break
            slow_ms *= 2
    sent, acked = len(payments.answers), sum(payments.answers)
    place.emit(ClientProduced(client=name, sent=sent, acked=acked, error=payments.fatal))
    wait_until_in_sync(place.bootstrap_servers, name, 1, 1)
    found = len(read_to_the_end(place.bootstrap_servers, name)) - before
    place.emit(
        RecordsCounted(
            client=name,
            place=f"{name}-{PARTITION}",
            records=sent,
            missing=max(sent - found, 0),
            again=max(found - sent, 0),
        )
    )


def _restarted_without_answers(
    cluster: Cluster, leader: int, payments: Payments, before: int, slow_ms: int
) -> bool:
    """Restart the leader when it has written the batches and no answer has arrived.

    Each request and each answer takes `slow_ms`. So no answer has arrived if the link is cut within
    twice that time. Return False if the cut came later, or if the leader did not stop cleanly
    as it should. In both cases all records have an answer in the end. `before` is the number of
    batches in the log.
    """
    name = payments.topic
    payments.send(1)
    payments.wait_for_answers(1)
    with _slow(cluster, leader, slow_ms):
        began = time.monotonic()
        payments.send(IN_FLIGHT)
        wait_while_moving(
            lambda: _batches(cluster, leader, name) - before,
            lambda written: written == IN_FLIGHT + 1,
            "the leader to write all batches",
            _LOOK_EVERY_S,
        )
        cluster.perform("cut-clients", {"broker": leader})
        cluster.perform("reset-clients", {"broker": leader})  # the answers on their way are lost
        as_meant = time.monotonic() - began < 2 * slow_ms / 1_000
        if as_meant:
            if name.endswith("killed"):
                cluster.kill(leader)
            else:
                cluster.stop(leader)
                folders = cluster.log_dirs(leader)
                as_meant = all((folder / CLEAN_SHUTDOWN_FILE).exists() for folder in folders)
            cluster.start(leader)
            wait_until_it_leads(cluster.events_address(leader), name)
    payments.wait_for_answers(IN_FLIGHT + 1)
    return as_meant


def wait_until_it_leads(address: EventsAddress, topic: str) -> None:
    """Wait until the broker's process leads the topic.

    A started broker does not lead at once. It would refuse the first of the five batches with
    NOT_LEADER_OR_FOLLOWER, and then recognise the fifth. librdkafka takes that for the
    acknowledgement of all five. Raises Standstill.
    """

    def leads(one: Envelope) -> bool:
        return isinstance(one.event, BecameLeader) and one.event.topic == topic

    with TraceClient(address, since_us=0) as events:
        try:
            events.wait_for(leads, STANDSTILL_S)
        except (TimeoutError, ConnectionError) as error:
            raise Standstill(f"the started broker does not lead {topic}: {error}") from error


@contextmanager
def _slow(cluster: Cluster, leader: int, slow_ms: int) -> Iterator[None]:
    """Slow the leader's clients down during the block. At the end they connect again."""
    cluster.perform("slow-clients", {"broker": leader, "delay_ms": slow_ms})
    try:
        yield
    finally:
        cluster.perform("reset-clients", {"broker": leader})
        cluster.perform("heal-clients", {"broker": leader})


def _leader(cluster: Cluster, servers: str, topic: str) -> int:
    """Return the broker that leads the topic. Create the topic if it is missing."""
    with demo_admin(servers) as admin:
        if topic not in admin.list_topics():
            controller = admin.describe_cluster().controller
            others = [
                each for each in cluster.broker_ids if not controller or each != controller.id
            ]
            make_assigned_topic(servers, topic, {PARTITION: others[:1]})
    return wait_until_in_sync(servers, topic, 1, 1)[PARTITION]


def _batches(cluster: Cluster, broker: int, topic: str) -> int:
    """Return the number of batches in the broker's log of the topic."""
    replica = cluster.replica(broker, topic, PARTITION)
    return sum(1 for segment in replica.glob("*.log") for _ in iter_headers(segment.read_bytes()))
