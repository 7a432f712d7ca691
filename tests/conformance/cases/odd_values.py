"""Each field of each request at an unusual value, one at a time: empty, null, a duplicate,
negative, the largest, and a number or name that does not exist.

All other fields of the request are valid. The type of a field decides which values are unusual, so
a new field is covered automatically.
"""

import copy
from collections.abc import Iterator
from typing import Any, Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.fields import Field
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_edu.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from kafka_edu.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafka_edu.protocol.messages.delete_groups import DeleteGroupsRequest
from kafka_edu.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafka_edu.protocol.messages.describe_cluster import DescribeClusterRequest
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
)
from kafka_edu.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from kafka_edu.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.list_groups import ListGroupsRequest
from kafka_edu.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafka_edu.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafka_edu.protocol.schema import Message, Struct
from kafka_edu.protocol.types import ArrayType, BytesType, FixedType, RecordsType, StringType
from tests.conformance.cases.admin_configs import TOPIC, alter, change, describe
from tests.conformance.cases.admin_quotas import credentials, described, quotas, users
from tests.conformance.cases.basics import batch, create, epoch_end, fetch, offsets, produce
from tests.conformance.cases.groups import (
    commit,
    heartbeat,
    join,
    leave,
    offset_delete,
    sync,
    wait_for_the_coordinator,
)
from tests.conformance.cases.groups import describe as describe_groups
from tests.conformance.cases.offsets import fetch as fetch_committed
from tests.conformance.cases.transactions import add, add_offsets, commit_offsets, end, init
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final = {
    **dict.fromkeys(
        [
            *(
                f"resources.configuration_keys {keys}, DescribeConfigsRequest v{version}"
                for keys in (None, [])
                for version in (0, 4)
            ),
            *(
                f"{name}, CreateTopicsRequest v7"
                for name in (
                    "as it should be",
                    "topics.name 'nobody'",
                    "topics.num_partitions -1",
                    "topics.configs []",
                    "topics.configs of 2",
                )
            ),
        ],
        "defaults are 2.0.1's: max.message.bytes 1000012, message.format.version 2.0-IV1",
    ),
    **{
        f"topics.assignments.partition_index {index}, CreateTopicsRequest v{version}": (
            "INVALID_REPLICA_ASSIGNMENT: it is the client's error"
        )
        for index in (-(2**31), -2, -1)
        for version in (1, 4)
    },
}
#: Unusual values of each fixed-size type, by the type's name.
ODD: Final[dict[str, tuple[object, ...]]] = {
    "int8": (-128, -1, 99),
    "int16": (-(2**15), -2, 2**15 - 1),
    "int32": (-(2**31), -2, -1, 0),
    "int64": (-(2**63), -2, 0, 2**63 - 1),
    "float64": (-1.0, float("inf")),
}
ODD_NAMES: Final = ("", "a b", "nobody")
#: Fields that are left out. Record formats have cases of their own, and a time-out only delays the
#: answer.
PASSED_OVER: Final = {"records", "max_wait_ms", "timeout_ms", "topic_names"}
#: Values that cannot be sent. A member that joins waits for the others, and there is no answer to a
#: resource named twice or to a count of -2**31.
UNANSWERED: Final = {
    ("JoinGroupRequest", "group_instance_id"),
    ("AlterConfigsRequest", "resources"),
    ("CreatePartitionsTopic", "count"),
}


