"""Apache Kafka 2.8.2 rolls and deletes the same segments as our broker, for the same batches.

Each case of `tests/unit/log/segment_cases.py` is a topic on an Apache Kafka and on a simulated
broker of ours. In the end both brokers have segments with the same base offsets, and the same log
start offset. This must still be so after both brokers have been stopped and started again.
"""

import time
from collections.abc import Callable, Sequence
from typing import Final

import pytest

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.conformance.brokers import Broker, ListeningBroker, SimulatedBroker
from tests.conformance.cases.basics import offsets, produce
from tests.conformance.replay import Asker
from tests.interop.external_programs import apache_kafka_jars
from tests.unit.log.segment_cases import CASES, SegmentCase, batch_of
from tests.waiting import wait_for

pytestmark = pytest.mark.interop
SETTINGS: Final = {
    "log.retention.check.interval.ms": "500",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "file.delete.delay.ms": "500",
    "log.message.timestamp.difference.max.ms": "9223372036854775807",
}
INITIAL_DELAY_MS: Final = 30_000
"""Retention begins so long after the start, in both."""
TOPIC: Final = 2
SET: Final = 0
Ends = dict[str, tuple[tuple[int, ...], int]]
"""Case → the base offsets of its segments, and its log start offset."""
EXPECTED: Final[Ends] = {case.name: (case.bases, case.start) for case in CASES}


def write(broker: Broker, now_ms: int) -> None:
    """Create a topic for each case, and write the case's batches. Then delete records and change
    the topic's configuration, if the case says so.
    """
    asker = Asker(broker)
    topics = [
        CreatableTopic(
            name=case.name,
            num_partitions=1,
            replication_factor=1,
            assignments=[],
            configs=_created_with(case),
        )
        for case in CASES
    ]
    created = asker.ask("create", CreateTopicsRequest(topics=topics, timeout_ms=60_000), 2)
    assert not [topic for topic in created.topics if topic.error_code], created
    for case in CASES:
        for number in range(len(case.batches)):
            answer = asker.ask(
                "write",
                produce(batch_of(case, number, now_ms), topic=case.name),
                7,
                until=lambda a: a.responses[0].partition_responses[0].error_code not in (3, 5, 6),
            )
            assert answer.responses[0].partition_responses[0].error_code == 0, (case.name, answer)
        if case.delete_before:
            wanted = DeleteRecordsPartition(partition_index=0, offset=case.delete_before)
            asker.ask(
                "delete",
                DeleteRecordsRequest(
                    topics=[DeleteRecordsTopic(name=case.name, partitions=[wanted])],
                    timeout_ms=5000,
                ),
                1,
            )
    changes = [
        AlterConfigsResource(
            resource_type=TOPIC,
            resource_name=case.name,
            configs=[
                AlterableConfig(name=key, config_operation=SET, value=value)
                for key, value in case.then.items()
            ],
        )
        for case in CASES
        if case.then
    ]
    asker.ask("then", IncrementalAlterConfigsRequest(resources=changes, validate_only=False), 0)


def _created_with(case: SegmentCase) -> Sequence[CreateableTopicConfig]:
    """Return the settings with which the case's topic is created. Without retention.ms in the case,
    no record may expire while the batches are written.
    """
    config = {"retention.ms": "-1", **case.config}
    return [CreateableTopicConfig(name=key, value=value) for key, value in config.items()]


def ends(broker: Broker, bases_of: Callable[[str], tuple[int, ...]]) -> Ends:
    asker = Asker(broker)
    return {
        case.name: (
            bases_of(case.name),
            int(
                asker.ask(
                    "start",
                    offsets(-2, topic=case.name),
                    2,
                    until=lambda a: a.topics[0].partitions[0].error_code == 0,
                )
                .topics[0]
                .partitions[0]
                .offset
            ),
        )
        for case in CASES
    }


@pytest.mark.rotated
def test_our_segments_and_those_of_apache_kafka() -> None:
    jars = apache_kafka_jars()
    properties = [f"{key}={value}" for key, value in SETTINGS.items()]
    with apache_kafka(jars, 1, properties, java=SMALL) as theirs:

        def their_bases(topic: str) -> tuple[int, ...]:
            folder = theirs.log_dir(0) / f"{topic}-0"
            return tuple(sorted(int(path.stem) for path in folder.glob("*.log")))

        def have_they() -> bool:
            broker = ListeningBroker("127.0.0.1", theirs.ports[0])
            found.clear()
            found.update(ends(broker, their_bases))
            return found == EXPECTED

        def different() -> str:
            return str({name: end for name, end in found.items() if end != EXPECTED[name]})

        found: Ends = {}
        write(ListeningBroker("127.0.0.1", theirs.ports[0]), round(time.time() * 1000))
        wait_for(have_they, different)
        theirs.stop(0)
        theirs.start(0)
        theirs.await_listening(0)
        wait_for(have_they, different)


def test_the_same_on_our_broker() -> None:
    """The broker is simulated as a whole, with its clock, its retention task and its files."""
    broker = SimulatedBroker(SETTINGS)
    try:
        cluster = broker.cluster
        disk = cluster.brokers[0].file_system

        def our_bases(topic: str) -> tuple[int, ...]:
            return tuple(
                int(name[:20]) for name in disk.list(f"/data/{topic}-0") if name.endswith(".log")
            )

        write(broker, cluster.time.milliseconds())
        cluster.advance(INITIAL_DELAY_MS + 5_000)
        assert ends(broker, our_bases) == EXPECTED
        cluster.stop(0)
        cluster.start(0)
        cluster.advance(INITIAL_DELAY_MS + 5_000)
        assert ends(broker, our_bases) == EXPECTED
    finally:
        broker.close()
