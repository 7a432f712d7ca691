"""The incidents of exercise 16-8: their right answers, and the recording that a learner gets."""

from pathlib import Path

import pytest

from exercises.ch16_spark.ex08_recordings.material import incident, make
from exercises.ch16_spark.incident_answers import (
    Flap,
    Pause,
    Times,
    percentile,
    right_flaps,
    right_latency,
    right_rebalances,
    rows_of,
    timeline,
)
from exercises.ch16_spark.incidents_made import Incident, made_incident
from exercises.runner.check import check_public
from exercises.runner.manifest import find_exercise
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.events.group import MemberJoined, MemberLeft
from kafka_edu.trace.reader import read_recording
from kafka_edu.trace.recording_file import open_events, readable_part

EXERCISE = find_exercise("16-8")


@pytest.mark.parametrize(
    ("count", "p50", "p99"), [(1, 1, 1), (2, 1, 2), (3, 2, 3), (100, 50, 99), (200, 100, 198)]
)
def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed(
    count: int, p50: int, p99: int
) -> None:
    values = list(range(count, 0, -1))
    assert (percentile(values, 50), percentile(values, 99)) == (p50, p99)


def test_the_answers_about_an_incident_written_by_hand() -> None:
    made = Incident(0).leads(2, "web", 0, [2, 0, 1])
    made.request(0, ApiKey.PRODUCE, 700).request(1, ApiKey.FETCH, 500_000, follower=True)
    made.members(1, "readers", MemberJoined, "ann-1").after(20).joined(1, "readers").after(5)
    made.assigned(1, "readers").after(1_000).kill(2).after(3_000).leads(0, "web", 0, [0, 1])
    made.after(1_500).isr("web", 0, [0, 1, 2])
    made.members(1, "readers", MemberLeft, "ann-1").after(1).joined(1, "readers")
    events = made.by_file()
    assert right_latency(events) == {"Produce": Times(1, 700, 700)}
    assert right_flaps(events) == [Flap("web-0", 2, 4_025_000, 1_500_000, "kill -9 broker 2")]
    assert right_rebalances(events) == [
        Pause("readers", 1, "MemberJoined", 0, 25_000),
        Pause("readers", 2, "MemberLeft", 5_525_000, 1_000),
    ]
    assert timeline(events, ("ActionAsked",)) == (
        "    1,025,000 µs  supervisor 1      kill -9 broker 2",
    )


@pytest.mark.parametrize("seed", range(1, 30))
def test_each_learner_has_an_incident_with_one_answer(seed: int) -> None:
    made, found = incident(seed)
    lasted = [flap.lasted_us for flap in right_flaps(made.envelopes)]
    assert lasted.count(found.lasted_us) == 1
    assert found.act
    assert found != incident(seed + 1)[1]


def test_the_recording_is_one_that_every_instrument_reads(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(make(5)["recording.jsonl"], encoding="utf-8")
    with open_events(path) as file:
        read = list(read_recording(readable_part(file, None)))
    assert read == incident(5)[0].by_file()
    assert rows_of(read) == rows_of(incident(5)[0].by_file())


def test_an_incident_has_what_its_acts_cause() -> None:
    acts = [flap.act.split()[0] for seed in range(40) for flap in right_flaps(
        made_incident(seed).envelopes)]  # fmt: skip
    assert {"pause", "cut", "kill"} == set(acts)


def test_the_diagnosis_of_another_learner_fails() -> None:
    """The reference's answers are those of seed 0."""
    failed = [
        outcome.test
        for outcome in check_public(EXERCISE, EXERCISE.solution, 1, material=7).public
        if not outcome.passed
    ]
    assert failed == ["test_diagnosis"]