def requests() -> Iterator[tuple[Message, tuple[int, ...]]]:
    """Yield valid requests, each with the versions to send. Destructive requests come last."""
    yield MetadataRequest(topics=[MetadataRequestTopic(name="t")]), (1, 4, 9)
    yield produce(batch(1)), (3, 7, 9)
    yield fetch(0), (3, 4, 7, 11, 12)
    yield offsets(-1), (0, 1, 4, 6)
    yield epoch_end(0), (0, 2, 4)
    yield FindCoordinatorRequest(key="g"), (0, 1, 3)
    yield ListGroupsRequest(), (0, 3, 4)
    yield describe_groups("g"), (0, 3, 5)
    yield heartbeat("g", 1, "m"), (0, 3, 4)
    yield leave("g", 0, ("m", None)), (0,)
    yield leave("g", 3, ("m", None)), (3, 4)
    yield join("j", session_ms=6000), (4, 6, 7)
    yield sync("g", 1, "m", {"m": b"a"}), (0, 3, 4)
    yield commit("c", 3), (1, 2, 5, 7, 8)
    yield fetch_committed("c", {"t": [0]}), (0, 1, 5, 7)
    yield offset_delete("c", ("t", 0)), (0,)
    yield init("a"), (0, 3, 4)
    yield init(None), (0, 4)
    yield add((0, 0), ("t", 0)), (0, 2, 3)
    yield add_offsets((0, 0)), (0, 2, 3)
    yield commit_offsets((0, 0), ("t", 0, 1)), (0, 2, 3)
    yield end((0, 0)), (0, 2, 3)
    yield describe(TOPIC, "t", ["retention.ms"]), (0, 1, 4)
    yield alter(TOPIC, "t", ("retention.ms", "1000000"), validate_only=True), (0, 2)
    yield change(TOPIC, "t", ("retention.ms", 0, "1000000"), validate_only=True), (0, 1)
    yield (
        DescribeLogDirsRequest(topics=[DescribableLogDirTopic(topic="t", partition_index=[0])]),
        (0, 2),
    )
    yield DescribeProducersRequest(topics=[TopicRequest(name="t", partition_indexes=[0])]), (0,)
    yield DescribeClusterRequest(), (0,)
    yield described(("user", 0, "u")), (0, 1)
    yield quotas(([("user", "u")], {"producer_byte_rate": 1000.0}), validate_only=True), (0, 1)
    yield users("u"), (0,)
    yield credentials(("u", 1, 4096, b"salt", b"password"), delete=(("v", 1),)), (0,)
    yield (
        UpdateFeaturesRequest(
            timeout_ms=1000, feature_updates=[FeatureUpdateKey(feature="f", max_version_level=1)]
        ),
        (0,),
    )
    yield (
        ListPartitionReassignmentsRequest(
            timeout_ms=1000,
            topics=[ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])],
        ),
        (0,),
    )
    yield (
        AlterPartitionReassignmentsRequest(
            timeout_ms=1000,
            topics=[
                ReassignableTopic(
                    name="t", partitions=[ReassignablePartition(partition_index=0, replicas=[0])]
                )
            ],
        ),
        (0,),
    )
    yield (
        ElectLeadersRequest(
            election_type=0,
            topic_partitions=[TopicPartitions(topic="t", partition_id=[0])],
            timeout_ms=1000,
        ),
        (0, 1, 2),
    )
    yield (
        AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path="/nowhere", topics=[AlterReplicaLogDirTopic(name="t", partitions=[0])]
                )
            ]
        ),
        (1, 2),
    )
    yield create("new", configs={"retention.ms": "1000"}, validate_only=True), (1, 4, 7)
    yield create("new", partitions=-1, factor=-1, assignments={0: [0]}, validate_only=True), (1, 4)
    yield (
        CreatePartitionsRequest(
            topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)],
            timeout_ms=1000,
            validate_only=True,
        ),
        (0, 3),
    )
    yield (
        DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name="t", partitions=[DeleteRecordsPartition(partition_index=0, offset=0)]
                )
            ],
            timeout_ms=1000,
        ),
        (0, 2),
    )
    yield DeleteGroupsRequest(groups_names=["nobody"]), (0, 2)


def odd(message: Message, version: int) -> Iterator[tuple[str, Message]]:
    """Yield the request with one field at one unusual value, with the name of both. Only fields of
    this version are used.
    """
    for path, found in _fields(message, version):
        for value in _odd_values(found, _at(message, path), version):
            changed = copy.deepcopy(message)
            holder = _at(changed, path[:-1])
            setattr(holder, str(path[-1]), value)
            yield (
                f"{'.'.join(str(step) for step in path if isinstance(step, str))} {_shown(value)}",
                changed,
            )


Path = tuple[str | int, ...]


def _fields(
    struct: Struct | Message, version: int, path: Path = ()
) -> Iterator[tuple[Path, Field]]:
    """Yield every field, and the fields of the first element of each list."""
    for found in type(struct).FIELDS:
        if not found.versions.has(version) or found.name in PASSED_OVER:
            continue
        if (type(struct).__name__, found.name) not in UNANSWERED:
            yield (*path, found.name), found
        value = getattr(struct, found.name)
        if isinstance(value, list) and value and isinstance(value[0], Struct):
            yield from _fields(value[0], version, (*path, found.name, 0))


def _at(struct: Any, path: Path) -> Any:
    for step in path:
        struct = struct[step] if isinstance(step, int) else getattr(struct, step)
    return struct


def _odd_values(found: Field, value: Any, version: int) -> Iterator[object]:
    if found.nullable.has(version) and value is not None:
        yield None
    wire = found.wire
    if isinstance(wire, FixedType):
        yield from (each for each in ODD.get(wire.name, ()) if each != value)
    elif isinstance(wire, StringType):
        yield from (each for each in ODD_NAMES if each != value)
    elif isinstance(wire, ArrayType):
        if value:
            yield []
            yield value * 2
            if isinstance(value[0], int):
                yield [-1]
                yield [99]
    elif isinstance(wire, BytesType) and not isinstance(wire, RecordsType) and value:
        yield b""


def _shown(value: object) -> str:
    return (
        f"of {len(value)}"
        if isinstance(value, list) and value and isinstance(value[0], Struct)
        else repr(value)
    )


def ask_all(asker: Asker) -> None:
    asker.ask("create", create("t", partitions=2), 4)
    asker.ask("produce", produce(batch(3)), 7)
    wait_for_the_coordinator(asker)
    asker.ask(
        "find the coordinator of a",
        FindCoordinatorRequest(key="a", key_type=1),
        1,
        until=lambda answer: answer.error_code == Errors.NONE,
    )
    asker.ask(
        "is the coordinator of a ready",
        init("a"),
        0,
        until=lambda answer: answer.error_code == Errors.NONE,
    )
    for request, versions in requests():
        for version in sorted({versions[0], versions[-1]}):
            asker.ask("as it should be", request, version)
            for name, changed in odd(request, version):
                try:
                    changed.encode_parts(version)
                except KafkaException:  # this version has no such value
                    continue
                asker.ask(name, changed, version)
