"""A replica moves between log dirs in a simulated cluster. A client orders the move; it is
throttled, killed and resumed. `why` says what holds the move back.
"""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from kafka_edu.cli.why_command import why
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.instruments.recording import Recorder
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResponse,
)
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope

T = TopicPartition("web", 0)
RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class World:
    def __init__(self) -> None:
        properties = {"log.dirs": "/a,/b", "replica.fetch.max.bytes": "100"}
        self.cluster = SimCluster(11, (1, 2), properties)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        assert self.run(self.client.create_topic(T.topic, 1, 2)) is Errors.NONE
        self.cluster.advance(2000)
        self.broker = self.run(self.client.leader_of(T))

    def run(self, work: Any) -> Any:
        return self.cluster.run_as(self.client.process, work)

    async def ask(self, request: Any, response: Any, version: int) -> Any:
        connection = NetworkClient(self.cluster.network.transport(), "admin")
        await connection.connect("127.0.0.1", self.cluster.port(self.broker), 1000)
        answer = await connection.ask(request, version, response, 30_000)
        connection.close()
        return answer

    def throttle(self, rate: str) -> None:
        config = AlterableConfig(name=RATE, value=rate)
        resource = AlterConfigsResource(
            resource_type=4, resource_name=str(self.broker), configs=[config]
        )
        self.run(self.ask(AlterConfigsRequest(resources=[resource]), AlterConfigsResponse, 1))
        self.cluster.advance(1000)

    def order(self, log_dir: str) -> int:
        topic = AlterReplicaLogDirTopic(name=T.topic, partitions=[T.partition])
        wanted = AlterReplicaLogDir(path=log_dir, topics=[topic])
        request = AlterReplicaLogDirsRequest(dirs=[wanted])
        answer = self.run(self.ask(request, AlterReplicaLogDirsResponse, 2))
        error: int = answer.results[0].partitions[0].error_code
        return error

    def log_dir(self) -> str:
        replication = self.cluster.brokers[self.broker].server.replication  # type: ignore[union-attr]
        assert replication is not None
        partition = replication.replicas.partitions.get(T)
        assert partition is not None
        return partition.local_log().log_dir

    def why(self, tmp_path: Path) -> tuple[str, Any]:
        sampled: list[Envelope] = []
        for broker in self.cluster.brokers.values():
            if broker.tracer is not None:
                sampled += [*broker.tracer.snapshot(), *broker.tracer.gauges()]
        path, answer = tmp_path / "sim.jsonl.gz", tmp_path / "answer.json"
        recorder = Recorder(path, "sim")
        recorder.write([*self.cluster.sink.events, *sampled])
        recorder.close()
        result = CliRunner().invoke(why, ["--replay", str(path), "--json", str(answer)])
        assert result.exit_code == 0, result.output
        return " ".join(result.output.split()), json.loads(answer.read_text())["moves"]


def test_a_throttled_move_is_killed_resumed_and_done(tmp_path: Path) -> None:
    world = World()
    sent = [world.client.produce(T, f"value {number}", -1) for number in range(30)]
    world.cluster.advance(5000)
    here = world.log_dir()
    there = "/b" if here == "/a" else "/a"
    world.throttle("1")
    assert world.order(there) == Errors.NONE
    world.cluster.advance(5000)
    words, (move,) = world.why(tmp_path)
    assert "1 replica on the way to another log dir" in words
    left = move["log_end_offset"] - move["future_log_end_offset"]
    assert 0 < left < 30
    assert (
        f"broker {world.broker}: web-0 to {there}: {left} records of 30 left; it waits, because"
        f" {RATE} is reached"
    ) in words
    world.cluster.kill(world.broker)
    world.cluster.advance(20_000)
    world.cluster.start(world.broker)
    world.cluster.advance(5000)
    assert world.log_dir() == here
    world.throttle("1000000")
    sent += [world.client.produce(T, f"later {number}", -1) for number in range(5)]
    world.cluster.advance(20_000)
    assert world.log_dir() == there
    words, moves = world.why(tmp_path)
    assert moves == []
    assert "another log dir" not in words
    assert all(one.acked is not None for one in sent)
    ends = {
        partition.local_log().log_end_offset
        for broker in world.cluster.brokers.values()
        for partition in broker.server.replication.replicas.partitions  # type: ignore[union-attr]
        if partition.topic_partition == T
    }
    assert ends == {35}
    world.cluster.close()
