"""The judges of the PySpark exercises, without Spark."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from exercises.ch16_spark import live_job
from exercises.ch16_spark.behind import File
from exercises.ch16_spark.blame import END_S, ENDS, Deployment, Request, RightBlame
from exercises.ch16_spark.error_minutes import RightErrors
from exercises.ch16_spark.ex02s_windows import public_tests as ex02s
from exercises.ch16_spark.ex03s_sessions.public_tests import RightVisits
from exercises.ch16_spark.ex08s_report.public_tests import by_process
from exercises.ch16_spark.ex09s_remembers.public_tests import Order, RightOrders
from exercises.ch16_spark.ex10s_each_once import public_tests as ex10s
from exercises.ch16_spark.ex13s_waits import public_tests as ex13s
from exercises.ch16_spark.ex15s_to_topic.public_tests import why_other
from exercises.ch16_spark.incidents_made import Incident
from exercises.ch16_spark.jobs import (
    RECORDS,
    check_columns,
    check_no_python,
    records_of,
)
from exercises.ch16_spark.killed_job import run_and_kill
from exercises.ch16_spark.live_job import compared
from exercises.ch16_spark.live_streams import compared_rows, value_of
from exercises.ch16_spark.log_dir_made import LogDir
from exercises.ch16_spark.minutes import DELAY_S, Line, Minute, RightMinutes, clock
from exercises.ch16_spark.page_counts import RightCounts, fields_of
from exercises.ch16_spark.page_counts import View as PageView
from exercises.ch16_spark.page_views import Request as View
from exercises.ch16_spark.sales import ORDERS, RightSales
from exercises.ch16_spark.sales import Order as Sale
from exercises.ch16_spark.segments_made import Batch, written
from exercises.ch16_spark.topic_reader import Written
from exercises.grading.grade import Grader, Kind
from exercises.runner.check import check_public
from exercises.runner.manifest import find_exercise
from exercises.runner.mismatch import Mismatch
from exercises.runner.public_tests import CheckError, Run
from exercises.runner.spark_learner import Row, Rows, SparkLearner
from exercises.runner.spark_process import words_of
from kafka_edu.common.busy_machine import Spent
from kafka_edu.learner.learner import LearnerFailure, Used
from kafka_edu.spark.driver_keeper import IDLE
from kafka_edu.supervisor.cluster import ClusterError

ROWS = Rows(("a", "b"), ("int", "string"), (((2, "x"),), ((1, "y"),)), "Project", ())


def test_retention_does_not_delete_the_old_lines_of_a_live_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The lines are from 2018. A broker checks retention half a minute after its start."""
    asked: list[object] = []

    class Cluster:
        broker_ids = (0, 1, 2)

    def refuse(*arguments: object) -> None:
        asked.extend(arguments)
        raise ClusterError("not here")

    monkeypatch.setattr(live_job, "make_topic", refuse)
    with pytest.raises(ClusterError):
        live_job.fill(Cluster())  # type: ignore[arg-type]
    assert asked[-1] == {"retention.ms": "-1"}


def test_rows_are_sorted_and_have_columns() -> None:
    assert ROWS.rows == [(1, "y"), (2, "x")]
    assert ROWS.column("b") == ["y", "x"]
    with pytest.raises(ValueError, match="not in tuple"):
        ROWS.column("c")


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"a": "int", "b": "string", "c": "int"}, "there is no column 'c'"),
        ({"a": "int"}, "the task has no column 'b'"),
        ({"a": "bigint", "b": "string"}, "a is of type int, and should be bigint"),
        ({"b": "string", "a": "int"}, "the columns are right, their order is not"),
    ],
)
def test_columns_that_are_not_as_asked(wanted: dict[str, str], why: str) -> None:
    with pytest.raises(Mismatch, match=why):
        check_columns("build(…)", ROWS, wanted)
    check_columns("build(…)", ROWS, {"a": "int", "b": "string"})


def test_python_in_the_plan() -> None:
    check_no_python("build(…)", ROWS)
    with pytest.raises(Mismatch, match="a plan with BatchEvalPython"):
        check_no_python("build(…)", ROWS._replace(plan="Project\n+- BatchEvalPython [f(a)]"))


