"""The stream of exercise 16-16, which is killed and started again."""

import pytest

from exercises.ch16_spark.ex16_predict.material import (
    Kill,
    Sink,
    Stream,
    make,
    plan,
    right_answers,
)


@pytest.mark.parametrize("seed", range(30))
def test_the_answers_of_the_stream_are_those_of_the_arithmetic(seed: int) -> None:
    numbers = plan(seed)
    every = numbers.records + numbers.more
    planned = 3 * numbers.limit
    assert right_answers(seed) == {
        "not_planned": 2 * numbers.limit + numbers.new_limit,
        "planned": planned,
        "last_batch": 2 + -(-(every - planned) // numbers.new_limit),
        "appended": every + numbers.part,
        "overwritten": every,
        "skipped": every - numbers.limit + numbers.part,
        "uncommitted": every + numbers.part,
        "committed": every,
    }
    assert f"{numbers.part} of the {numbers.limit} rows" in make(seed)["questions.md"]


def test_a_stream_that_is_not_killed_writes_each_record_once() -> None:
    stream = Stream(Sink.APPENDS, 100)
    stream.run(30)
    assert stream.planned == {0: 30, 1: 60, 2: 90, 3: 100}
    assert [offset for _, offset, _ in stream.written] == list(range(100))


def test_the_example_of_the_page() -> None:
    stream = Stream(Sink.APPENDS, 100)
    stream.run(30, Kill.IN_THE_ROWS, 10)
    assert sorted(stream.done) == [0, 1]
    stream.run(30)
    assert len(stream.written) == 110
