"""DeleteTopics, CreatePartitions, DeleteRecords, DescribeLogDirs, AlterReplicaLogDirs,
DescribeCluster.
"""

import uuid
from collections.abc import Sequence
from typing import Final

from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
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
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from kafka_edu.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.types import ZERO_UUID
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final = {
    "create y, CreateTopicsRequest v7": (
        "defaults are 2.0.1's: max.message.bytes 1000012, message.format.version 2.0-IV1"
    )
}
NOW: Final = 1_700_000_000_000


def create(
    name: str, partitions: int = 1, configs: dict[str, str] | None = None
) -> CreateTopicsRequest:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreateableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=10_000)


def delete(*names: str, timeout_ms: int = 10_000) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(topic_names=list(names), timeout_ms=timeout_ms)


def delete_v6(*topics: tuple[str | None, uuid.UUID]) -> DeleteTopicsRequest:
    return DeleteTopicsRequest(
        topics=[DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in topics],
        timeout_ms=10_000,
    )


def extend(
    *names: str,
    count: int,
    assignments: Sequence[Sequence[int]] | None = None,
    timeout_ms: int = 10_000,
    validate_only: bool = False,
) -> CreatePartitionsRequest:
    given = (
        None
        if assignments is None
        else [CreatePartitionsAssignment(broker_ids=list(ids)) for ids in assignments]
    )
    topics = [CreatePartitionsTopic(name=name, count=count, assignments=given) for name in names]
    return CreatePartitionsRequest(
        topics=topics, timeout_ms=timeout_ms, validate_only=validate_only
    )


def delete_records(
    *partitions: tuple[str, int, int], timeout_ms: int = 10_000
) -> DeleteRecordsRequest:
    topics = [
        DeleteRecordsTopic(
            name=name, partitions=[DeleteRecordsPartition(partition_index=p, offset=offset)]
        )
        for name, p, offset in partitions
    ]
    return DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms)


def log_dirs(*topics: tuple[str, list[int]]) -> DescribeLogDirsRequest:
    return DescribeLogDirsRequest(
        topics=[
            DescribableLogDirTopic(topic=name, partition_index=partitions)
            for name, partitions in topics
        ]
    )


def move(path: str, topic: str, *partitions: int) -> AlterReplicaLogDirsRequest:
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDir(
                path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))]
            )
        ]
    )


def first_offset(topic: str) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[
            ListOffsetsTopic(
                name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-2)]
            )
        ],
    )


def ask_all(asker: Asker) -> None:
    ask_cluster(asker)
    ask_log_dirs(asker)
    ask_create_partitions(asker)
    ask_delete_records(asker)
    ask_delete_topics(asker)


def ask_cluster(asker: Asker) -> None:
    asker.ask("the cluster", DescribeClusterRequest(), 0)
    asker.ask(
        "the cluster and what I may",
        DescribeClusterRequest(include_cluster_authorized_operations=True),
        0,
    )


def ask_log_dirs(asker: Asker) -> None:
    asker.ask("no topics yet", DescribeLogDirsRequest(topics=None), 1)
    asker.ask("create", create("l", 2), 4)
    asker.ask("create", create("m"), 4)
    for version in range(3):
        asker.ask("all log dirs", DescribeLogDirsRequest(topics=None), version)
    asker.ask("log dirs of one", log_dirs(("l", [0])), 2)
    asker.ask("log dirs of one, twice", log_dirs(("l", [0, 0]), ("l", [0])), 2)
    asker.ask("log dirs of an unknown topic", log_dirs(("nope", [0])), 2)
    asker.ask("log dirs of an unknown partition", log_dirs(("l", [7])), 2)
    asker.ask("log dirs of nothing", log_dirs(), 2)
    for version in range(3):
        asker.ask("move to a dir that is none", move("/nope", "l", 0, 1), version)
    asker.ask("move to a relative dir", move("nope", "l", 0), 2)
    asker.ask("move to the empty dir", move("", "l", 0), 2)
    asker.ask("move what is unknown to a dir that is none", move("/nope", "nope", 0), 2)
    asker.ask("move nothing", AlterReplicaLogDirsRequest(dirs=[]), 2)


