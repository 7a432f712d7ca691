"""Replicas of a log in message format v0 or v1 agree by the high watermark, because such messages
carry no leader epoch.
"""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster

T_0 = TopicPartition("t", 0)
LOG = "/data/t-0/00000000000000000000.log"


@pytest.mark.parametrize(("release", "magic"), [("0.9.0", 0), ("0.10.2", 1)])
def test_replicas_are_the_same_after_the_leader_was_killed(release: str, magic: int) -> None:
    cluster = SimCluster(
        5, (1, 2, 3), {"log.message.format.version": release, "min.insync.replicas": "2"}
    )
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 1, 3)) is Errors.NONE
    cluster.advance(1000)
    acked: list[str] = []

    def produce(count: int) -> None:
        for _ in range(count):
            answer = client.produce(T_0, f"value {len(acked)}", -1)
            cluster.advance(200)
            assert answer.acked is not None
            assert (answer.acked.error, answer.acked.offset) == (Errors.NONE, len(acked))
            acked.append(answer.value)

    for _ in range(2):
        produce(5)
        leader = cluster.run_as(client.process, client.leader_of(T_0))
        lost = client.produce(T_0, "never acked", -1)
        cluster.kill(leader)
        cluster.advance(20_000)
        assert lost.acked is None or lost.acked.error is not Errors.NONE
        produce(5)
        cluster.start(leader)
        cluster.advance(20_000)
    cluster.advance(10_000)
    logs = {
        broker_id: broker.file_system.read(LOG) for broker_id, broker in cluster.brokers.items()
    }
    cluster.close()
    assert len(set(logs.values())) == 1
    assert {header.magic for _, header in iter_headers(logs[1])} == {magic}
    assert [record.value for record in read_all(logs[1])] == [value.encode() for value in acked]
