"""Committed offsets: OffsetCommit and OffsetFetch in every version, valid and invalid. They are
stored in `__consumer_offsets` and (v0) in ZooKeeper.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from tests.conformance.cases.groups import (
    commit,
    create_topics,
    describe,
    heartbeat,
    join,
    sync,
    wait_for_the_coordinator,
)
from tests.conformance.replay import Asker

SETTINGS: Final = {"offset.metadata.max.bytes": "20"}
DIFFERENT: Final[dict[str, str]] = {}


def fetch(
    group: str, topics: Mapping[str, Sequence[int]] | None, *, require_stable: bool = False
) -> OffsetFetchRequest:
    asked = (
        None
        if topics is None
        else [
            OffsetFetchRequestTopic(name=name, partition_indexes=list(indexes))
            for name, indexes in topics.items()
        ]
    )
    return OffsetFetchRequest(group_id=group, topics=asked, require_stable=require_stable)


def commit_many(group: str, *entries: tuple[str, int, int]) -> OffsetCommitRequest:
    """Build an OffsetCommit request from entries of (topic, partition, offset)."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_metadata=""
                )
            ],
        )
        for topic, partition, offset in entries
    ]
    return OffsetCommitRequest(group_id=group, topics=topics)


def ask_all(asker: Asker) -> None:
    create_topics(asker)
    asker.ask("commit before there is a coordinator", commit("g", 1), 2)
    asker.ask("fetch before there is a coordinator", fetch("g", {"t": [0]}), 1)
    asker.ask("fetch before there is a coordinator", fetch("g", {"t": [0]}), 5)
    wait_for_the_coordinator(asker)
    in_zookeeper(asker)
    without_members(asker)
    with_a_member(asker)


def in_zookeeper(asker: Asker) -> None:
    asker.ask("fetch what is not there", fetch("g", {"t": [0, 7], "nope": [0]}), 0)
    asker.ask("commit", commit("g", 42, metadata="lost"), 0)
    asker.ask("fetch", fetch("g", {"t": [0]}), 0)
    asker.ask("the coordinator knows nothing of it", fetch("g", {"t": [0]}), 1)
    asker.ask("commit again", commit("g", 43, metadata=None), 0)
    asker.ask("fetch again", fetch("g", {"t": [0]}), 0)
    asker.ask(
        "commit to an unknown topic", commit_many("g", ("nope", 0, 1), ("t", 0, 44), ("t", 9, 1)), 0
    )
    asker.ask("commit with a long text", commit("g", 45, metadata="x" * 21), 0)
    asker.ask("commit a negative offset", commit("g", -5), 0)
    asker.ask("fetch the last", fetch("g", {"t": [0]}), 0)
    asker.ask("fetch nothing", fetch("g", {}), 0)


def without_members(asker: Asker) -> None:
    for version in range(1, 9):
        asker.ask("commit", commit("h", 100 + version, metadata=f"v{version}"), version)
        asker.ask(
            "commit for a while", commit("h", 200 + version, retention_time_ms=3_600_000), version
        )
        asker.ask("commit without a text", commit("h", 300 + version, metadata=None), version)
        asker.ask("commit with a long text", commit("h", 5, metadata="x" * 21), version)
        asker.ask(
            "commit to unknown partitions",
            commit_many("h", ("nope", 0, 1), ("other", 0, 7), ("t", 9, 1)),
            version,
        )
        asker.ask("commit only to unknown ones", commit_many("h", ("nope", 0, 1)), version)
        asker.ask("commit nothing", commit_many("h"), version)
        asker.ask("commit of a generation", commit("h", 1, generation=3, member="m"), version)
        asker.ask(
            "commit of a generation in no group",
            commit("none", 1, generation=3, member="m"),
            version,
        )
    for version in range(1, 8):
        asker.ask("fetch", fetch("h", {"t": [0], "other": [0, 1], "nope": [0]}), version)
        asker.ask("fetch of no group", fetch("none", {"t": [0]}), version)
        asker.ask("fetch nothing", fetch("h", {}), version)
        asker.ask("fetch of the empty name", fetch("", {"t": [0]}), version)
        if version >= 2:
            asker.ask("fetch all", fetch("h", None), version)
            asker.ask("fetch all of no group", fetch("none", None), version)
    asker.ask("fetch what is stable", fetch("h", {"t": [0]}, require_stable=True), 7)
    for offset in (-1, -9, 0, 2**63 - 1):
        asker.ask(f"commit {offset}", commit("i", offset), 7)
        asker.ask(f"fetch {offset}", fetch("i", {"t": [0]}), 5)
    asker.ask("commit as somebody without a generation", commit("i", 3, member="m"), 7)
    asker.ask("commit to the empty name", commit("", 3), 7)
    asker.ask("fetch from the empty name", fetch("", {"t": [0]}), 7)
    asker.ask(
        "commit to the empty name with a generation", commit("", 3, generation=1, member="m"), 7
    )
    asker.ask("describe the empty name", describe(""), 5)
    asker.ask("delete the empty name", DeleteGroupsRequest(groups_names=[""]), 1)
    asker.ask("commit with the epoch of a leader", _with_epoch(commit("i", 8), 5), 6)
    asker.ask("fetch the epoch", fetch("i", {"t": [0]}), 5)
    asker.ask("a partition twice", commit_many("i", ("t", 0, 1), ("t", 0, 2)), 2)
    asker.ask("which of both", fetch("i", {"t": [0, 0]}), 2)


def _with_epoch(request: OffsetCommitRequest, epoch: int) -> OffsetCommitRequest:
    request.topics[0].partitions[0].committed_leader_epoch = epoch
    return request


def with_a_member(asker: Asker) -> None:
    member = asker.ask("join", join("j"), 3).member_id
    asker.ask("sync", sync("j", 1, member, {member: b"a"}), 2)
    asker.ask("the member commits", commit("j", 10, generation=1, member=member), 7)
    asker.ask("a stranger commits", commit("j", 11, generation=1, member="stranger"), 7)
    asker.ask("a client without a generation commits", commit("j", 12), 7)
    asker.ask(
        "the member commits with another generation",
        commit("j", 13, generation=2, member=member),
        7,
    )
    asker.ask("the member commits without a generation", commit("j", 14, member=member), 7)
    asker.ask(
        "the member commits with an instance id",
        commit("j", 15, generation=1, member=member, instance="nobody"),
        7,
    )
    asker.ask("fetch", fetch("j", None), 5)
    asker.ask("still a member", heartbeat("j", 1, member), 2)
