"""In each run of exercise 12-4 a few callbacks are lost. With the mended class no callback is
lost.
"""

from collections.abc import Sequence
from random import Random

import pytest

from exercises.ch12_producer.callback_world import CallbackWorld, WrongAnswerError, live, pairs
from exercises.ch12_producer.ex04_lost_callback.material import LIMITS, MOST_LOST, make, run
from exercises.ch12_producer.ex04_lost_callback.starter import Callbacks

SEEDS = range(30)


class Mended(Callbacks):
    """The starter's class, mended: after a batch is divided, places count from the part's start."""

    def divided(self, batch: int, parts: Sequence[tuple[int, int]]) -> None:
        super().divided(batch, parts)
        first = 0
        for part, count in parts:
            self.waiting[part] = [(place - first, one) for place, one in self.waiting[part]]
            first += count


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_a_record_whose_callback_is_lost(seed: int) -> None:
    made = run(seed)
    text = "\n".join(made.events)
    assert f"the callback of record {made.record} is called" not in text
    assert f"record {made.record} goes into batch" in text
    assert made.record not in made.without
    assert any(one.startswith(f"batch {made.batch} is stored") for one in made.events) or any(
        one.startswith(f"batch {made.batch} fails") for one in made.events
    )
    assert all(
        record in made.called or record in made.without for record in range(1, made.record)
    ), "it is the first one"


def test_learners_have_different_numbers() -> None:
    assert len({make(seed)["events.txt"] for seed in SEEDS}) == len(SEEDS)
    assert len({(run(seed).record, run(seed).batch) for seed in SEEDS}) > len(SEEDS) // 2


def test_the_mended_class_loses_none() -> None:
    world = CallbackWorld(Mended(), strict=True)
    live(world, Random(5), LIMITS, 300)
    assert world.lost() == []
    assert sorted(world.called) == sorted(world.ends)
    assert not world.batches


def test_the_starter_is_found() -> None:
    world = CallbackWorld(Callbacks(), strict=True)
    with pytest.raises(WrongAnswerError, match=r"is at place \d+ of batch|never comes"):
        live(world, Random(5), LIMITS, 300)


def test_the_starter_loses_callbacks_in_parts_of_parts_only() -> None:
    world = CallbackWorld(Callbacks(), strict=False)
    live(world, Random(5), {"web-0": 1_000}, 100)
    assert world.lost() == []
    live(world, Random(6), {"web-2": 2}, 100)
    assert len(world.lost()) > MOST_LOST


@pytest.mark.parametrize("answer", [None, 3, "ab", [1], [(1, 2, 3)], [("0", 1)]])
def test_an_answer_that_is_no_list_of_pairs(answer: object) -> None:
    assert pairs(answer) is None
