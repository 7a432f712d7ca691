"""In each run of exercise 12-5 one batch waits for ever. With the mended class no batch does."""

from random import Random

import pytest

from exercises.ch12_producer.ex05_waits_for_ever.material import LATE_TIMES, make, run
from exercises.ch12_producer.ex05_waits_for_ever.starter import Accumulator
from exercises.ch12_producer.linger_world import LingerWorld, WrongAnswerError, trickle

SEEDS = range(30)


class Mended(Accumulator):
    """The starter's class, with the time of the first record."""

    def append(self, partition: str, size: int, now_ms: int) -> int:
        known = {number: batch.since_ms for number, batch in self.waiting.items()}
        number = super().append(partition, size, now_ms)
        self.waiting[number].since_ms = known.get(number, now_ms)
        return number


@pytest.mark.parametrize("seed", SEEDS)
def test_every_learner_has_one_batch_that_waits(seed: int) -> None:
    made = run(seed)
    began = [text for text in made.events if f"begins batch {made.batch} of" in text]
    assert [int(text.split(" ms")[0].replace(",", "")) for text in began] == [
        made.due_ms - made.linger_ms
    ]
    assert not any(f"batch {made.batch} of" in text and " goes: " in text for text in made.events)
    assert made.end_ms - made.due_ms >= (LATE_TIMES - 1) * made.linger_ms
    assert f"{made.end_ms:,} ms" in make(seed)["events.txt"]


def test_learners_have_different_numbers() -> None:
    assert len({make(seed)["events.txt"] for seed in SEEDS}) == len(SEEDS)
    assert len({(run(seed).batch, run(seed).due_ms) for seed in SEEDS}) == len(SEEDS)


def test_the_mended_class_has_no_such_batch() -> None:
    world = LingerWorld(Mended(1_000, 50), 1_000, 50, 0, strict=True)
    trickle(world, Random(5), ("a", "b"), 300)
    world.until(world.now_ms + 1_000)
    assert not world.open
    assert world.overdue() == []


def test_the_starter_is_found() -> None:
    world = LingerWorld(Accumulator(1_000, 50), 1_000, 50, 0, strict=True)
    with pytest.raises(WrongAnswerError, match=r"linger.ms of the oldest batch is over"):
        trickle(world, Random(5), ("a", "b"), 300)
