"""The report of the demo spark-kills when something is missing."""

from chapters.ch16_spark.kills import Killed, Outcome, report_of
from kafka_edu.spark.pipeline_answers import Comparison

RIGHT = Comparison("lines", 9, 9, 0)
ALL = Outcome(Killed({"lines": 3}, 1, 1, 2), [RIGHT], 9, (12, 9), (18, 9), 70.0)


def missed(outcome: Outcome) -> list[str]:
    return [target.name for target in report_of(outcome).targets if not target.holds]


def test_the_report_holds_when_every_line_is_there_once() -> None:
    report = report_of(ALL)
    assert report.holds
    assert report.figures["lines sent"] == 9
    values = {target.name: target.value for target in report.targets}
    assert values["at least once, topic: lines doubled"] == 3
    assert values["at least once, Parquet: lines doubled"] == 9


def test_a_difference_does_not_hold() -> None:
    wrong = ALL._replace(comparisons=[RIGHT, Comparison("lines lost", 0, 2, 1)])
    assert missed(wrong) == ["differences from the truth: lines lost"]


def test_an_output_that_doubled_nothing_shows_nothing() -> None:
    assert missed(ALL._replace(parquet_rows=(9, 9))) == ["at least once, Parquet: lines doubled"]


def test_a_kill_that_found_no_batch_does_not_hold() -> None:
    assert missed(ALL._replace(killed=Killed({}, 1, 1, 2))) == ["jobs killed in mid-batch"]


def test_without_a_full_java_the_executors_kill_is_said_to_be_missing() -> None:
    report = report_of(ALL._replace(killed=Killed({"lines": 3}, 0, 1, 2)))
    assert report.holds
    assert report.figures["executors killed"] == "not shown: there is no full Java"
    assert "executors killed" not in [target.name for target in report.targets]
