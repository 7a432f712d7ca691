"""Every figure of the books about the timing wheel, as a test (spec T3).

Book: 000 §6.2; 002: §3.4.4.
"""

from dataclasses import dataclass, field

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import TimerTaskEntry
from kafka_edu.timer.timing_wheel import TimingWheel

SECOND, MINUTE, HOUR = 1_000, 60_000, 3_600_000


class Named(TimerTask):
    __slots__ = ("book", "name")

    def __init__(self, name: str, delay_ms: int, book: "Book") -> None:
        super().__init__(delay_ms)
        self.name = name
        self.book = book

    def run(self) -> None:
        self.book.ran.append((self.name, self.book.time.hi_res_clock_ms() - self.book.start_ms))


@dataclass
class Book:
    """A timer that starts at 0 and can be asked where its tasks are."""

    tick_ms: int = 1
    wheel_size: int = 20
    start_ms: int = 0
    ran: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.time = MockTime(self.start_ms)
        self.timer = SystemTimer(
            "book", self.time.hi_res_clock_ms, tick_ms=self.tick_ms, wheel_size=self.wheel_size
        )

    def add(self, name: str, delay_ms: int) -> Named:
        task = Named(name, delay_ms, self)
        self.timer.add(task)
        return task

    def until(self, now_ms: int) -> None:
        """Advance the clock through every millisecond at which something is due."""
        end_ms = self.start_ms + now_ms
        while (due_ms := self.timer.next_expiration_ms()) is not None and due_ms <= end_ms:
            self.time.advance(max(due_ms - self.time.hi_res_clock_ms(), 0))
            self.timer.advance_clock(self.time.hi_res_clock_ms())
        self.time.advance(end_ms - self.time.hi_res_clock_ms())


def where(task: TimerTask) -> tuple[int, int]:
    assert task.entry is not None
    assert task.entry.bucket is not None
    return task.entry.bucket.level, task.entry.bucket.slot


def place(wheel: TimingWheel, deadline_ms: int) -> tuple[int, int] | None:
    entry = TimerTaskEntry(TimerTask(0), deadline_ms)
    return where(entry.task) if wheel.add(entry) else None


def test_000_one_wheel_2_8_and_19_ms() -> None:
    """图 6-7. A task of 2 ms goes into bucket (时间格) 2. Then, at 2 ms, a task of 8 ms goes into
    bucket 10, and one of 19 ms into bucket 1, which is used again.
    """
    book = Book()
    assert where(book.add("2", 2)) == (1, 2)
    book.until(2)
    assert book.ran == [("2", 2)]
    assert book.timer.wheel.current_time_ms == 2
    eight, nineteen = book.add("8", 8), book.add("19", 19)
    assert where(eight) == (1, 10)
    assert where(nineteen) == (1, 1)
    book.until(21)
    assert book.ran == [("2", 2), ("8", 10), ("19", 21)]


def test_000_three_levels_350_and_450_ms() -> None:
    """图 6-8. A task of 350 ms goes to level 2, bucket 17, and one of 450 ms to level 3, bucket 1.

    446, 455 and 473 ms go into the same bucket: it holds all of [400, 800), and is due at 400.
    """
    book = Book()
    assert where(book.add("350", 350)) == (2, 17)
    for ms in (450, 446, 455, 473):
        assert where(book.add(str(ms), ms)) == (3, 1)
    assert [wheel.interval_ms for wheel in book.timer.wheel.wheels()] == [20, 400, 8_000]
    level_3 = list(book.timer.wheel.wheels())[2].buckets[1]
    assert level_3 is not None
    assert (level_3.size, level_3.expiration_ms) == (4, 400)
    book.until(500)
    assert book.ran == [("350", 350), ("446", 446), ("450", 450), ("455", 455), ("473", 473)]


