"""One member of a group: its votes, and when it counts as alive."""

import pytest

from kafka_edu.coordinator.group.member_metadata import MemberMetadata, Protocol

RANGE, STICKY = Protocol("range", b"r"), Protocol("sticky", b"s")


def member(instance: str | None = None) -> MemberMetadata:
    return MemberMetadata(
        "m-1", instance, "client", "/127.0.0.1", 300_000, 10_000, "consumer", (RANGE, STICKY)
    )


def test_it_votes_for_its_favourite_among_those_that_all_support() -> None:
    assert member().vote({"range", "sticky"}) == "range"
    assert member().vote({"sticky", "other"}) == "sticky"
    with pytest.raises(ValueError, match="supports none of"):
        member().vote({"other"})


def test_its_own_data_is_that_of_the_chosen_protocol() -> None:
    assert member().metadata("sticky") == b"s"
    with pytest.raises(ValueError, match="does not support other"):
        member().metadata("other")
    assert member().protocol_names() == {"range", "sticky"}


def test_a_member_whose_request_waits_counts_as_alive_and_a_new_one_does_not() -> None:
    one = member()
    assert not one.has_satisfied_heartbeat
    one.awaiting_join = lambda _: None
    assert one.has_satisfied_heartbeat, "it cannot send heartbeats while it waits"
    one.is_new = True
    assert not one.has_satisfied_heartbeat, "its client may be gone without a sign"
    one.heartbeat_satisfied = True
    assert one.has_satisfied_heartbeat


def test_a_static_member_is_named_with_its_instance() -> None:
    assert (member().is_static, member().name) == (False, "m-1")
    assert (member("web-1").is_static, member("web-1").name) == (True, "web-1 (m-1)")