def test_records_have_the_columns_of_the_connector() -> None:
    records = records_of([b"x", None, b"", b"y"])
    assert [record[3:5] for record in records] == [(0, 0), (1, 0), (2, 0), (0, 1)]
    assert all(len(record) == len(RECORDS.split(",")) for record in records)


def test_a_minute_is_over_when_the_watermark_has_reached_its_end() -> None:
    right = RightMinutes()
    assert right.batch([Line(30), Line(179)]) == []
    assert right.batch([Line(180, status=500, duration_us=9)]) == [Minute(clock(0), 1, 0, 5_000)]
    assert right.batch([Line(59), Line(60)]) == [], "59 is dropped, 60 is not"
    assert right.batch([Line(1_000)])[0] == Minute(clock(60), 1, 0, 5_000)


def test_an_order_is_forgotten_two_minutes_later_and_guests_are_never_dropped() -> None:
    right = RightOrders()
    assert right.batch([Order("a", 10), Order("a", 55), Order(None, 12)]) == [
        Order("a", 10),
        Order(None, 12),
    ]
    assert right.batch([Order(None, 12), Order("a", 125)]) == [Order(None, 12)]
    assert right.batch([Order("b", 250)]) == [Order("b", 250)]
    assert right.batch([Order("a", 251)]) == [Order("a", 251)], "it is forgotten at 130"
    assert right.batch([Order("c", 131)]) == [], "later than the watermark, 131"


def test_a_retry_counts_in_the_minute_of_its_first_try_and_a_shop_has_its_own_ids() -> None:
    right = RightSales()
    assert right.batch([Sale("web", "7", 50, 40), Sale("web", "7", 70, 40)]) == []
    assert right.batch([Sale("north", "7", 59, 5), Sale("web", "8", 179)]) == []
    assert right.batch([Sale("web", "9", 59), Sale("web", "10", 180)]) == [
        (clock(0), "north", 1, 5),
        (clock(0), "web", 1, 40),
    ], "9 is dropped: the watermark is 59"
    assert right.batch([Sale("web", "7", 181, 3)]) == [], "7 is forgotten at 170, not yet now"
    assert right.batch([Sale("web", "0", 900)]) == [
        (clock(120), "web", 1, 100),
        (clock(180), "web", 1, 100),
    ]


def test_the_value_of_a_live_record_and_its_rows() -> None:
    assert value_of(ORDERS, Sale("web", "7", 50, 40).row()) == {
        "shop": "web",
        "id": "7",
        "time": "2018-08-01T10:00:50.000000Z",
        "cents": 40,
    }
    assert compared_rows("rows", [(1, "y"), (2, "x")], ROWS.rows).passed
    step = compared_rows("rows", [(1, "y"), (3, "x")], ROWS.rows)
    assert step.seen == "2 rows, and 2 are right; missing: (3, 'x'); wrong: (2, 'x')"


def test_a_late_line_joins_two_sessions() -> None:
    right = RightVisits()
    assert right.batch([Line(0), Line(360)]) == []
    assert right.batch([Line(240, status=500)]) == []
    assert right.batch([Line(2_000, "b")]) == [("10.0.0.1", clock(0), clock(360), 3, True)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "[UNRESOLVED_COLUMN] A column `x` cannot be resolved. SQLSTATE: 42703;\n'Project ['x]",
            "[UNRESOLVED_COLUMN] A column `x` cannot be resolved",
        ),
        (
            "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: it is late"
            " SQLSTATE: XXKST\n=== Streaming Query ===",
            "it is late",
        ),
        (
            "A join of two streams is not supported without a watermark;\n~Join LeftOuter\n:- ~Rel",
            "A join of two streams is not supported without a watermark",
        ),
        (
            "An exception was thrown:\nTraceback (most recent call last):\n  File …\n"
            "ZeroDivisionError: by zero\n",
            "a function of yours failed in a worker: ZeroDivisionError: by zero",
        ),
        (
            "An error occurred while calling o1.\n: java.lang.IllegalStateException: no\n\tat a",
            ": java.lang.IllegalStateException: no",
        ),
    ],
)
def test_a_message_of_spark_in_one_line(text: str, words: str) -> None:
    assert words_of(text) == words