def test_000_demotions_of_450_ms_at_400_440_and_450() -> None:
    """The demotions (降级) of the task of 450 ms.

    At 400, 50 ms are left: the task moves to level 2, into the bucket of [40, 60) from then. At
    440, 10 ms are left: it moves to level 1, into the bucket of [10, 11). At 450 it is due.
    """
    book = Book()
    task = book.add("450", 450)
    book.until(399)
    assert where(task) == (3, 1)
    book.until(400)
    assert where(task) == (2, 2)
    assert task.entry is not None
    assert task.entry.bucket is not None
    assert task.entry.bucket.expiration_ms == 440
    book.until(440)
    assert where(task) == (1, 10)
    assert task.entry.bucket.expiration_ms == 450
    book.until(449)
    assert book.ran == []
    book.until(450)
    assert book.ran == [("450", 450)]
    assert book.timer.demoted_total == 2


def test_000_a_clock_is_three_wheels_of_60_60_and_12() -> None:
    """秒钟 1 s x 60, 分钟 1 min x 60, 时钟 1 h x 12.

    The book's text has a tick of 1 ms for the first wheel (see Errata).
    """
    queue = DelayQueue()
    seconds = TimingWheel(SECOND, 60, 0, queue, level=1)
    minutes = seconds.overflow_wheel = TimingWheel(seconds.interval_ms, 60, 0, queue, level=2)
    hours = minutes.overflow_wheel = TimingWheel(minutes.interval_ms, 12, 0, queue, level=3)
    assert [wheel.interval_ms for wheel in seconds.wheels()] == [MINUTE, HOUR, 12 * HOUR]

    alarm = 3 * HOUR + 25 * MINUTE + 40 * SECOND
    entry = TimerTaskEntry(TimerTask(alarm), alarm)
    assert seconds.add(entry)
    hands: list[tuple[int, int]] = []
    while entry.bucket is not None:
        hands.append((entry.bucket.level, entry.bucket.slot))
        due = queue.poll(12 * HOUR)
        assert due is not None
        seconds.advance_clock(due[0])
        due[1].flush()
        seconds.add(entry)
    assert hands == [(3, 3), (2, 25), (1, 40)]
    assert (seconds.current_time_ms, minutes.current_time_ms, hours.current_time_ms) == (
        alarm,
        alarm - 40 * SECOND,
        3 * HOUR,
    )


def test_002_tasks_a_to_d_and_the_polls_of_200_ms() -> None:
    """图 3-74. tick 1 s, 8 buckets, polls of at most 200 ms.

    A is due when it is added. B and C are in bucket 1, D is in bucket 3. The polls at 200 … 800 ms
    return nothing.
    """
    book = Book(tick_ms=SECOND, wheel_size=8)
    assert book.timer.wheel.interval_ms == 8 * SECOND
    book.add("A", 0)
    assert book.ran == [("A", 0)]
    b, c, d = book.add("B", SECOND), book.add("C", SECOND), book.add("D", 3 * SECOND)
    assert [where(task) for task in (b, c, d)] == [(1, 1), (1, 1), (1, 3)]
    for now_ms in (200, 400, 600, 800):
        book.time.advance(200)
        assert book.timer.advance_clock(now_ms) == 0
        assert book.timer.wheel.current_time_ms == 0
    book.time.advance(200)
    assert book.timer.advance_clock(1000) == 2
    assert book.timer.wheel.current_time_ms == 1000
    assert book.ran == [("A", 0), ("B", 1000), ("C", 1000)]
    book.until(3000)
    assert book.ran[3:] == [("D", 3000)]


def test_002_a_poll_need_not_wait_its_whole_200_ms() -> None:
    """At 900 ms the reaper waits 100 ms, not 200 ms, for the bucket of 1 s."""
    book = Book(tick_ms=SECOND, wheel_size=8)
    book.add("B", SECOND)
    book.time.advance(900)
    due_ms = book.timer.next_expiration_ms()
    assert due_ms is not None
    assert min(due_ms - book.time.hi_res_clock_ms(), 200) == 100


@pytest.mark.parametrize(
    ("tick_ms", "deadlines", "bucket"),
    [(1, [103], 7), (2, [103], 3), (2, [102, 103], 3), (8, range(120, 128), 7)],
)
def test_002_one_deadline_is_in_other_buckets_under_other_ticks(
    tick_ms: int, deadlines: list[int], bucket: int
) -> None:
    """图 3-75. 8 buckets of 1, 2 and 8 ms."""
    wheel = TimingWheel(tick_ms, 8, 100, DelayQueue())
    assert [place(wheel, deadline_ms) for deadline_ms in deadlines] == [(1, bucket)] * len(
        deadlines
    )


