"""Apply the same changes to brokers of Apache Kafka 2.0.1 and 2.8.2, and to ours, and compare all
znodes that they leave, path by path, with their content.

`python -m tests.interop.znode_trees` records Apache Kafka's into tests/golden/zk/tree-VERSION.json.
A tree maps a path to its data as text, or to null for no data. The data of an ephemeral node begins
with `ephemeral:`. Values that must differ are replaced: times, ports, random ids, and the id of the
controller.
"""

import json
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, ConfigResource
from confluent_kafka.cimpl import NewPartitions, NewTopic
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.conformance.brokers import ListeningBroker
from tests.conformance.replay import Asker
from tests.interop.client_contract import rd
from tests.waiting import PATIENCE_S, wait_for

Tree = dict[str, str | None]

GOLDEN: Final = Path(__file__).parents[1] / "golden" / "zk"

BROKERS: Final = 3
QUIET_S: Final = 2.0
SETTINGS: Final = {
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
}
PLACED: Final = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
_REPLACED: Final = (
    (re.compile(r'("timestamp":")\d+'), r"\1TIME"),
    (re.compile(r"127\.0\.0\.1:\d+"), "HOST:PORT"),
    (re.compile(r'("port":)\d+'), r"\1PORT"),
    (re.compile(r'("topic_id":")[^"]+'), r"\1ID"),
)
#: Values replaced at these paths: chance decides which broker it is.
_REPLACED_AT: Final = {
    "/cluster/id": (re.compile(r'("id":")[^"]+'), r"\1ID"),
    "/controller": (re.compile(r'("brokerid":)\d'), r"\1ONE"),
    "/latest_producer_id_block": (
        re.compile(r'("broker":)\d(,"block_start":)"\d+"(,"block_end":)"\d+"'),
        r"\1ONE\2FROM\3TO",
    ),
}
_TOPIC: Final = re.compile(r"/brokers/topics/[^/]+")


class Story:
    """Makes the changes on a cluster, whether it is Apache Kafka's or ours."""

    def __init__(self, bootstrap: str, connect: str) -> None:
        self.bootstrap = bootstrap
        self.zk = KazooClient(connect)
        self.zk.start(PATIENCE_S)
        self.admin = AdminClient(rd(bootstrap))

    def close(self) -> None:
        self.zk.stop()
        self.zk.close()

    def start(self) -> None:
        """Do nothing: the brokers are up. The tree after the start is compared too."""

    def create(self) -> None:
        configs = {"retention.ms": "3600000", "min.insync.replicas": "2"}
        for topic in (
            NewTopic("walk", 3, replica_assignment=PLACED, config=configs),
            NewTopic("plain", 1, replica_assignment=[[1, 0]]),
        ):
            self.admin.create_topics([topic])[topic.topic].result(PATIENCE_S)

    def add_partitions(self) -> None:
        self.admin.create_partitions([NewPartitions("walk", 4, [[0, 1, 2]])])["walk"].result(
            PATIENCE_S
        )

    def alter_configs(self) -> None:
        for kind, name, key, value in (
            (ConfigResource.Type.TOPIC, "walk", "retention.ms", "7200000"),
            (ConfigResource.Type.BROKER, "1", "num.io.threads", "9"),
        ):
            self._alter(ConfigResource(kind, name), key, value)

    def _alter(self, resource: ConfigResource, key: str, value: str) -> None:
        resource.set_config(key, value)
        self.admin.alter_configs([resource])[resource].result(PATIENCE_S)

    def produce_idempotently(self) -> None:
        """Produce with an idempotent producer, so that a block of producer ids is allocated."""
        producer = Producer(rd(self.bootstrap, enable_idempotence=True))
        producer.produce("walk", b"1", partition=0)
        assert producer.flush(PATIENCE_S) == 0

    def commit_into_zookeeper(self) -> None:
        host, _, port = self.bootstrap.partition(",")[0].rpartition(":")
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=0, committed_offset=7, committed_metadata=""
            )
        ]
        request = OffsetCommitRequest(
            group_id="old", topics=[OffsetCommitRequestTopic(name="walk", partitions=partitions)]
        )
        asker = Asker(ListeningBroker(host, int(port)))
        answer = asker.ask("commit", request, 0)
        asker.close()
        assert answer.topics[0].partitions[0].error_code == 0

    def elect_preferred(self) -> None:
        self.zk.create(
            "/admin/preferred_replica_election",
            b'{"version":1,"partitions":[{"topic":"walk","partition":1}]}',
        )

    def reassign(self) -> None:
        self.zk.create(
            "/admin/reassign_partitions",
            b'{"version":1,"partitions":[{"topic":"plain","partition":0,"replicas":[2,0]}]}',
        )
        wait_for(
            lambda: (
                self._data("/brokers/topics/plain/partitions/0/state").get("isr")
                in ([2, 0], [0, 2])
            ),
            "the replicas have moved",
        )

    def _data(self, path: str) -> Mapping[str, object]:
        document: Mapping[str, object] = json.loads(self.zk.get(path)[0])
        return document

    def delete_topic(self) -> None:
        self.admin.delete_topics(["plain"])["plain"].result(PATIENCE_S)

    def delete_controller(self) -> None:
        """Delete the controller's znode by hand, so that another controller is elected."""
        self.zk.delete("/controller")

    def tree(self) -> Tree:
        found: Tree = {}
        self._walk("", found)
        return {path: text for path, text in found.items() if not path.startswith("/zookeeper")}

    def _walk(self, path: str, found: Tree) -> None:
        try:
            data, stat = self.zk.get(path or "/")
            children = sorted(self.zk.get_children(path or "/"))
        except NoNodeError:  # deleted meanwhile
            return
        if path:
            text = None if data is None else _plain(path, data.decode())
            found[path] = f"ephemeral:{text}" if stat.ephemeralOwner else text
        for name in children:
            self._walk(f"{path}/{name}", found)


