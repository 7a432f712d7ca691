"""The lines in which `cluster up` and `cluster start` sum up what brokers found and what failed."""

from kafka_edu.supervisor.broker_repairs import _Found, _lines
from kafka_edu.trace.events.log import RepairsFound


def found(summary: str, *stuck: str) -> RepairsFound:
    return RepairsFound(logs=1, repairs=1, bytes=7, summary=summary, last=("x",), stuck=stuck)


def test_repairs_are_one_line_and_each_failed_part_is_another() -> None:
    assert _lines(
        {
            0: _Found(None, ()),
            1: _Found(found("it repaired 1 damaged file", "a", "b"), ("its log dir /d failed: y",)),
            2: _Found(found("", "a"), ()),
            3: _Found(found(""), ()),
        }
    ) == [
        "broker 1: it repaired 1 damaged file; 2 replicas of it cannot follow the leader",
        "broker 1: its log dir /d failed: y",
        "broker 2: 1 replica of it cannot follow the leader",
    ]
