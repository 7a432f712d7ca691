"""Public tests of exercise 12-4. `kafka-edu lab check 12-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.diagnosis import two_numbers, wrong_numbers
from ...runner.mismatch import Mismatch
from ..callback_world import FAILURES, CallbackWorld, WrongAnswerError, live
from .material import run

WANTED: Final = "(record whose callback never came, the batch that it was in at its end)"
LINES: Final = 10
WEB: Final = "web-0"


class Asked:
    """An object of the learner's class, as the simulated producer calls it."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()

    def added(self, batch: int, place: int, record: int) -> None:
        """Call `added`: a record with a callback is in a batch."""
        self._made.call("added", batch, place, record)

    def divided(self, batch: int, parts: Sequence[tuple[int, int]]) -> None:
        """Call `divided`: a batch was divided."""
        self._made.call("divided", batch, list(parts))

    def ended(self, batch: int) -> object:
        """Return the callbacks that are called now."""
        return self._made.call("ended", batch)


def world_of(learner: Learner) -> CallbackWorld:
    """Return a producer with the learner's code. Each answer is checked."""
    return CallbackWorld(Asked(learner), strict=True)


@contextmanager
def checked(world: CallbackWorld) -> Iterator[CallbackWorld]:
    """Turn a WrongAnswerError into a Mismatch that shows the last calls."""
    try:
        yield world
    except WrongAnswerError as error:
        drawing = tuple(world.calls[-LINES:])
        raise Mismatch(
            error.call, error.expected, error.came, error.why, drawing=drawing, read="ended"
        ) from None


def batch_of(world: CallbackWorld, count: int, without: Sequence[int] = ()) -> int:
    """Send a batch of `count` records. The records at the places `without` have no callback."""
    batch = [world.record(WEB, callback=place not in without) for place in range(count)][-1]
    world.send(batch)
    return batch


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the record whose callback never came, and its last batch"""
    made = run(material)
    record, batch = came = two_numbers(learner, WANTED, ())
    if record != made.record:
        if record in made.called:
            why = f"the callback of record {record} came"
        elif record in made.without:
            why = f"record {record} has no callback, so none can come"
        else:
            why = f"there is no record {record}, or its callback is not the first that is lost"
        raise wrong_numbers(WANTED, came, why)
    if batch != made.batch:
        why = f"record {record} had its end in another batch: was batch {batch} divided?"
        raise wrong_numbers(WANTED, came, why)


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    with checked(world_of(learner)) as world:
        first, second = world.divide(batch_of(world, 5, [1]), (3, 2))
        world.end(second)
        world.end(first)


def test_whole(learner: Learner) -> None:
    """batches that are not divided: stored, failed, and one whose records have no callbacks"""
    with checked(world_of(learner)) as world:
        world.end(batch_of(world, 3))
        world.end(batch_of(world, 3, [0, 2]), "TimeoutException")
        world.end(batch_of(world, 2, [0, 1]))
        again = batch_of(world, 2)
        world.again(again, FAILURES[0])
        world.end(again)


def test_divided_once(learner: Learner) -> None:
    """a batch is divided into two parts, and into three that are not equal"""
    with checked(world_of(learner)) as world:
        for counts in ((2, 2), (3, 2), (1, 4), (2, 3, 1), (1, 1, 1)):
            for part in world.divide(batch_of(world, sum(counts)), counts):
                world.end(part)


def test_divided_twice(learner: Learner) -> None:
    """each part is divided again, and these parts end in a different order"""
    with checked(world_of(learner)) as world:
        parts = world.divide(batch_of(world, 9, [2, 7]), (5, 4))
        smaller = [*world.divide(parts[0], (3, 2)), *world.divide(parts[1], (2, 2))]
        for part in reversed(smaller):
            world.end(part)


def test_down_to_one(learner: Learner) -> None:
    """a record is too large: its batch is divided until only this record fails"""
    with checked(world_of(learner)) as world:
        part, size = batch_of(world, 16), 16
        while size > 1:
            size //= 2
            good, part = world.divide(part, (size, size))
            world.end(good)
        world.end(part, "MESSAGE_TOO_LARGE")


def test_parts_without_callbacks(learner: Learner) -> None:
    """a part without any callback is also divided, and ends"""
    with checked(world_of(learner)) as world:
        empty, rest = world.divide(batch_of(world, 6, [0, 1, 2, 3]), (3, 3))
        for part in (*world.divide(empty, (2, 1)), *world.divide(rest, (1, 2))):
            world.end(part)


def test_others_meanwhile(learner: Learner) -> None:
    """two batches are divided at the same time, and a third one is filled"""
    with checked(world_of(learner)) as world:
        one, two = batch_of(world, 4), batch_of(world, 4)
        world.record("web-1")
        parts = [*world.divide(one, (2, 2)), *world.divide(two, (3, 1))]
        last = world.record("web-1")
        for part in (parts[2], parts[1], parts[3], parts[0]):
            world.end(part)
        world.end(last)


def test_any_run(learner: Learner, seed: int) -> None:
    """six producers, with random batches, of which many are too large"""
    random = Random(f"callbacks/{seed}")
    for _ in range(6):
        with checked(world_of(learner)) as world:
            limits = {f"web-{n}": random.choice((1, 2, 5, 100)) for n in range(3)}
            live(world, random, limits, 60)
