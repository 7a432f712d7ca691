"""Make requests of every kind that a client sends, with the time limit for each answer.

The soak and the search by seeds send these requests to every broker, including brokers that do not
lead the partition. An error counts as an answer. The aim is to find a request that gets no answer.
"""

import random
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest
from kafka_edu.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafka_edu.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_edu.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_edu.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_edu.protocol.messages.leave_group import LeaveGroupRequest
from kafka_edu.protocol.messages.list_groups import ListGroupsRequest
from kafka_edu.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch

CLIENT_TIMEOUT_MS: Final = 10_000
"""Time limit in ms for requests without their own time-out.

They may wait behind requests for which the broker needs ZooKeeper or the controller.
"""
GROUP: Final = "probe"
FETCH_MAX_BYTES: Final = 1 << 16


class Probe(NamedTuple):
    """One request, and the time within which it must be answered."""

    kind: str
    request: Message
    version: int
    allowed_ms: int
    """Time-out in ms. The broker must answer within this time plus the grace period."""


def produce(
    chance: random.Random,
    tp: TopicPartition,
    now_ms: int,
    *,
    acks: int = -1,
    timeout_ms: int | None = None,
    batch: bytes | None = None,
) -> Probe:
    """Return a Produce request with one batch for one partition, like those that librdkafka sends.

    Without `batch`, the batch has one record of random size.
    """
    timeout_ms = chance.choice((500, 1500, 5000)) if timeout_ms is None else timeout_ms
    if batch is None:
        batch = build_batch([Record(0, now_ms, None, b"probe" * chance.randint(1, 40))])
    data = TopicProduceData(
        name=tp.topic, partition_data=[PartitionProduceData(index=tp.partition, records=batch)]
    )
    return Probe(
        "Produce",
        ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data]),
        7,
        CLIENT_TIMEOUT_MS if acks >= 0 else timeout_ms,
    )


def fetch(
    chance: random.Random,
    tp: TopicPartition,
    offset: int,
    *,
    max_wait_ms: int | None = None,
    min_bytes: int | None = None,
) -> Probe:
    """Return a consumer's Fetch request without a fetch session.

    At the end of the partition, the broker delays the answer for up to `max_wait_ms`.
    """
    max_wait_ms = chance.choice((0, 100, 500, 2000)) if max_wait_ms is None else max_wait_ms
    partition = FetchPartition(
        partition=tp.partition, fetch_offset=offset, partition_max_bytes=FETCH_MAX_BYTES
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=chance.choice((1, 1, 1 << 20)) if min_bytes is None else min_bytes,
        max_bytes=FETCH_MAX_BYTES,
        topics=[FetchTopic(topic=tp.topic, partitions=[partition])],
        forgotten_topics_data=[],
    )
    return Probe("Fetch", request, 11, max_wait_ms)


