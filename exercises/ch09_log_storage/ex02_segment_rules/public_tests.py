"""Public tests of exercise 09-2. `kafka-edu lab check 09-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..segment_rules import Active, Batch, Keep, Kept, RollLimits, right_roll, right_take

HALF: Final = Active(size=500, first_ms=5_000)
FAR: Final = 2**31 - 1
WHY: Final = {
    "size": "with the batch the segment would be larger than segment_bytes",
    "time": "it has waited longer than segment_ms",
    "index full": "an index has no room for another entry",
    "offset range": "the relative offset does not fit",
    None: "the batch fits",
}


def roll(
    made: LearnerObject,
    segment: Active,
    batch: Batch,
    now_ms: int = 0,
    limits: RollLimits = RollLimits(),  # noqa: B008  # a NamedTuple never changes
) -> None:
    """Compare the answer of `roll`. Raises Mismatch."""
    expected = right_roll(limits, segment, batch, now_ms)
    came = made.call("roll", limits._asdict(), segment._asdict(), batch._asdict(), now_ms)
    if came == expected:
        return
    raise Mismatch(
        f"roll(…, now_ms={now_ms})",
        expected,
        came,
        WHY[expected],
        drawing=(
            f"limits   {limits._asdict()}",
            f"segment  {segment._asdict()}",
            f"batch    {batch._asdict()}",
        ),
        read="roll",
    )


def take(made: LearnerObject, limits: Keep, log: Kept, now_ms: int = 0) -> None:
    """Compare the answer of `take`. Raises Mismatch."""
    expected = right_take(limits, log, now_ms)
    came = made.call("take", limits._asdict(), log._asdict(), now_ms)
    if came == expected:
        return
    raise Mismatch(
        f"take(…, now_ms={now_ms})",
        expected,
        came,
        _why(limits, log, now_ms, expected, came),
        drawing=(
            f"limits   {limits._asdict()}",
            f"start {log.start}, hw {log.hw}, end {log.end}",
            *(
                f"segment {base}: {size} bytes, {now_ms - latest:,} ms ago"
                for base, size, latest in log.segments
            ),
        ),
        read="take",
    )


def _why(limits: Keep, log: Kept, now_ms: int, expected: tuple[str, ...], came: object) -> str:
    if not isinstance(came, tuple):
        return "it is a list of reasons"
    number = 0
    while number < min(len(expected), len(came)) and expected[number] == came[number]:
        number += 1
    if number == len(log.segments):
        return f"there are only {number} segments"
    base, size, latest = log.segments[number]
    last = number + 1 == len(log.segments)
    end = log.end if last else log.segments[number + 1][0]
    if number < len(expected):
        return f"segment {base} goes, for {expected[number]!r}"
    if end > log.hw:
        return f"segment {base} ends at {end}, and is not committed: the HW is {log.hw}"
    if last and not size:
        return f"segment {base} is empty: it stays"
    left = sum(each for _, each, _ in log.segments[number + 1 :])
    return (
        f"segment {base} stays: {now_ms - latest:,} ms, {left:,} bytes without it, and it ends at"
        f" {end}"
    )


def log_of(
    *segments: tuple[int, int, int], end: int = 100, start: int = 0, hw: int | None = None
) -> Kept:
    """Return a log with these segments. All records are committed, unless `hw` is given."""
    return Kept(start, end if hw is None else hw, end, segments)


THREE: Final = ((0, 500, 1_000), (40, 500, 2_000), (70, 500, 3_000))


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    take(made, Keep(retention_bytes=1_000), log_of(*THREE))
    take(made, Keep(retention_bytes=1_001), log_of(*THREE))


def test_roll_by_size(learner: Learner) -> None:
    """a batch fills the segment to the last byte, or is one byte too large"""
    made = learner.make()
    for size in (499, 500, 501):
        roll(made, HALF, Batch(size, 5_000, 10))
    roll(made, Active(), Batch(1_000, 5_000, 10))


def test_roll_by_time(learner: Learner) -> None:
    """a batch comes just in time or a ms later; an empty segment waits for ever"""
    made = learner.make()
    for late_ms in (0, 9_999, 10_000, 10_001):
        roll(made, HALF, Batch(100, 5_000 + late_ms, 10), now_ms=99_999_999)
    roll(made, HALF, Batch(100, 0, 10), now_ms=99_999_999)
    roll(made, Active(first_ms=-1, created_ms=5_000), Batch(100, 99_999, 10), now_ms=99_999)


def test_roll_without_timestamps(learner: Learner) -> None:
    """the first batch has no timestamp: the time since the creation counts"""
    made = learner.make()
    bare = Active(size=500, first_ms=-1, created_ms=5_000)
    for now_ms in (5_000, 15_000, 15_001):
        roll(made, bare, Batch(100, -1, 10), now_ms)
        roll(made, bare, Batch(100, 77_777, 10), now_ms)
    roll(made, Active(size=500, first_ms=0, created_ms=90_000), Batch(100, 10_001, 1), 90_000)
    roll(made, Active(size=1, first_ms=0, created_ms=0), Batch(100, 10_000, 1), 90_000)
    roll(made, Active(size=1, first_ms=1, created_ms=0), Batch(100, 10_002, 1), 90_000)


def test_roll_by_index(learner: Learner) -> None:
    """the offset index has room for one entry or none; the time index for two, one or none"""
    made = learner.make()
    for entries in (8, 9, 10):
        roll(made, HALF._replace(offset_index=(entries, 10)), Batch(100, 5_000, 10))
        roll(made, HALF._replace(time_index=(entries, 10)), Batch(100, 5_000, 10))


def test_roll_by_range(learner: Learner) -> None:
    """the relative offset is the largest that fits, is one more than that, or is negative"""
    made = learner.make()
    for base in (0, 7_000):
        for last in (base - 1, base, base + FAR, base + FAR + 1):
            roll(made, HALF._replace(base=base), Batch(100, 5_000, last))


def test_first_reason_to_roll(learner: Learner) -> None:
    """several reasons hold: the first of the table is the answer"""
    made = learner.make()
    full = HALF._replace(offset_index=(10, 10))
    roll(made, full, Batch(501, 99_999, FAR + 1))
    roll(made, full, Batch(500, 99_999, FAR + 1))
    roll(made, full, Batch(500, 5_000, FAR + 1))


def test_take_by_time(learner: Learner) -> None:
    """the latest record is exactly retention_ms old, or a ms older"""
    made = learner.make()
    for now_ms in (11_000, 11_001, 12_000, 12_001, 13_001, 99_000):
        take(made, Keep(retention_ms=10_000), log_of(*THREE), now_ms)
    take(made, Keep(retention_ms=0), log_of(*THREE), 2_001)


def test_take_by_size(learner: Learner) -> None:
    """different sizes: what is left may not be less than retention_bytes"""
    made = learner.make()
    log = log_of((0, 100, 0), (10, 300, 0), (20, 50, 0), (30, 200, 0))
    for limit in (0, 1, 199, 200, 201, 250, 251, 549, 550, 551, 650):
        take(made, Keep(retention_bytes=limit), log)


def test_take_by_start(learner: Learner) -> None:
    """the log start offset lies before, at, or after the end of a segment"""
    made = learner.make()
    for start in (0, 39, 40, 41, 70, 99, 100):
        take(made, Keep(), log_of(*THREE, start=start))
        take(made, Keep(delete=False), log_of(*THREE, start=start))


def test_not_committed(learner: Learner) -> None:
    """nothing above the high watermark goes"""
    made = learner.make()
    for hw in (0, 39, 40, 41, 69, 70, 99, 100):
        take(made, Keep(retention_ms=1), log_of(*THREE, hw=hw), 99_000)


def test_empty_last_segment(learner: Learner) -> None:
    """the last segment is empty, and stays; a last segment of one byte is deleted"""
    made = learner.make()
    for size in (0, 1):
        log = log_of((0, 500, 1_000), (100, size, 1_000), end=100)
        take(made, Keep(retention_ms=1), log, 99_000)
        take(made, Keep(retention_bytes=0), log, 99_000)


def test_compacted_topic(learner: Learner) -> None:
    """without `delete`, neither time nor size counts; a limit of 0 is a limit"""
    made = learner.make()
    take(made, Keep(False, 0, 0), log_of(*THREE), 99_000)
    take(made, Keep(True, 0, -1), log_of(*THREE), 99_000)
    take(made, Keep(True, -1, 0), log_of(*THREE), 99_000)
    take(made, Keep(True, -1, -1), log_of(*THREE), 99_000)
    take(made, Keep(True, 1, -1), log_of(*THREE, start=40), 2_000)


def test_first_that_stays(learner: Learner) -> None:
    """an old segment lies after a young one: the young one ends it"""
    made = learner.make()
    log = log_of((0, 500, 1_000), (40, 500, 90_000), (70, 500, 1_000))
    take(made, Keep(retention_ms=10_000), log, 95_000)
    take(made, Keep(retention_ms=10_000, retention_bytes=500), log, 95_000)


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random segments and logs"""
    random = Random(f"rules/{seed}")
    made = learner.make()
    for _ in range(100):
        segment = Active(
            random.choice((0, 50)),
            random.choice((0, 1, 700, 900)),
            random.choice((-1, 0, 3_000)),
            random.choice((0, 2_000)),
            (random.randint(7, 9), 9),
            (random.randint(6, 9), 9),
        )
        batch = Batch(random.choice((99, 100, 101, 300)), random.randrange(20_000), 60)
        roll(made, segment, batch, random.randrange(20_000))
        log = random_log(random)
        limits = Keep(
            random.random() < 0.8,
            random.choice((-1, 0, 2_000, 5_000)),
            random.choice((-1, 0, 300, 700)),
        )
        take(made, limits, log, random.randrange(12_000))


def random_log(random: Random) -> Kept:
    """Return a random log of up to six segments."""
    bases = [0, *sorted(random.sample(range(1, 60), random.randrange(6)))]
    segments = tuple(
        (base, random.choice((0, 1, 100, 250)), random.randrange(9_000)) for base in bases
    )
    end = bases[-1] + random.randint(1, 9)
    return Kept(random.randrange(end), random.randint(0, end), end, segments)
