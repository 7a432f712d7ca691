"""Queries start side by side. A query that was too slow is started again, as long as there is
progress.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

import pytest

from kafka_edu.spark.query_start import TOO_SLOW, Starting, start_queries
from kafka_edu.spark.start_limit import StartLimit

SLOW = RuntimeError(f"[STREAM_FAILED] {TOO_SLOW}.")
BROKEN = RuntimeError("topic web does not exist")
RUNS, ENDS = "Waiting for data to arrive", "Stopped"


class Query:
    """A query of Spark. It is still starting at the first looks. After that it runs, has ended or
    has failed.
    """

    def __init__(self, spark: "Spark", name: str, looks: int, end: str | Exception) -> None:
        self.spark, self.name, self.end = spark, name, end
        self.looks_left = looks
        self.stopped = False

    @property
    def isActive(self) -> bool:
        return not self.stopped and (self.looks_left > 0 or self.end == RUNS)

    @property
    def status(self) -> Mapping[str, str]:
        return {"message": "Initializing sources" if self.looks_left > 0 else RUNS}

    def exception(self) -> Exception | None:
        return self.end if isinstance(self.end, Exception) and self.looks_left <= 0 else None

    def stop(self) -> None:
        self.stopped = True


class Spark:
    """Starts queries. A table says for each query's name how its attempts end."""

    def __init__(self, ends: Mapping[str, list[str | Exception]], looks: int = 3) -> None:
        self.ends = {name: list(each) for name, each in ends.items()}
        self.looks = looks
        self.started: list[Query] = []
        self.most_at_once = 0
        self.again_at_once = 0

    def writer(self, name: str) -> Any:
        spark = self

        class Writer:
            def start(self) -> Query:
                end = spark.ends[name].pop(0) if len(spark.ends[name]) > 1 else spark.ends[name][0]
                query = Query(spark, name, spark.looks, end)
                is_again = any(one.name == name for one in spark.started)
                spark.started.append(query)
                starting = sum(one.looks_left > 0 for one in spark.started)
                spark.most_at_once = max(spark.most_at_once, starting)
                if is_again:
                    spark.again_at_once = max(spark.again_at_once, starting)
                return query

        return Writer()

    def passes(self, _: float) -> None:
        for query in self.started:
            query.looks_left -= 1

    def start(
        self,
        show: Callable[[Starting], None] = lambda starting: None,
        limit: Callable[[], bool] = lambda: False,
    ) -> list[Query]:
        class Limit:
            def is_over(self) -> bool:
                return limit()

        found = start_queries(
            {name: self.writer(name) for name in self.ends},
            show,
            new_limit=lambda: cast(StartLimit, Limit()),
            wait=self.passes,
        )
        return cast("list[Query]", list(found.values()))


def test_all_start_side_by_side_and_each_step_is_shown() -> None:
    spark = Spark({"lines": [RUNS], "windows": [RUNS], "sessions": [ENDS]})
    shown: list[str] = []
    assert all(
        query.isActive is (query.end == RUNS)
        for query in spark.start(lambda one: shown.append(str(one)))
    )
    assert spark.most_at_once == len(spark.started) == 3
    assert shown[:4] == [
        "starting query 1 of 3: lines",
        "starting query 2 of 3: windows",
        "starting query 3 of 3: sessions",
        "0 of 3 queries run, starting lines, windows, sessions",
    ]
    assert shown[-1] == "3 of 3 queries run"


def test_slow_ones_are_started_again_one_after_the_other() -> None:
    spark = Spark({"lines": [SLOW] * 14 + [RUNS], "windows": [RUNS], "sessions": [SLOW, RUNS]})
    shown: list[Starting] = []
    found = spark.start(shown.append)
    assert [query.name for query in found] == ["lines", "windows", "sessions"]
    assert all(query.isActive for query in found)
    assert spark.again_at_once == 1
    assert shown[-1].again == 15, "more attempts than any fixed number would be"
    assert "busy machine, 15 started again" in str(shown[-1])


def test_it_gives_up_when_nothing_has_moved_for_too_long() -> None:
    looks = iter(range(1_000))
    spark = Spark({"lines": [RUNS], "windows": [SLOW]})
    with pytest.raises(RuntimeError, match=TOO_SLOW):
        spark.start(limit=lambda: next(looks) > 20)
    assert 2 < len(spark.started) < 20
    assert all(query.stopped for query in spark.started if query.isActive or query.end == RUNS)


def test_another_error_ends_the_start_at_once() -> None:
    spark = Spark({"lines": [RUNS], "windows": [BROKEN]})
    with pytest.raises(RuntimeError, match="does not exist"):
        spark.start()
    assert len(spark.started) == 2
    assert all(query.stopped for query in spark.started)
