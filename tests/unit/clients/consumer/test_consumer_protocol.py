"""The bytes of subscriptions and assignments, and how those of other clients are read."""

import pytest

from kafka_edu.clients.consumer.assignors import NO_GENERATION, MemberSubscription
from kafka_edu.clients.consumer.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_generation,
    encode_sticky_user_data,
    encode_subscription,
)
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.types import ProtocolError

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def test_a_subscription_comes_back() -> None:
    data = encode_subscription(["t", "u"], [T0, T1, U0])
    assert data == (
        b"\0\1\0\0\0\2\0\1t\0\1u\xff\xff\xff\xff"
        b"\0\0\0\2\0\1t\0\0\0\2\0\0\0\0\0\0\0\1\0\1u\0\0\0\1\0\0\0\0"
    )
    assert decode_subscription(data, "i") == MemberSubscription(("t", "u"), "i", (T0, T1, U0))
    old = encode_subscription(["t"], [T0], version=0)
    assert decode_subscription(old) == MemberSubscription(("t",))


def test_sticky_reads_what_a_member_had_from_its_user_data() -> None:
    user_data = encode_sticky_user_data([T0, U0], 7)
    assert user_data == (b"\0\0\0\2\0\1t\0\0\0\1\0\0\0\0\0\1u\0\0\0\1\0\0\0\0\0\0\0\7")
    data = encode_subscription(["t"], [], user_data)
    assert decode_subscription(data, sticky=True) == MemberSubscription(("t",), None, (T0, U0), 7)
    before_kip_341 = encode_subscription(["t"], [], user_data[:-4])
    found = decode_subscription(before_kip_341, sticky=True)
    assert found == MemberSubscription(("t",), None, (T0, U0), NO_GENERATION)
    for unreadable in (None, b"\0\0"):
        data = encode_subscription(["t"], [T1], unreadable)
        assert decode_subscription(data, sticky=True) == MemberSubscription(("t",))


def test_cooperative_sticky_reports_the_generation_of_the_owned_partitions() -> None:
    data = encode_subscription(["t"], [T1], encode_generation(7))
    assert data.endswith(b"\0\0\0\4\0\0\0\7" + b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\1")
    assert decode_subscription(data) == MemberSubscription(("t",), None, (T1,), 7)
    for unreadable in (None, b"\0\0"):
        data = encode_subscription(["t"], [T1], unreadable)
        assert decode_subscription(data).generation == NO_GENERATION


def test_an_assignment_comes_back() -> None:
    data = encode_assignment([U0, T1])
    assert data == b"\0\1\0\0\0\2\0\1u\0\0\0\1\0\0\0\0\0\1t\0\0\0\1\0\0\0\1\xff\xff\xff\xff"
    assert decode_assignment(data) == [U0, T1]
    assert decode_assignment(b"") == []


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    later = b"\0\7" + encode_assignment([T0])[2:] + b"a field of version 7"
    assert decode_assignment(later) == [T0]


@pytest.mark.parametrize("data", [b"\0", b"\xff\xff\0\0\0\0", b"\0\0\0\0\0\1\0"])
def test_bytes_that_are_no_data_of_a_consumer(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_assignment(data)
    with pytest.raises(ProtocolError):
        decode_subscription(data)