def test_a_step_says_what_is_right() -> None:
    assert compared("lines", 3, 3) == ("lines", True, "3", False)
    assert compared("lines", 3, 4).seen == "4, and 3 is right"


class OnceKilled:
    """Plays both the killer and the learner. The kill comes when the job has just ended, or
    never.
    """

    def __init__(self, kills: bool, failure: str = "") -> None:
        self.has_killed = False
        self.history: list[str] = []
        self._kills = kills
        self._failure = failure

    def start(self) -> None:
        self.history.append("start")

    def run(self) -> None:
        self.history.append("run")
        if self._failure:
            raise LearnerFailure("feed(…)", self._failure, Path("feed.py"))

    def stop(self) -> None:
        self.has_killed = self._kills
        self.history.append("stop")

    def close(self) -> None:
        self.history.append("close")


def test_a_job_that_ends_just_before_the_kill_gets_another_process() -> None:
    quick = OnceKilled(kills=True)
    assert run_and_kill(quick.run, quick, quick) == ""  # type: ignore[arg-type]  # a learner
    assert quick.history == ["start", "run", "stop", "close"]
    killed = OnceKilled(kills=True, failure="its process has ended")
    assert run_and_kill(killed.run, killed, killed) == ""  # type: ignore[arg-type]  # a learner
    assert killed.history[-1] == "close"


def test_a_job_that_is_not_killed_may_fail_by_itself() -> None:
    right = OnceKilled(kills=False)
    assert run_and_kill(right.run, right, right) == ""  # type: ignore[arg-type]  # a learner
    assert right.history == ["start", "run", "stop"]
    wrong = OnceKilled(kills=False, failure="raised ValueError")
    assert "raised ValueError" in run_and_kill(wrong.run, wrong, wrong)  # type: ignore[arg-type]


