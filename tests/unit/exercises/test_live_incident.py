"""The live part of 16-8 waits for the members of its group."""

import pytest

from exercises.ch16_spark.live_incident import GROUP, assigned
from kafka_edu.trace.event import Envelope, Source
from kafka_edu.trace.events.group import GroupAssigned


def assignment(members: int, group: str = GROUP) -> Envelope:
    return Envelope(
        Source.of_broker(0),
        seq=1,
        cause=0,
        wall_ms=0,
        mono_us=0,
        event=GroupAssigned(
            group=group,
            generation=1,
            leader="m0",
            assignments=tuple((f"m{number}", 10) for number in range(members)),
        ),
    )


@pytest.mark.parametrize(
    ("sizes", "wanted", "holds"),
    [
        ([1, 1], (1, 2), False),  # a member alone that joined again is no second member
        ([1, 1, 2], (1, 2), True),
        ([1, 2], (1, 2, 1), False),
        ([1, 2, 2, 1], (1, 2, 1), True),
        ([2, 1], (1, 2), False),
    ],
)
def test_the_numbers_of_members_follow_each_other(
    sizes: list[int], wanted: tuple[int, ...], holds: bool
) -> None:
    seen = [assignment(size) for size in sizes]
    assert assigned(*wanted)([*seen, assignment(2, "other"), assignment(1, "other")]) is holds
