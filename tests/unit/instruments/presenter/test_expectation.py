"""An event is compared with an expectation. Names of the script get the values of the event's
fields, its time and its process.
"""

from collections.abc import Mapping

import pytest

from kafka_edu.instruments.presenter.expectation import bound_by, meets
from kafka_edu.instruments.presenter.script import Condition, Expectation
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.controller import ControllerElected
from kafka_edu.trace.events.replication import IsrShrunk


def test_time_and_sender_are_bound() -> None:
    elected = ControllerElected(epoch=7, epoch_zk_version=9)
    envelope = Envelope(Source.of_broker(2), 1, 0, 0, 45_678, elected)
    names = {"epoch": "epoch", "at": "@ms", "winner": "@broker"}
    waits = Expectation("somebody wins", "ControllerElected", bind=names)
    assert bound_by(waits, envelope) == {"epoch": "7", "at": "45", "winner": "2"}


def test_an_event_of_before_the_moment_does_not_count() -> None:
    elected = ControllerElected(epoch=7, epoch_zk_version=9)
    waits = Expectation("somebody wins", "ControllerElected", after="killed_at")
    for mono_us, names, counts in (
        (45_678, {"killed_at": "45"}, True),
        (44_999, {"killed_at": "45"}, False),
        (90_000, {}, False),
    ):
        envelope = Envelope(Source.of_broker(2), 1, 0, 0, mono_us, elected)
        assert meets(waits, envelope, names) is counts


@pytest.mark.parametrize(
    ("condition", "names", "counts"),
    [
        (Condition("leader_epoch", "above", "{before}"), {"before": "6"}, True),
        (Condition("leader_epoch", "above", "{before}"), {"before": "7"}, False),
        (Condition("leader_epoch", "above", "{before}"), {}, False),
        (Condition("leader_epoch", "below", "{before}"), {"before": "8"}, True),
        (Condition("after", "lacks", "{victim}"), {"victim": "1"}, True),
        (Condition("after", "lacks", "{victim}"), {"victim": "0"}, False),
        (Condition("after", "lacks", "{victim}"), {}, False),
    ],
)
def test_a_condition_with_a_name_needs_the_name_to_be_bound(
    condition: Condition, names: Mapping[str, str], counts: bool
) -> None:
    shrunk = IsrShrunk(
        topic="web",
        partition=0,
        leader_epoch=7,
        before=(0, 1),
        after=(0,),
        zk_version=3,
        reason="",
    )
    waits = Expectation("it leaves", "IsrShrunk", where=(condition,))
    assert meets(waits, Envelope(Source.of_broker(0), 1, 0, 0, 0, shrunk), names) is counts
