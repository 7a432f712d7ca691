"""Our codecs compared with those of kafka-python 3: the same bytes, both ways.

Other people made kafka-python's codecs from Kafka's own message definitions. Fields are paired by
their position, tagged fields by their tag, because some names changed after 2.8. What kafka-python
lacks (BEYOND) is compared only with bytes of Apache Kafka's own classes:
tests/unit/protocol/test_messages_golden.py. All other messages are compared there too.
"""

import io
import uuid
from typing import Any, Final

import kafka.protocol.admin
import kafka.protocol.consumer
import kafka.protocol.metadata
import kafka.protocol.producer
import kafka.protocol.sasl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.protocol.api_message import ApiMessage
from kafka.protocol.schemas.fields.codecs import BitField

from kafka_edu.protocol.fields import Field, StructMeta
from kafka_edu.protocol.messages.api_versions import ApiVersionsResponse
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from tests.property.message_values import structs

THEIRS: Final[dict[str, Any]] = {
    cls.__name__: cls
    for package in (
        kafka.protocol.admin,
        kafka.protocol.consumer,
        kafka.protocol.metadata,
        kafka.protocol.producer,
        kafka.protocol.sasl,
    )
    for cls in vars(package).values()
    if isinstance(cls, type) and issubclass(cls, ApiMessage)
}
NO_ID: Final = uuid.UUID(int=0)
OURS: Final = [cls for pair in REGISTRY.values() for cls in (pair.request, pair.response)]

#: Message without Request or Response → the versions that kafka-python lacks. Brokers use them
#: between themselves, or Kafka 4 dropped them.
BEYOND: Final = {
    "Produce": "0-2",
    "Fetch": "0-3",
    "ListOffsets": "0",
    "LeaderAndIsr": "0-5",
    "StopReplica": "0-3",
    "UpdateMetadata": "0-7",
    "ControlledShutdown": "0-3",
    "OffsetCommit": "0-1",
    "OffsetFetch": "0",
    "CreateTopics": "0-1",
    "DeleteTopics": "0",
    "OffsetForLeaderEpoch": "0-1",
    "WriteTxnMarkers": "0",
    "DescribeAcls": "0",
    "CreateAcls": "0",
    "DeleteAcls": "0",
    "DescribeConfigs": "0",
    "AlterReplicaLogDirs": "0",
    "DescribeLogDirs": "0",
    "CreateDelegationToken": "0-2",
    "RenewDelegationToken": "0-2",
    "ExpireDelegationToken": "0-2",
    "DescribeDelegationToken": "0-2",
    "AlterIsr": "0",
}


def versions_of_theirs(cls: type[Message]) -> set[int]:
    theirs = THEIRS.get(cls.__name__)
    if theirs is None:
        return set()
    lowest, highest = theirs.valid_versions
    return set(range(lowest, highest + 1))


def versions_of_ours(cls: type[Message]) -> set[int]:
    return set(range(cls.VALID.lowest, cls.VALID.highest + 1))


BOTH: Final = [cls for cls in OURS if versions_of_ours(cls) & versions_of_theirs(cls)]


def test_what_kafka_python_lacks_is_known() -> None:
    lacks: dict[str, str] = {}
    for cls in OURS:
        beyond = sorted(versions_of_ours(cls) - versions_of_theirs(cls))
        if beyond:
            name = cls.__name__.removesuffix("Request").removesuffix("Response")
            first, last = beyond[0], beyond[-1]
            assert beyond == list(range(first, last + 1))
            lacks[name] = f"{first}-{last}" if last > first else str(first)
    assert lacks == BEYOND


def paired(struct: StructMeta, theirs: Any, version: int) -> list[tuple[Field, Any]]:
    """Pair each of our fields with theirs."""
    ours = [field for field in struct.FIELDS if field.versions.has(version)]
    placed = [field for field in ours if field.tag is None]
    tagged = {field.tag: field for field in ours if field.tag is not None}
    their_placed = theirs.untagged_fields(version)
    their_tagged = {
        field.tag: field
        for field in theirs.fields.values()
        if field.for_version_q(version) and field.tagged_field_q(version)
    }
    assert len(placed) == len(their_placed), f"{struct.__name__} v{version}"
    assert tagged.keys() <= their_tagged.keys(), (
        f"{struct.__name__} v{version}"
    )  # later Kafkas may add tags to any version
    return [
        *zip(placed, their_placed, strict=True),
        *((tagged[tag], their_tagged[tag]) for tag in tagged),
    ]


def to_theirs(field: Field, theirs: Any, value: Any, version: int) -> Any:
    """Return the value as kafka-python has it: sets for bit fields, None for a number or id that
    means "none".
    """
    struct = field.struct
    if struct is not None and isinstance(value, list):
        return [object_of_theirs(struct, theirs, item, version) for item in value]
    if struct is not None and value is not None:
        return object_of_theirs(struct, theirs, value, version)
    if theirs._type_str == "bitfield":
        return BitField.decode(io.BytesIO(value.to_bytes(4, "big", signed=True)))
    return None if value == NO_ID else value


def object_of_theirs(struct: StructMeta, theirs: Any, ours: Any, version: int) -> Any:
    values = {}
    for field, their in paired(struct, theirs, version):
        value = getattr(ours, field.name)
        if field.tag is None or value != field.fresh_default():
            values[their.name] = to_theirs(field, their, value, version)
    return theirs.data_class(version=version, **values)


@pytest.mark.parametrize("cls", BOTH, ids=lambda cls: cls.__name__)
@settings(max_examples=4)
@given(data=st.data())
def test_the_bytes_are_the_same_both_ways(cls: type[Message], data: st.DataObject) -> None:
    theirs = THEIRS[cls.__name__]
    for version in sorted(versions_of_ours(cls) & versions_of_theirs(cls)):
        ours = data.draw(structs(cls, version))
        if isinstance(ours, ApiVersionsResponse):
            ours.error_code = 0  # they read one with an error as version 0
        wire = ours.encode(version)
        same = object_of_theirs(cls, theirs._struct, ours, version)
        assert same.encode(version=version).hex() == wire.hex(), f"v{version}: {ours}"
        assert theirs.decode(wire, version=version) == same, f"v{version}: {ours}"
        assert cls.decode(same.encode(version=version), version) == ours
