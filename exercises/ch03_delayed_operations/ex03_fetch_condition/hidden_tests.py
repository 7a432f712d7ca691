"""Hidden tests of exercise 03-3: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..fetch_rules import Place, State, Wanted
from .public_tests import CheckedFetch

FAR = 2**33
"""The first offset in a log that has been written for years."""
SEGMENT = 1_000
"""The number of offsets in a segment."""
BYTES = 40
"""The number of bytes of a record."""


def place(offset: int, base: int = 0) -> Place:
    """Return an offset's place in a log that begins at `base`, with 1,000 offsets a segment."""
    segment = base + (offset - base) // SEGMENT * SEGMENT
    return Place(offset, segment, (offset - segment) * BYTES)


def test_one_fetch_looked_at_often(learner: Learner, seed: int) -> None:
    """look is called after each new record, and each answer fits that moment"""
    random = Random(f"often/{seed}")
    for _ in range(6):
        wanted = [Wanted(f"web-{n}", place(random.randint(1, 300)), 5_000, 3) for n in range(3)]
        ends = {one.name: one.place.offset for one in wanted}
        made = CheckedFetch(learner, 9_000, wanted)
        for _ in range(25):
            name = random.choice(wanted).name
            ends[name] += random.randint(0, 12)
            made.look_at({name: State(place(end)) for name, end in ends.items()})


def test_a_log_of_years(learner: Learner, seed: int) -> None:
    """offsets that need more than 32 bits, in segments of a gigabyte"""
    random = Random(f"years/{seed}")
    for _ in range(20):
        base = FAR + random.randint(0, 2**30)
        reader = base + random.randint(0, 25_000_000)
        size = (reader - base) * BYTES
        wanted = [Wanted("web-0", Place(reader, base, size), 2**31 - 1, 3)]
        made = CheckedFetch(learner, 2**30, wanted)
        for ahead in (0, 1, random.randint(2, 2**24), 2**30 // BYTES + 1):
            made.look_at({"web-0": State(Place(reader + ahead, base, size + ahead * BYTES))})


def test_many_segments(learner: Learner, seed: int) -> None:
    """the reader is several segments after the end of the log; some readers are throttled"""
    random = Random(f"segments/{seed}")
    for _ in range(40):
        wanted = [
            Wanted(f"log-{n}", place(random.randint(1, 9 * SEGMENT)), 10_000, 3) for n in range(2)
        ]
        made = CheckedFetch(learner, 4_000, wanted)
        for _ in range(4):
            made.look_at(
                {
                    one.name: State(
                        place(max(0, one.place.offset + random.choice((0, -1, 1)) * far)),
                        throttled=random.random() < 0.5,
                    )
                    for one in wanted
                    for far in [random.choice((1, 40, SEGMENT, 3 * SEGMENT))]
                }
            )


def test_two_hundred_partitions(learner: Learner, seed: int) -> None:
    """a request with two hundred partitions, and a fault in one of them"""
    random = Random(f"wide/{seed}")
    wanted = [Wanted(f"web-{n}", place(random.randint(1, 900)), 400, 3) for n in range(200)]
    made = CheckedFetch(learner, 2_000, wanted)
    for _ in range(12):
        states = {one.name: State(one.place) for one in wanted}
        for one in random.sample(wanted, random.randint(0, 8)):
            states[one.name] = State(place(one.place.offset + random.randint(1, 90)))
        ill = random.choice(wanted)
        well = states[ill.name]
        ill_now = (well._replace(leader=False), well._replace(leader_epoch=4), well)
        states[ill.name] = random.choice(ill_now)
        made.look_at(states)