def test_a_grade_uses_no_jvm_that_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grader's own process keeps no JVM either, although it loads each submission to see
    whether that works.
    """
    monkeypatch.setenv(IDLE, "600")
    monkeypatch.setattr(Grader, "_reference", lambda _: Run((), Used(), Spent(0.0, 0.0, 0.0)))
    Grader(find_exercise("01-1"), 1, Kind.TRUSTED)
    assert os.environ[IDLE] == "600"
    Grader(find_exercise("16-1s"), 1, Kind.TRUSTED)
    assert os.environ[IDLE] == "0"


def test_without_pyspark_the_check_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = find_exercise("16-1s")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(CheckError, match=r"is written in PySpark: run `.*setup spark` first"):
        check_public(exercise, exercise.solution, 1)


def test_a_failed_request_has_the_deployments_of_the_ten_minutes_before_it() -> None:
    right = RightBlame()
    right.batch([Deployment("cart", 0, "c1"), Deployment("cart", 90, "c2")])
    right.batch([Request("cart", 89), Request("cart", 600), Request("cart", 601, 404)])
    at = clock(89), clock(600)
    assert right.rows() == [("cart", at[0], "c1", "blue"), ("cart", at[1], "c2", "blue")]
    right.batch([Request("mail", 650)])
    assert len(right.rows()) == 2, "a deployment of mail may still come: the other stream is behind"
    for batch in ENDS:
        right.batch(batch)
    assert right.rows()[-1] == ("mail", clock(650), None, None)
    right.batch([Request("cart", END_S - DELAY_S)])
    assert Request("cart", END_S - DELAY_S) in right.too_late


def test_all_lines_move_the_watermark_and_only_errors_are_counted() -> None:
    right = RightErrors()
    assert right.batch([Line(10, status=500), Line(70), Line(179)]) == []
    assert right.batch([Line(59, status=599), Line(180)]) == [(clock(0), 2)]
    assert right.batch([Line(59, status=500)]) == [], "it is too late"


def test_the_rows_of_the_slow_functions() -> None:
    one = View("10.0.3.77", "/a//b/?q=1", "Chrome/67 Safari/537", 404)
    assert one.answer() == ("10.0.3.0", "/a/b", "chrome", "theirs")
    assert View("::1", "//", None, None).answer() == ("hidden", "/", "other", "unknown")
    assert View("1.2.3.4\n", "/a\n/", "a Bot", 500).answer() == ("hidden", "/a\n", "bot", "ours")


def test_a_count_is_written_again_when_a_view_has_changed_it() -> None:
    right = RightCounts()
    key = "2018-08-01T10:00:00Z /"
    first = right.batch([PageView("/", 0), PageView("/", 10), PageView(None, 11)])
    assert first == {key: {"page": "/", "begin": "2018-08-01T10:00:00Z", "views": 2}}
    assert list(right.batch([PageView("/", 299), PageView("/", 420)])) == [
        key,
        "2018-08-01T10:05:00Z /",
    ]
    assert right.batch([PageView("/", 299)]) == {}, "the five minutes are over"
    assert fields_of(b'{"a": 1}') == {"a": 1}
    assert fields_of("no JSON") == "no JSON"


def test_the_judge_of_records_says_which_one_is_wrong() -> None:
    right = {"a": {"views": 1}}
    good = Written(0, b"a", b'{"views": 1}')
    assert why_other(right, [good]) == ""
    assert "there is no record with the key 'a'" in why_other(right, [])
    assert "there must be no record with the key None" in why_other(
        right, [good, Written(0, None, b"")]
    )
    assert "2 records of one run have the key 'a'" in why_other(right, [good, good])
    assert "should have the fields {'views': 1}" in why_other(right, [Written(0, b"a", b"1")])


def test_a_log_dir_adds_the_codecs_of_a_topic_and_keeps_segments_apart(tmp_path: Path) -> None:
    logs = LogDir(tmp_path / "logs")
    logs.put("web", 0, written([Batch(2), Batch(marker=True)]))
    logs.put("web", 1, written([Batch(3)]))
    logs.put("web", 2, written([]))
    (key,) = logs.codecs()
    assert key == ("web", "none")
    assert logs.codecs()[key][:2] == (2, 5), "the marker does not count"
    name = f"{0:020d}.log"
    assert {key: batches for key, (batches, _) in logs.segments().items()} == {
        ("web", 0, name): 2,
        ("web", 1, name): 1,
    }


def test_a_process_that_counts_from_1_again_has_a_recording_of_its_own() -> None:
    made = Incident().leads(2, "web", 0, [2, 1, 0]).kill(2).restarted(2)
    made.after(5).leads(2, "web", 0, [2, 1, 0])
    found = by_process(made.by_file())
    assert [[event.name for event in events] for events in found] == [
        ["ActionAsked"],
        ["BecameLeader"],
        ["BecameLeader"],
    ]


@pytest.mark.parametrize(
    ("places", "whole"),
    [
        (((0, 3), (0, 4), (0, 5)), True),
        (((0, 3), (0, 5)), False),
        (((0, 3), (1, 4)), False),
    ],
)
def test_a_task_reads_a_piece_of_one_partition(
    places: tuple[tuple[int, int], ...], whole: bool
) -> None:
    assert File("batch=0/part-0.parquet", places, True).without_gap is whole


class WrittenRows(SparkLearner):
    """A job that writes these rows, without Spark."""

    def __init__(self, columns: Mapping[str, str], *batches: tuple[Row, ...]) -> None:
        self._rows = Rows(tuple(columns), tuple(columns.values()), batches, "", ())

    def stream(self, schema: str, batches: Sequence[Sequence[Sequence[object]]]) -> Rows:
        return self._rows


def test_a_right_row_that_is_written_twice_is_a_mismatch() -> None:
    begin, late = clock(0), 1_000
    line, sale = (begin, 1, 1, 5_000), (begin, "web", 1, 40)
    lines = [Line(0, status=500)], [Line(late)]
    with pytest.raises(Mismatch, match="a minute has one row"):
        ex02s.Checked(WrittenRows(ex02s.COLUMNS, (), (line, line))).agrees(*lines)
    with pytest.raises(Mismatch, match="a minute of a shop has one row"):
        ex10s.Checked(WrittenRows(ex10s.COLUMNS, (), (sale, sale))).agrees(
            [Sale("web", "a", 0, 40)], [Sale("web", "end", late)]
        )
    with pytest.raises(Mismatch, match="a minute has one row"):
        ex13s.Checked(WrittenRows(ex13s.COLUMNS, (), (line[:2], line[:2]))).agrees(*lines)
