"""The ten situations of exercise 09-3, and the right answers from the broker's own log."""

from functools import cache
from random import Random
from typing import Final, NamedTuple

from kafka_edu.log.log import Log

from ..made_logs import NOW_MS, empty_log, plain_batch

MINUTE_MS: Final = 60_000
LOOK_MIN: Final = 5
"""The default of log.retention.check.interval.ms, in minutes."""
LATEST_MIN: Final = 2_000

QUESTIONS: Final = """\
# 09-3: your situations

All times are minutes after midnight. Retention looks at minutes 0, 5, 10, … The
offsets of a segment end where the next one begins. Where nothing else is said, all
records are committed, the log begins at offset 0, and nothing more is written.

{situations}
"""


class Situation(NamedTuple):
    """One question, its answer, and why it is right."""

    name: str
    words: str
    answer: int
    why: str


class Plan(NamedTuple):
    """The segments of a log. For each segment: its records, the bytes of a value, and the minute of
    its last record.
    """

    segments: tuple[tuple[int, int, int], ...]

    def log(self, **config: object) -> Log:
        """Make the log. Each segment has one batch."""
        log = empty_log(**config)
        for number, (records, value_bytes, at_min) in enumerate(self.segments):
            at_ms = NOW_MS + at_min * MINUTE_MS
            if number:
                log.roll(at_ms)
            log.append_as_leader(plain_batch(records, value_bytes, at_ms), 0, at_ms)
        log.update_high_watermark(log.log_end_offset)
        return log

    def table(self) -> str:
        """Return the segments as a table."""
        rows = [
            f"| {each.base_offset} | {each.size} | {at_min} |"
            for each, (_, _, at_min) in zip(self.log().segments, self.segments, strict=True)
        ]
        head = "| begins at | bytes | minute of its last record |\n| --- | --- | --- |"
        return "\n".join((head, *rows))


def _plan(random: Random) -> Plan:
    """Return a log of six segments whose last records are in order of time."""
    at_min = random.randint(5, 30)
    segments = []
    for _ in range(6):
        segments.append((random.randint(5, 25), random.randint(5, 40), at_min))
        at_min += random.randint(11, 60)
    return Plan(tuple(segments))


def gone(log: Log, minute: int) -> int:
    """Return how many segments the retention check at this minute deletes."""
    return len(log.deletion_reasons(NOW_MS + minute * MINUTE_MS))


