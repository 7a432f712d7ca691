"""Our broker on the damaged log dirs, one dir for each case, in virtual time."""

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from kafka_edu.protocol.messages.create_topics import (
    CreatableTopic,
    CreateableTopicConfig,
    CreateTopicsRequest,
)
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.log import CheckpointUnreadable, LogDirFailed, LogRepaired
from tests.conformance.brokers import SimulatedBroker
from tests.conformance.replay import Asker
from tests.unit.log.corruption.cases import CASES, Case, Flip, Planted, config_of, named
from tests.unit.log.corruption.judge import Outcome, judge
from tests.unit.log.corruption.written import written

PlantedT = TypeVar("PlantedT", Case, Flip)
Told = LogRepaired | CheckpointUnreadable | LogDirFailed


class Found(NamedTuple):
    """The notices of our broker, and the answers to its clients."""

    told: Sequence[Told]
    outcome: Outcome


def creation(cases: Sequence[Planted]) -> CreateTopicsRequest:
    """Return the request that creates the topics of the cases."""
    return CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=case.topic,
                num_partitions=1,
                replication_factor=1,
                assignments=[],
                configs=[
                    CreateableTopicConfig(name=key, value=value)
                    for key, value in config_of(case.kind).items()
                ],
            )
            for case in cases
        ],
        timeout_ms=60_000,
    )


def state_znode(case: Planted) -> tuple[str, bytes]:
    """Return path and data of the znode with a partition's state. Its leader epoch is higher than
    the two epochs of the written log.
    """
    return (
        f"/brokers/topics/{case.topic}/partitions/0/state",
        b'{"controller_epoch":1,"leader":0,"version":1,"leader_epoch":5,"isr":[0]}',
    )


def _raise_epochs(cluster: SimCluster, cases: Sequence[Planted]) -> None:
    process = SimProcess("epochs")
    client = MemoryZkClient(cluster.zookeeper, 6_000, "epochs")

    async def write() -> None:
        await client.start(lambda _: None, lambda _: None, 6_000)
        for case in cases:
            await client.set(*state_znode(case))
        await client.close()

    cluster.run_as(process, write())


def _put(disk: MemoryFileSystem, log_dir: str, files: Sequence[tuple[str, bytes]]) -> None:
    for name in disk.list(log_dir):
        path = f"{log_dir}/{name}"
        if disk.is_dir(path):
            disk.remove_tree(path)
        elif name != "meta.properties":
            disk.remove(path)
    for path, data in files:
        disk.make_dirs(f"{log_dir}/{path}".rpartition("/")[0])
        disk.write_atomically(f"{log_dir}/{path}", data)


def run(cases: Sequence[PlantedT]) -> dict[PlantedT, Found]:
    """Start a broker on the damaged dirs of these cases, and judge each."""
    dirs = {case: f"/logs/{number}" for number, case in enumerate(cases)}
    broker = SimulatedBroker(
        {
            "log.dirs": ",".join(dirs.values()),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
        }
    )
    try:
        asker = Asker(broker)
        created = asker.ask("create", creation(cases), 2)
        assert not [topic for topic in created.topics if topic.error_code], created
        cluster = broker.cluster
        cluster.stop(0)
        _raise_epochs(cluster, cases)
        disk = cluster.brokers[0].file_system
        for case, log_dir in dirs.items():
            _put(disk, log_dir, list(named(case.files(written(clean=case.clean)), case.topic)))
        before = len(cluster.sink.events)
        cluster.start(0)
        cluster.advance(1000)
        asker = Asker(broker)
        outcomes = {case: judge(asker, case.topic, written(clean=case.clean)) for case in cases}
        told = [envelope.event for envelope in cluster.sink.events[before:]]
        return {
            case: Found(_about(told, log_dir), outcomes[case]) for case, log_dir in dirs.items()
        }
    finally:
        broker.close()


def _about(events: Sequence[Event], log_dir: str) -> list[Told]:
    return [event for event in events if isinstance(event, Told) and event.log_dir == log_dir]


@cache
def all_found() -> dict[Case, Found]:
    """Return the whole table."""
    return run(CASES)