def ask_create_partitions(asker: Asker) -> None:
    asker.ask("create", create("p", 2), 4)
    for version in range(4):
        asker.ask("one more", extend("p", count=3 + version), version)
    asker.ask("only asked", extend("p", count=9, validate_only=True), 1)
    for count in (6, 5, 0, -1):
        asker.ask(f"{count} partitions", extend("p", count=count), 1)
    for name in ("nope", "a b", ""):
        asker.ask(f"extend {name!r}", extend(name, count=3), 1)
    asker.ask("extend twice", extend("p", "p", count=9), 1)
    asker.ask("extend nothing", CreatePartitionsRequest(topics=[], timeout_ms=1000), 1)
    for assignments in ([[0]], [[0], [0]], [[7]], [[]], [[0, 0]], [], [[-1]], [[0, 1]]):
        asker.ask(
            f"extend to {assignments}",
            extend("p", count=7, assignments=assignments, validate_only=True),
            1,
        )
    asker.ask("extend without time", extend("p", count=7, timeout_ms=0), 1)
    asker.ask("extend with less than no time", extend("p", count=8, timeout_ms=-1), 1)
    asker.ask(
        "the topics",
        MetadataRequest(topics=None),
        4,
        until=lambda r: sum(len(t.partitions) for t in r.topics) == 11,
    )


def ask_delete_records(asker: Asker) -> None:
    asker.ask("create", create("r", 2), 4)
    asker.ask("create compacted", create("c", 1, {"cleanup.policy": "compact"}), 4)
    records = build_batch([Record(i, NOW + i, b"k", b"v") for i in range(10)])
    data = [
        TopicProduceData(name="r", partition_data=[PartitionProduceData(index=0, records=records)])
    ]
    asker.ask("ten records", ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=data), 7)
    for version in range(3):
        asker.ask(f"up to {3 + version}", delete_records(("r", 0, 3 + version)), version)
    asker.ask("where it starts", first_offset("r"), 5)
    for offset in (2, -2, 11, 10):
        asker.ask(f"up to {offset}", delete_records(("r", 0, offset)), 2)
    asker.ask("up to the high watermark", delete_records(("r", 1, -1)), 2)
    for topic, partition in (("nope", 0), ("r", 5), ("a b", 0), ("__consumer_offsets", 0)):
        asker.ask(f"records of {topic} {partition}", delete_records((topic, partition, 1)), 2)
    asker.ask("records of a compacted topic", delete_records(("c", 0, 0)), 2)
    asker.ask("records, twice", delete_records(("r", 0, 1), ("r", 0, 2)), 2)
    asker.ask("records of several", delete_records(("r", 0, 10), ("nope", 0, 10), ("r", 1, 10)), 2)
    asker.ask("records without time", delete_records(("r", 0, 5), timeout_ms=0), 2)
    asker.ask("records of nothing", delete_records(), 2)


def ask_delete_topics(asker: Asker) -> None:
    for version in range(6):
        asker.ask(f"create d{version}", create(f"d{version}"), 4)
        asker.ask("delete", delete(f"d{version}"), version)
    asker.ask("create d6", create("d6"), 4)
    asker.ask("delete", delete_v6(("d6", ZERO_UUID)), 6)
    topic_id = asker.ask("create y", create("y"), 7).topics[0].topic_id
    asker.ask("delete by name and id", delete_v6(("y", topic_id)), 6)
    asker.ask("delete by id", delete_v6((None, topic_id)), 6)
    asker.ask("delete by an unknown id", delete_v6((None, uuid.UUID(int=5))), 6)
    asker.ask("delete by neither", delete_v6((None, ZERO_UUID)), 6)
    asker.ask("delete what is not", delete("nope", "a b", ""), 1)
    asker.ask("delete what is not", delete_v6(("nope", ZERO_UUID)), 6)
    asker.ask("create x", create("x"), 4)
    asker.ask("delete twice", delete("x", "x"), 5)
    asker.ask("delete nothing", delete(), 5)
    asker.ask("create z", create("z"), 4)
    asker.ask("delete with less than no time", delete("z", timeout_ms=-1), 5)
    asker.ask(
        "until it is gone",
        MetadataRequest(topics=None),
        4,
        until=lambda r: all(t.name != "z" for t in r.topics),
    )