@pytest.mark.parametrize("now_ms", [100, 101, 102])
def test_002_one_deadline_is_in_the_same_bucket_whenever_it_is_added(now_ms: int) -> None:
    """失效时间和bucket选择."""
    assert place(TimingWheel(1, 8, now_ms, DelayQueue()), 103) == (1, 7)


@pytest.mark.parametrize(("now_ms", "first", "last"), [(100, 101, 107), (101, 102, 108)])
def test_002_the_range_of_a_wheel_moves_with_its_hand(now_ms: int, first: int, last: int) -> None:
    """图 3-76. At 100, the buckets hold the times 101 to 107; at 101, the times 102 to 108. A task
    that is due now is in no bucket.
    """
    wheel = TimingWheel(1, 8, 100, DelayQueue())
    wheel.advance_clock(now_ms)
    taken = [
        deadline_ms
        for deadline_ms in range(95, 120)
        if (at := place(wheel, deadline_ms)) is not None and at[0] == 1
    ]
    assert taken == list(range(first, last + 1))
    assert place(wheel, now_ms) is None


def test_002_a_task_is_due_exactly_at_its_time() -> None:
    """A task is set at 12:00:00 for 12:01:00, with ticks of 1 s and 60 buckets. It must not run at
    12:01:00.500 or at 12:01:01.
    """
    noon = 12 * HOUR
    book = Book(tick_ms=SECOND, wheel_size=60, start_ms=noon)
    assert place(TimingWheel(SECOND, 60, noon, DelayQueue()), noon + 61 * SECOND) == (
        2,
        (noon + MINUTE) // MINUTE % 60,
    ), "too far for one wheel"
    book.add("12:01:00", MINUTE)
    book.until(59_999)
    assert book.ran == []
    book.until(60_000)
    assert book.ran == [("12:01:00", 60_000)]


def test_002_20_60_70_120_and_3600_s_on_three_wheels() -> None:
    """20, 60, 70, 120 and 3600 s on three wheels (002 counts levels from 0).

    20 s is on level 0, 60 and 70 s are in bucket 1 of level 1, 120 s is in bucket 2 of level 1, and
    3600 s is in bucket 1 of level 2.
    """
    book = Book(tick_ms=SECOND, wheel_size=60)
    tasks = [book.add(f"{s} s", s * SECOND) for s in (20, 60, 70, 120, 3600)]
    assert [where(task) for task in tasks] == [(1, 20), (2, 1), (2, 1), (2, 2), (3, 1)]
    assert len(list(book.timer.wheel.wheels())) == 3
    assert 3600 // 60 == 60, "wheels it would take if each had a tick of 1 s"
    book.until(2 * HOUR)
    assert book.ran == [(f"{s} s", s * SECOND) for s in (20, 60, 70, 120, 3600)]


def test_002_tasks_7_8_and_9_at_time_0_7_and_8() -> None:
    """图 3-78. Two wheels of 8 buckets.

    ⑦ is in 7-8 of level 0; ⑧ and ⑨ are in 8-16 of level 1. They move down when level 0 has gone
    round. 002 puts both back into level 0 at time 8. ⑧ is due then, so it runs in the same step; ⑨
    goes into bucket 1.
    """
    book = Book(wheel_size=8)
    seven, eight, nine = book.add("⑦", 7), book.add("⑧", 8), book.add("⑨", 9)
    assert [where(task) for task in (seven, eight, nine)] == [(1, 7), (2, 1), (2, 1)]
    level_1 = book.timer.wheel.overflow_wheel
    assert level_1 is not None
    book.until(7)
    assert book.ran == [("⑦", 7)]
    assert level_1.current_time_ms == 0, "the upper hand has not moved"
    assert [where(task) for task in (eight, nine)] == [(2, 1), (2, 1)]
    book.until(8)
    assert level_1.current_time_ms == 8
    assert book.ran == [("⑦", 7), ("⑧", 8)]
    assert where(nine) == (1, 1)
    book.until(9)
    assert book.ran == [("⑦", 7), ("⑧", 8), ("⑨", 9)]
