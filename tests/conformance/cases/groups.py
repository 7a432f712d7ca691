"""The group coordinator: members, rebalances, static members, time-outs, and the requests of the
group tools. Valid and invalid, in many versions.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from kafka_edu.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafka_edu.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_edu.protocol.messages.describe_groups import DescribeGroupsRequest
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest
from kafka_edu.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafka_edu.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafka_edu.protocol.messages.list_groups import ListGroupsRequest
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafka_edu.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafka_edu.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from tests.conformance.replay import Asker

SETTINGS: Final = {
    "group.max.size": "3",
    "group.min.session.timeout.ms": "1000",
    "group.max.session.timeout.ms": "300000",
}
DIFFERENT: Final[dict[str, str]] = {}
TOPICS: Final = ("t", "other")
SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 5_000


def subscription(*topics: str, version: int = 0) -> bytes:
    return version.to_bytes(2, "big") + ConsumerProtocolSubscription(topics=list(topics)).encode(
        version
    )


def join(
    group: str,
    member: str = "",
    *,
    protocols: Mapping[str, bytes] | None = None,
    instance: str | None = None,
    kind: str = "consumer",
    session_ms: int = SESSION_MS,
    rebalance_ms: int = REBALANCE_MS,
) -> JoinGroupRequest:
    offered = {"range": subscription("t")} if protocols is None else protocols
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=session_ms,
        rebalance_timeout_ms=rebalance_ms,
        member_id=member,
        group_instance_id=instance,
        protocol_type=kind,
        protocols=[
            JoinGroupRequestProtocol(name=name, metadata=metadata)
            for name, metadata in offered.items()
        ],
    )


def sync(
    group: str,
    generation: int,
    member: str,
    assignments: Mapping[str, bytes] | None = None,
    *,
    instance: str | None = None,
    **more: Any,
) -> SyncGroupRequest:
    given = [
        SyncGroupRequestAssignment(member_id=member_id, assignment=data)
        for member_id, data in (assignments or {}).items()
    ]
    return SyncGroupRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        assignments=given,
        **more,
    )


def heartbeat(
    group: str, generation: int, member: str, instance: str | None = None
) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
    )


def leave(group: str, version: int, *members: tuple[str, str | None]) -> LeaveGroupRequest:
    """Build a LeaveGroup request. Up to v2 a single member leaves, named by its id alone."""
    if version < 3:
        return LeaveGroupRequest(group_id=group, member_id=members[0][0])
    return LeaveGroupRequest(
        group_id=group,
        members=[
            MemberIdentity(member_id=member, group_instance_id=instance)
            for member, instance in members
        ],
    )


def commit(
    group: str,
    offset: int,
    *,
    generation: int = -1,
    member: str = "",
    instance: str | None = None,
    topic: str = "t",
    partition: int = 0,
    metadata: str | None = "",
    **more: Any,
) -> OffsetCommitRequest:
    entry = OffsetCommitRequestPartition(
        partition_index=partition, committed_offset=offset, committed_metadata=metadata
    )
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[entry])]
    return OffsetCommitRequest(
        group_id=group,
        generation_id=generation,
        member_id=member,
        group_instance_id=instance,
        topics=topics,
        **more,
    )


def offset_delete(group: str, *partitions: tuple[str, int]) -> OffsetDeleteRequest:
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=index)]
            )
            for topic, index in partitions
        ],
    )


def describe(*groups: str, operations: bool = False) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=list(groups), include_authorized_operations=operations)


def wait_for_the_coordinator(asker: Asker) -> None:
    """Wait until the internal topic exists, and the partition that `group` belongs to is loaded."""
    asker.ask(
        "find the coordinator of g",
        FindCoordinatorRequest(key="g"),
        1,
        until=lambda answer: answer.error_code == Errors.NONE,
    )
    for group in ("g", "h", "i", "j", "k", "l", "m"):
        asker.ask(
            f"is the coordinator of {group} ready",
            describe(group),
            0,
            until=lambda answer: answer.groups[0].error_code == Errors.NONE,
        )


def create_topics(asker: Asker) -> None:
    topics = [
        CreatableTopic(
            name=name, num_partitions=1, replication_factor=1, assignments=[], configs=[]
        )
        for name in TOPICS
    ]
    asker.ask("create the topics", CreateTopicsRequest(topics=topics, timeout_ms=5_000), 4)


def ask_all(asker: Asker) -> None:
    create_topics(asker)
    for version in (0, 1, 3):
        asker.ask(
            "a key type that nobody knows",
            FindCoordinatorRequest(key="g", key_type=2 if version else 0),
            version,
        )
    wait_for_the_coordinator(asker)
    for version in range(4):
        asker.ask("find the coordinator", FindCoordinatorRequest(key="g"), version)
    one_member(asker)
    wrong_joins(asker)
    two_members(asker)
    static_members(asker)
    time_outs(asker)
    tools(asker)


def one_member(asker: Asker) -> None:
    """Take one member from its join to its end, in every version."""
    for version in range(8):
        group = f"one-{version}"
        answer = asker.ask("join alone", join(group), version)
        member = answer.member_id
        if answer.error_code == Errors.MEMBER_ID_REQUIRED:
            asker.ask("described with a pending member", describe(group), 4)
            answer = asker.ask("join again with the id", join(group, member), version)
        generation = answer.generation_id
        protocol: dict[str, Any] = (
            {"protocol_type": "consumer", "protocol_name": "range"} if version == 7 else {}
        )
        asker.ask("heartbeat before sync", heartbeat(group, generation, member), min(version, 4))
        asker.ask(
            "commit before sync",
            commit(group, 5, generation=generation, member=member),
            min(version + 1, 8),
        )
        asker.ask("join once more, the same", join(group, member), version)
        asker.ask("described before sync", describe(group), min(version, 5))
        asker.ask(
            "sync",
            sync(group, generation, member, {member: b"all", "nobody": b"x"}, **protocol),
            min(version, 5) if version != 5 else 4,
        )
        asker.ask(
            "sync again",
            sync(group, generation, member, **protocol),
            min(version, 5) if version != 5 else 4,
        )
        asker.ask("heartbeat", heartbeat(group, generation, member), min(version, 4))
        asker.ask("described", describe(group), min(version, 5))
        asker.ask(
            "commit", commit(group, 5, generation=generation, member=member), min(version + 1, 8)
        )
        asker.ask("the leader joins again", join(group, member), version)
        asker.ask(
            "sync of the old generation",
            sync(group, generation, member, **protocol),
            min(version, 5) if version != 5 else 4,
        )
        asker.ask("leave", leave(group, min(version, 4), (member, None)), min(version, 4))
        asker.ask("leave again", leave(group, min(version, 4), (member, None)), min(version, 4))
        asker.ask("described afterwards", describe(group), min(version, 5))
        asker.ask("heartbeat afterwards", heartbeat(group, generation, member), min(version, 4))
        asker.ask("join with an id of old", join(group, member), version)


def wrong_joins(asker: Asker) -> None:
    for version in (0, 3, 5, 7):
        asker.ask("join without a group", join(""), version)
        asker.ask("join for too short a session", join("g", session_ms=999), version)
        asker.ask("join for too long a session", join("g", session_ms=300_001), version)
        asker.ask("join without protocols", join("g", protocols={}), version)
        asker.ask("join without a type", join("g", kind=""), version)
        asker.ask("join as a stranger", join("g", "stranger"), version)
        asker.ask("join a group that is not, as a stranger", join("none", "stranger"), version)
    for key, metadata in {
        "nothing": b"",
        "one byte": b"\0",
        "a count cut short": b"\0\0\0\0",
        "a negative version": b"\xff\xff\0\0\0\0",
    }.items():
        asker.ask(
            f"join with metadata of {key}", join(f"meta-{key}", protocols={"range": metadata}), 3
        )
        asker.ask(f"described with metadata of {key}", describe(f"meta-{key}"), 4)
    asker.ask("heartbeat without a group", heartbeat("", 1, "m"), 3)
    asker.ask("heartbeat in no group", heartbeat("none", 1, "m"), 3)
    asker.ask("sync without a group", sync("", 1, "m"), 3)
    asker.ask("sync in no group", sync("none", 1, "m"), 3)
    asker.ask("sync without a protocol", sync("none", 1, "m"), 5)
    asker.ask("leave without a group", leave("", 1, ("m", None)), 1)
    asker.ask("leave without a group", leave("", 3, ("m", None)), 3)
    asker.ask("leave no group", leave("none", 1, ("m", None)), 1)
    asker.ask("leave no group", leave("none", 3, ("m", None), ("n", "i")), 3)
    asker.ask("nobody leaves", leave("none", 3), 3)


def two_members(asker: Asker) -> None:
    """Let a second and a third member join, a fourth for which there is no room, and members whose
    protocols do not match.

    A replay recognizes a member by the other values in an answer. So no answer may contain two
    members of which one is new and both have the same values.
    """
    two = {"range": subscription("t"), "roundrobin": subscription("t", "other")}
    one = asker.ask("the first joins", join("g", protocols=two), 3).member_id
    asker.ask("the first syncs", sync("g", 1, one, {one: b"1"}), 2)
    asker.ask("another type", join("g", kind="connect"), 3)
    asker.ask("no protocol in common", join("g", protocols={"sticky": b""}), 3)
    asker.send(
        "the second joins", join("g", protocols={"roundrobin": subscription("t")}), 3, on="b"
    )
    asker.ask(
        "the first is told",
        heartbeat("g", 1, one),
        3,
        until=lambda answer: answer.error_code == Errors.REBALANCE_IN_PROGRESS,
    )
    asker.ask("listed while it gathers", ListGroupsRequest(states_filter=["PreparingRebalance"]), 4)
    asker.ask("commit while it gathers", commit("g", 7, generation=1, member=one), 7)
    asker.ask("sync while it gathers", sync("g", 1, one), 3)
    both = asker.ask("the first joins again", join("g", one, protocols=two), 3)
    two_id = asker.receive(on="b").member_id
    asker.send("the second syncs first", sync("g", 2, two_id), 3, on="b")
    asker.ask("heartbeat while it is assigned", heartbeat("g", 2, one), 3)
    asker.ask("commit while it is assigned", commit("g", 7, generation=2, member=one), 7)
    asker.ask("commit of the generation before", commit("g", 7, generation=1, member=one), 7)
    asker.ask(
        "sync with another name",
        sync("g", 2, one, protocol_type="consumer", protocol_name="range"),
        5,
    )
    asker.ask(
        "sync with another type",
        sync("g", 2, one, protocol_type="connect", protocol_name="roundrobin"),
        5,
    )
    asker.ask(
        "sync with both",
        sync(
            "g",
            2,
            one,
            {one: b"1", two_id: b"2"},
            protocol_type="consumer",
            protocol_name="roundrobin",
        ),
        5,
    )
    asker.receive(on="b")
    assert both.generation_id == 2
    asker.ask("described with two", describe("g", operations=True), 5)
    asker.ask(
        "a follower joins again, the same",
        join("g", two_id, protocols={"roundrobin": subscription("t")}),
        3,
    )
    asker.send(
        "the third joins", join("g", protocols={"roundrobin": subscription("other")}), 3, on="c"
    )
    asker.ask(
        "the first is told of the third",
        heartbeat("g", 2, one),
        3,
        until=lambda answer: answer.error_code == Errors.REBALANCE_IN_PROGRESS,
    )
    asker.send(
        "the second joins again",
        join("g", two_id, protocols={"roundrobin": subscription("t")}),
        3,
        on="b",
    )
    asker.ask("the first joins a third time", join("g", one, protocols=two), 5)
    three_id = asker.receive(on="c").member_id
    asker.receive(on="b")
    asker.ask(
        "the first assigns to three",
        sync("g", 3, one, {one: b"1", two_id: b"2", three_id: b"3"}),
        3,
    )
    asker.ask("a fourth finds no room", join("g", protocols={"roundrobin": b""}), 3)
    asker.ask("a fourth finds no room", join("g", protocols={"roundrobin": b""}), 5)
    asker.ask(
        "deleted while it has members", DeleteGroupsRequest(groups_names=["g", "none", ""]), 1
    )
    asker.ask(
        "offsets deleted that are read",
        offset_delete("g", ("t", 0), ("other", 0), ("nope", 0), ("t", 9)),
        0,
    )
    asker.ask(
        "two leave, and a stranger",
        leave("g", 3, (two_id, None), ("stranger", None), (three_id, "unknown")),
        3,
    )
    asker.ask("described while it gathers", describe("g"), 4)
    asker.ask("the first is alone", join("g", one, protocols=two), 5)
    asker.ask("leaves too", leave("g", 4, (one, None)), 4)


def static_members(asker: Asker) -> None:
    """Use members with an instance id (KIP-345)."""
    first = asker.ask("a static member joins", join("h", instance="i1"), 5)
    old = first.member_id
    asker.ask("it syncs", sync("h", 1, old, {old: b"mine"}, instance="i1"), 3)
    new = asker.ask("it comes back", join("h", instance="i1"), 5).member_id
    asker.ask("under its old id, joining", join("h", old, instance="i1"), 5)
    asker.ask("under its old id, syncing", sync("h", 1, old, instance="i1"), 3)
    asker.ask("under its old id, alive", heartbeat("h", 1, old, "i1"), 3)
    asker.ask(
        "under its old id, committing", commit("h", 3, generation=1, member=old, instance="i1"), 7
    )
    asker.ask("under its old id, leaving", leave("h", 3, (old, "i1")), 3)
    asker.ask("without its instance id, alive", heartbeat("h", 1, old), 3)
    asker.ask("it syncs under the new one", sync("h", 1, new, instance="i1"), 3)
    asker.ask("alive under the new one", heartbeat("h", 1, new, "i1"), 3)
    asker.ask("with another instance id, alive", heartbeat("h", 1, new, "i2"), 3)
    asker.ask("with another instance id, joining", join("h", new, instance="i2"), 5)
    asker.ask("a stranger with its instance id", heartbeat("h", 1, "stranger", "i1"), 3)
    asker.ask("described with a static member", describe("h"), 4)
    asker.ask(
        "comes back with other metadata",
        join("h", instance="i1", protocols={"range": subscription("other")}),
        5,
    )
    asker.ask(
        "comes back with another protocol",
        join("h", instance="i1", protocols={"sticky": subscription("t")}),
        5,
    )
    asker.ask(
        "comes back before it syncs",
        join("h", instance="i1", protocols={"sticky": subscription("t")}),
        7,
    )
    asker.ask("an instance leaves by its name", leave("h", 3, ("", "i1"), ("", "i9")), 3)
    asker.ask("described when it has left", describe("h"), 4)


def time_outs(asker: Asker) -> None:
    alone = asker.ask(
        "a member with a short session", join("i", session_ms=1_500, rebalance_ms=1_500), 3
    ).member_id
    asker.ask("that syncs", sync("i", 1, alone, {alone: b"a"}), 2)
    asker.pause(1_000)
    asker.ask("is alive", heartbeat("i", 1, alone), 2)
    asker.pause(1_000)
    asker.ask("is still alive", heartbeat("i", 1, alone), 2)
    asker.pause(2_500)
    asker.ask("is dead", heartbeat("i", 1, alone), 2)
    asker.ask("described when it is dead", describe("i"), 3)
    pending = asker.ask("a pending member", join("j", session_ms=1_500), 4).member_id
    asker.pause(2_500)
    asker.ask("comes too late", join("j", pending, session_ms=1_500), 4)
    mute = asker.ask("a member that does not sync", join("k", rebalance_ms=1_500), 3).member_id
    asker.pause(1_000)
    asker.ask("is alive without sync", heartbeat("k", 1, mute), 2)
    asker.pause(2_000)
    asker.ask("is put out without sync", heartbeat("k", 1, mute), 2)
    slow = asker.ask("a member that does not rejoin", join("l", rebalance_ms=1_500), 3).member_id
    asker.ask("that synced", sync("l", 1, slow, {slow: b"a"}), 2)
    asker.ask("another comes and waits", join("l", rebalance_ms=1_500), 3)
    asker.ask("the first is not a member any more", heartbeat("l", 2, slow), 2)


def tools(asker: Asker) -> None:
    for version in range(6):
        asker.ask("described: unknown groups", describe("nobody", "", "g"), version)
    asker.ask("described with operations", describe("nobody", operations=True), 3)
    for version in range(5):
        asker.ask("list groups", ListGroupsRequest(), version)
    for states in (["Empty"], ["Stable", "Dead"], ["stable"], ["nonsense"]):
        asker.ask(f"list groups that are {states}", ListGroupsRequest(states_filter=states), 4)
    committed: Sequence[tuple[str, int]] = (("t", 0), ("other", 0))
    for topic, partition in committed:
        asker.ask(f"commit {topic}", commit("m", 3, topic=topic, partition=partition), 7)
    asker.ask("offsets deleted of an empty group", offset_delete("m", ("t", 0), ("nope", 0)), 0)
    asker.ask("offsets deleted of no group", offset_delete("none", ("t", 0)), 0)
    asker.ask("offsets deleted without a group", offset_delete("", ("t", 0)), 0)
    other = asker.ask(
        "a member of another type", join("n", kind="connect", protocols={"eager": b"x"}), 3
    ).member_id
    asker.ask("offsets deleted of another type", offset_delete("n", ("t", 0)), 0)
    asker.ask("and it leaves", leave("n", 2, (other, None)), 2)
    for version in range(3):
        asker.ask(
            "groups deleted", DeleteGroupsRequest(groups_names=["m", "h", "none", "h"]), version
        )