class ProbeRequests:
    """Make random requests of all kinds. `chance` makes every random choice."""

    def __init__(
        self,
        chance: random.Random,
        partitions: Sequence[TopicPartition],
        brokers: Sequence[int],
        now_ms: Callable[[], int],
    ) -> None:
        self._chance = chance
        self._partitions = partitions
        self._brokers = brokers
        self._now_ms = now_ms
        self._topics = 0
        self.kinds: dict[str, Callable[[], Probe]] = {
            "Produce": self.produce,
            "Fetch": self._fetch,
            "ApiVersions": lambda: self._plain("ApiVersions", ApiVersionsRequest(), 2),
            "Metadata": self._metadata,
            "ListOffsets": self._list_offsets,
            "OffsetForLeaderEpoch": self._offset_for_leader_epoch,
            "FindCoordinator": lambda: self._plain(
                "FindCoordinator", FindCoordinatorRequest(key=GROUP, key_type=0), 2
            ),
            "OffsetCommit": self._offset_commit,
            "OffsetFetch": self._offset_fetch,
            "JoinGroup": self._join_group,
            "SyncGroup": lambda: self._plain(
                "SyncGroup",
                SyncGroupRequest(group_id=GROUP, generation_id=1, member_id="nobody"),
                2,
            ),
            "Heartbeat": lambda: self._plain(
                "Heartbeat",
                HeartbeatRequest(group_id=GROUP, generation_id=1, member_id="nobody"),
                2,
            ),
            "LeaveGroup": lambda: self._plain(
                "LeaveGroup", LeaveGroupRequest(group_id=GROUP, member_id="nobody"), 2
            ),
            "ListGroups": lambda: self._plain("ListGroups", ListGroupsRequest(), 2),
            "DescribeGroups": lambda: self._plain(
                "DescribeGroups", DescribeGroupsRequest(groups=[GROUP]), 2
            ),
            "DescribeConfigs": self._describe_configs,
            "DescribeLogDirs": lambda: self._plain(
                "DescribeLogDirs", DescribeLogDirsRequest(topics=None), 1
            ),
            "InitProducerId": lambda: self._plain(
                "InitProducerId",
                InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=10_000),
                1,
            ),
            "DeleteRecords": self._delete_records,
            "ElectLeaders": self._elect_leaders,
            "CreateTopics": self._create_topics,
            "CreatePartitions": self._create_partitions,
            "DeleteTopics": self._delete_topics,
        }

    def draw(self) -> Probe:
        """Return a random request: ½ of them are Produce, ¼ are Fetch, and the others are of any
        kind.
        """
        dice = self._chance.random()
        if dice < 0.5:
            return self.produce()
        if dice < 0.75:
            return self._fetch()
        return self.kinds[self._chance.choice(list(self.kinds))]()

    def _partition(self) -> TopicPartition:
        return self._chance.choice(self._partitions)

    def _plain(self, kind: str, request: Message, version: int) -> Probe:
        return Probe(kind, request, version, CLIENT_TIMEOUT_MS)

    def produce(self) -> Probe:
        """Return a Produce request for a random partition.

        In three of four cases it has acks=all.
        """
        return produce(
            self._chance,
            self._partition(),
            self._now_ms(),
            acks=self._chance.choice((-1, -1, -1, 1)),
        )

    def _fetch(self) -> Probe:
        return fetch(self._chance, self._partition(), self._chance.choice((0, 10, 10_000)))

    def _metadata(self) -> Probe:
        topics = self._chance.choice((None, [MetadataRequestTopic(name=self._partition().topic)]))
        return self._plain(
            "Metadata", MetadataRequest(topics=topics, allow_auto_topic_creation=False), 8
        )

    def _list_offsets(self) -> Probe:
        tp = self._partition()
        wanted = ListOffsetsPartition(
            partition_index=tp.partition, timestamp=self._chance.choice((-1, -2, self._now_ms()))
        )
        topics = [ListOffsetsTopic(name=tp.topic, partitions=[wanted])]
        return self._plain("ListOffsets", ListOffsetsRequest(replica_id=-1, topics=topics), 5)

    def _offset_for_leader_epoch(self) -> Probe:
        tp = self._partition()
        wanted = OffsetForLeaderPartition(partition=tp.partition, leader_epoch=0)
        topics = [OffsetForLeaderTopic(topic=tp.topic, partitions=[wanted])]
        return self._plain("OffsetForLeaderEpoch", OffsetForLeaderEpochRequest(topics=topics), 2)

    def _offset_commit(self) -> Probe:
        tp = self._partition()
        wanted = OffsetCommitRequestPartition(
            partition_index=tp.partition, committed_offset=1, committed_metadata=None
        )
        topics = [OffsetCommitRequestTopic(name=tp.topic, partitions=[wanted])]
        return self._plain(
            "OffsetCommit",
            OffsetCommitRequest(
                group_id=f"{GROUP}-{self._chance.randint(0, 9)}", generation_id=-1, topics=topics
            ),
            6,
        )

    def _offset_fetch(self) -> Probe:
        topics = self._chance.choice(
            (None, [OffsetFetchRequestTopic(name=self._partition().topic, partition_indexes=[0])])
        )
        return self._plain(
            "OffsetFetch",
            OffsetFetchRequest(group_id=f"{GROUP}-{self._chance.randint(0, 9)}", topics=topics),
            5,
        )

    def _join_group(self) -> Probe:
        rebalance_ms = self._chance.choice((1000, 3000))
        request = JoinGroupRequest(
            group_id=f"{GROUP}-{self._chance.randint(0, 9)}",
            session_timeout_ms=6000,
            rebalance_timeout_ms=rebalance_ms,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        # The group uses the longest rebalance time-out of its members. This time may start again
        # when a member joins late.
        return Probe("JoinGroup", request, 2, CLIENT_TIMEOUT_MS)

    def _describe_configs(self) -> Probe:
        topic = DescribeConfigsResource(
            resource_type=2, resource_name=self._partition().topic, configuration_keys=None
        )
        return self._plain("DescribeConfigs", DescribeConfigsRequest(resources=[topic]), 2)

    def _delete_records(self) -> Probe:
        tp = self._partition()
        timeout_ms = self._chance.choice((200, 1000))
        topics = [
            DeleteRecordsTopic(
                name=tp.topic,
                partitions=[DeleteRecordsPartition(partition_index=tp.partition, offset=0)],
            )
        ]
        return Probe(
            "DeleteRecords",
            DeleteRecordsRequest(topics=topics, timeout_ms=timeout_ms),
            1,
            CLIENT_TIMEOUT_MS,
        )

    def _elect_leaders(self) -> Probe:
        tp = self._partition()
        wanted = [TopicPartitions(topic=tp.topic, partition_id=[tp.partition])]
        return Probe(
            "ElectLeaders",
            ElectLeadersRequest(election_type=0, topic_partitions=wanted, timeout_ms=1000),
            2,
            CLIENT_TIMEOUT_MS,
        )

    def _topic(self) -> str:
        return f"probe-churn-{self._topics % 8}"

    def _create_topics(self) -> Probe:
        self._topics += 1
        rf = min(len(self._brokers), self._chance.randint(1, 3))
        topic = CreatableTopic(
            name=self._topic(), num_partitions=2, replication_factor=rf, assignments=[], configs=[]
        )
        return Probe(
            "CreateTopics",
            CreateTopicsRequest(topics=[topic], timeout_ms=2000),
            4,
            CLIENT_TIMEOUT_MS,
        )

    def _create_partitions(self) -> Probe:
        topic = CreatePartitionsTopic(
            name=self._topic(), count=self._chance.randint(2, 4), assignments=None
        )
        return Probe(
            "CreatePartitions",
            CreatePartitionsRequest(topics=[topic], timeout_ms=2000),
            1,
            CLIENT_TIMEOUT_MS,
        )

    def _delete_topics(self) -> Probe:
        return Probe(
            "DeleteTopics",
            DeleteTopicsRequest(topic_names=[self._topic()], timeout_ms=2000),
            3,
            CLIENT_TIMEOUT_MS,
        )