def _look_after(minute: int) -> int:
    return -(-minute // LOOK_MIN) * LOOK_MIN


@cache
def situations(seed: int) -> tuple[Situation, ...]:
    """Return the ten situations for this seed."""
    random = Random(f"which segment/{seed}")
    makers = (
        _time_count,
        _time_when,
        _time_start,
        _files_when,
        _size_count,
        _size_left,
        _not_committed,
        _by_start,
        _young_before_old,
        _rolls,
    )
    return tuple(make_one(random) for make_one in makers)


def _time_count(random: Random) -> Situation:
    plan, hours = _plan(random), random.choice((2, 3, 4))
    log = plan.log(retention_ms=hours * 60 * MINUTE_MS)
    last = [at_min for _, _, at_min in plan.segments]
    minute = _look_after(hours * 60 + random.randint(last[1] + 1, last[4] + 4))
    return Situation(
        "time_count",
        f"{plan.table()}\n\nretention.ms is {hours} hours. How many segments go at the look at"
        f" minute {minute}?",
        gone(log, minute),
        "a segment goes when its last record is more than retention.ms old, the active one too",
    )


def _time_when(random: Random) -> Situation:
    plan, hours = _plan(random), random.choice((2, 3, 4))
    log, number = plan.log(retention_ms=hours * 60 * MINUTE_MS), random.randint(1, 3)
    answer = next(at for at in range(0, LATEST_MIN, LOOK_MIN) if gone(log, at) > number)
    return Situation(
        "time_when",
        f"{plan.table()}\n\nretention.ms is {hours} hours. At which minute does the segment go that"
        f" begins at {log.segments[number].base_offset}?",
        answer,
        "at the first look at which its last record is more than retention.ms old: exactly"
        " retention.ms is not enough",
    )


def _time_start(random: Random) -> Situation:
    plan, hours = _plan(random), random.choice((2, 3, 4))
    log = plan.log(retention_ms=hours * 60 * MINUTE_MS)
    minute = _look_after(plan.segments[random.randint(1, 3)][2] + hours * 60 + 6)
    log.delete_old_segments(NOW_MS + minute * MINUTE_MS)
    return Situation(
        "time_start",
        f"{plan.table()}\n\nretention.ms is {hours} hours. What is the log start offset after the"
        f" look at minute {minute}?",
        log.log_start_offset,
        "it is where the first segment begins that stays",
    )


def _files_when(random: Random) -> Situation:
    minute, delay = random.randrange(10, 200), random.choice((2, 3, 7))
    look = _look_after(minute)
    return Situation(
        "files_when",
        f"At minute {minute} a segment has become too old. file.delete.delay.ms is {delay} minutes."
        " At which minute do its files go?",
        look + delay,
        f"the look at {look} takes it out of the log; its files go file.delete.delay.ms later",
    )


def _size_plan(random: Random) -> tuple[Plan, int]:
    """Return a log, and a retention.bytes with which two or three of its segments are deleted."""
    plan = _plan(random)
    sizes = [each.size for each in plan.log().segments]
    number = random.randint(2, 3)
    return plan, sum(sizes[number:]) - random.randint(0, sizes[number] - 1)


def _size_count(random: Random) -> Situation:
    plan, limit = _size_plan(random)
    log = plan.log(retention_bytes=limit, retention_ms=-1)
    return Situation(
        "size_count",
        f"{plan.table()}\n\nretention.bytes is {limit}, and there is no limit of time. How many"
        " segments go?",
        gone(log, 0),
        "a segment is deleted if the other segments still have retention.bytes or more",
    )


def _size_left(random: Random) -> Situation:
    plan, limit = _size_plan(random)
    log = plan.log(retention_bytes=limit, retention_ms=-1)
    log.delete_old_segments(NOW_MS)
    return Situation(
        "size_left",
        f"{plan.table()}\n\nretention.bytes is {limit}, and there is no limit of time. How many"
        " bytes are left after the look?",
        log.size,
        "whole segments are deleted, but at least retention.bytes must stay",
    )


def _not_committed(random: Random) -> Situation:
    plan = _plan(random)
    log = plan.log(retention_ms=60 * MINUTE_MS)
    number = random.randint(2, 4)
    base = log.segments[number].base_offset
    log.update_high_watermark(base + random.choice((-1, 0, 2)))
    minute = _look_after(plan.segments[-1][2] + 100)
    return Situation(
        "not_committed",
        f"{plan.table()}\n\nretention.ms is 1 hour, and the high watermark is {log.high_watermark}."
        f" How many segments go at minute {minute}?",
        gone(log, minute),
        "a segment that ends above the high watermark stays, however old it is",
    )


def _by_start(random: Random) -> Situation:
    plan = _plan(random)
    log = plan.log(retention_ms=-1)
    number = random.randint(2, 4)
    log.maybe_increment_log_start_offset(
        log.segments[number].base_offset + random.choice((-1, 0, 2))
    )
    return Situation(
        "by_start",
        f"{plan.table()}\n\nThere is no limit of time or size. DeleteRecords has moved the log"
        f" start offset to {log.log_start_offset}. How many segments go?",
        gone(log, 0),
        "a segment goes if it ends at the log start offset or before",
    )


def _young_before_old(random: Random) -> Situation:
    plan = _plan(random)
    number = random.randint(1, 2)
    segments = list(plan.segments)
    records, value_bytes, _ = segments[number]
    late = segments[-1][2] + 200
    segments[number] = (records, value_bytes, late)
    plan = Plan(tuple(segments))
    log = plan.log(retention_ms=60 * MINUTE_MS)
    minute = _look_after(segments[-1][2] + 80)
    return Situation(
        "young_first",
        f"{plan.table()}\n\nA client's clock was wrong. retention.ms is 1 hour. How many segments"
        f" go at minute {minute}?",
        gone(log, minute),
        "the first segment that stays ends it, because a log has no gaps",
    )


def _rolls(random: Random) -> Situation:
    batch = plain_batch(random.randint(2, 9), random.randint(10, 60))
    exact = random.random() < 0.5
    limit = len(batch) * random.randint(4, 9) + (0 if exact else random.randint(1, len(batch) - 1))
    log = empty_log(segment_bytes=limit)
    batches = 0
    while len(log.segments) == 1:
        log.append_as_leader(batch, 0, NOW_MS)
        batches += 1
    return Situation(
        "rolls",
        f"segment.bytes is {limit}, and batches of {len(batch)} bytes come. How many bytes has the"
        " first segment when it is closed?",
        log.segments[0].size,
        f"{batches - 1} batches fit; the one that would go over the limit begins the next segment",
    )


def make(seed: int) -> dict[str, str]:
    """Return the learner's file questions.md, as a dict from its name to its text."""
    texts = [
        f"## {number}. `{one.name}`\n\n{one.words}"
        for number, one in enumerate(situations(seed), 1)
    ]
    return {"questions.md": QUESTIONS.format(situations="\n\n".join(texts))}
