"""Exercise 03-6: the answers come from the events, and the rules of the page give the same
answers.
"""

import pytest

from exercises.ch03_delayed_operations.ex06_predict.material import (
    FIRST,
    batch_bytes,
    make,
    plan,
    right_answers,
)

SEEDS = range(25)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_events_agree_with_the_rules(seed: int) -> None:
    made, answers = plan(seed), right_answers(seed)
    size, records, ends_ms = batch_bytes(len(FIRST)), 1, made.max_wait_ms
    for time_ms, characters in made.produces:
        if time_ms >= made.max_wait_ms:
            break
        size += batch_bytes(characters)
        records += 1
        if size >= made.min_bytes:
            ends_ms = time_ms
            break
    by = "time-out" if ends_ms == made.max_wait_ms else "bytes"
    assert (answers["fetch_ends_by"], answers["fetch_ends_ms"]) == (by, ends_ms)
    assert answers["fetch_records"] == records

    seconds = {who: [ms for ms, one in made.fetches if one == who][1] for who in (1, 2)}
    last = max(seconds, key=lambda who: seconds[who])
    in_time = seconds[last] < made.timeout_ms
    assert answers["produce_ends_by"] == (f"broker {last}" if in_time else "time-out")
    assert answers["produce_ends_ms"] == (seconds[last] if in_time else made.timeout_ms)
    assert answers["hw_at_answer"] == made.hw + (made.records if in_time else 0)
    assert answers["hw_at_end"] == made.hw + made.records


def test_runs_end_in_every_way() -> None:
    answers = [right_answers(seed) for seed in SEEDS]
    assert {each["fetch_ends_by"] for each in answers} == {"bytes", "time-out"}
    assert {each["produce_ends_by"] for each in answers} == {"broker 1", "broker 2", "time-out"}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_questions_fit_a_terminal(seed: int) -> None:
    assert max(len(line) for line in make(seed)["questions.md"].splitlines()) <= 80
