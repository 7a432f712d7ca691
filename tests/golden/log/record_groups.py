"""Record what Apache Kafka writes about groups: `python -m tests.golden.log.record_groups` (see
README.md).

A broker of 2.8.2 and a broker of 2.0.1 each write one partition of `__consumer_offsets`. It has a
dynamic member, a static member (2.8.2 only), commits, a commit with a retention time, the commits
of a transaction, and the tombstones of a deleted group. The segment of the stopped broker is copied
to `groups-<version>.log`.
"""

import shutil
from pathlib import Path
from typing import Final

from benchmarks.apache_kafka import SMALL, apache_kafka, kafka_jars
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_edu.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from kafka_edu.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.conformance.brokers import ListeningBroker
from tests.conformance.cases.groups import commit, describe, join, leave, subscription, sync
from tests.conformance.replay import Asker

TARGET: Final = Path(__file__).parent
VERSIONS: Final = ("2.0.1", "2.8.2")
SEGMENT: Final = "__consumer_offsets-0/00000000000000000000.log"
SETTINGS: Final = [
    "log.cleaner.dedupe.buffer.size=4194304",
    "offsets.topic.num.partitions=1",
    "offsets.topic.replication.factor=1",
    "group.initial.rebalance.delay.ms=0",
]


def write(port: int, *, old: bool) -> None:
    asker = Asker(ListeningBroker("127.0.0.1", port))
    topics = [
        CreatableTopic(
            name=name, num_partitions=2, replication_factor=1, assignments=[], configs=[]
        )
        for name in ("t", "u")
    ]
    asker.ask("create", CreateTopicsRequest(topics=topics, timeout_ms=5_000), 2)
    asker.ask(
        "find",
        FindCoordinatorRequest(key="g"),
        1,
        until=lambda answer: answer.error_code == Errors.NONE,
    )
    asker.ask(
        "ready", describe("g"), 0, until=lambda answer: answer.groups[0].error_code == Errors.NONE
    )
    protocols = {"range": subscription("t", "u"), "roundrobin": subscription("t", version=0)}
    member = asker.ask("join", join("g", protocols=protocols), 2).member_id
    asker.ask("sync", sync("g", 1, member, {member: b"\0\0assigned"}), 1)
    asker.ask(
        "commit", commit("g", 7, generation=1, member=member, metadata="ünder"), 3 if old else 7
    )
    asker.ask(
        "commit for a while",
        commit("g", 8, generation=1, member=member, partition=1, retention_time_ms=60_000),
        3,
    )
    asker.ask("commit without a group", commit("alone", 9, topic="u"), 3 if old else 7)
    if not old:
        static = asker.ask("static", join("s", instance="the-instance"), 5).member_id
        asker.ask("static sync", sync("s", 1, static, {static: b"x"}, instance="the-instance"), 3)
    gone = asker.ask("join and go", join("gone"), 2).member_id
    asker.ask("gone sync", sync("gone", 1, gone, {gone: b""}), 1)
    asker.ask("gone commit", commit("gone", 1, generation=1, member=gone), 3)
    asker.ask("gone leaves", leave("gone", 1, (gone, None)), 1)
    asker.ask("gone is deleted", DeleteGroupsRequest(groups_names=["gone"]), 0)
    for producer_id, committed in ((5, True), (6, False), (7, None)):
        transactional(asker, producer_id, committed)


def transactional(asker: Asker, producer_id: int, committed: bool | None) -> None:
    """Write a producer's offsets of partition 1 of topic u, and the marker that commits or aborts
    the producer's transaction. With `committed` None, write no marker, so the transaction stays
    open.
    """
    partition = TxnOffsetCommitRequestPartition(
        partition_index=1, committed_offset=100 + producer_id, committed_metadata=""
    )
    topics = [TxnOffsetCommitRequestTopic(name="u", partitions=[partition])]
    request = TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="alone",
        producer_id=producer_id,
        producer_epoch=1,
        topics=topics,
    )
    asker.ask("commit in a transaction", request, 0)
    if committed is not None:
        marker = WritableTxnMarker(
            producer_id=producer_id,
            producer_epoch=1,
            transaction_result=committed,
            topics=[WritableTxnMarkerTopic(name="__consumer_offsets", partition_indexes=[0])],
            coordinator_epoch=3,
        )
        asker.ask("end it", WriteTxnMarkersRequest(markers=[marker]), 0)


def main() -> None:
    for version in VERSIONS:
        with apache_kafka(kafka_jars(version), 1, SETTINGS, java=SMALL) as kafka:
            write(kafka.ports[0], old=version == "2.0.1")
            kafka.stop(0)
            shutil.copyfile(kafka.log_dir(0) / SEGMENT, TARGET / f"groups-{version}.log")


if __name__ == "__main__":
    main()