def _plain(path: str, text: str) -> str:
    for pattern, instead in _REPLACED:
        text = pattern.sub(instead, text)
    if path in _REPLACED_AT:
        pattern, instead = _REPLACED_AT[path]
        text = pattern.sub(instead, text)
    if _TOPIC.fullmatch(path):  # 2.0.1 writes the partitions in the order of a hash table
        document = json.loads(text)
        return json.dumps(
            document | {"partitions": dict(sorted(document["partitions"].items()))},
            separators=(",", ":"),
        )
    return text


STEPS: Final[tuple[Callable[[Story], None], ...]] = (
    Story.start,
    Story.create,
    Story.add_partitions,
    Story.alter_configs,
    Story.produce_idempotently,
    Story.commit_into_zookeeper,
    Story.elect_preferred,
    Story.reassign,
    Story.delete_topic,
    Story.delete_controller,
)


def golden(version: str) -> Mapping[str, Tree]:
    """Return the tree after each step."""
    trees: Mapping[str, Tree] = json.loads(
        (GOLDEN / f"tree-{version}.json").read_text(encoding="utf-8")
    )
    return trees


def settled(story: Story) -> Tree:
    """Return the tree when it has not changed for two seconds."""
    before, since = story.tree(), time.monotonic()
    while time.monotonic() < since + QUIET_S:
        time.sleep(0.1)  # nothing notifies the recorder that the cluster is quiet
        now = story.tree()
        if now != before:
            before, since = now, time.monotonic()
    return before


def main() -> None:
    for version in ("2.0.1", "2.8.2"):
        properties = [f"{key}={value}" for key, value in (SETTINGS | OF_A_SMALL_HEAP).items()]
        with apache_kafka(kafka_jars(version), BROKERS, properties, java=SMALL) as kafka:
            story = Story(kafka.bootstrap, kafka.zookeeper)
            trees = {}
            for step in STEPS:
                step(story)
                trees[step.__name__] = settled(story)
            story.close()
        (GOLDEN / f"tree-{version}.json").write_text(
            json.dumps(trees, indent=1) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
