"""The queue of buckets."""

from kafka_edu.timer.delay_queue import DelayQueue
from kafka_edu.timer.timer_task_list import TimerTaskList


def bucket(expiration_ms: int) -> TimerTaskList:
    made = TimerTaskList()
    made.expiration_ms = expiration_ms
    return made


def test_gives_nothing_before_its_time_and_the_earliest_first() -> None:
    queue = DelayQueue()
    assert (queue.poll(1_000_000), queue.peek(), queue.next_expiration_ms()) == (None, None, None)
    late, early = bucket(40), bucket(2)
    queue.offer(late)
    queue.offer(early)
    assert queue.next_expiration_ms() == 2
    assert queue.peek() is early
    assert queue.poll(1) is None
    assert queue.poll(100) == (2, early)
    assert queue.poll(39) is None
    assert queue.poll(40) == (40, late)
    assert len(queue) == 0


def test_buckets_of_one_time_come_in_the_order_of_coming() -> None:
    queue = DelayQueue()
    same = [bucket(7) for _ in range(5)]
    for one in same:
        queue.offer(one)
    polled = [queue.poll(7) for _ in same]
    assert polled == [(7, one) for one in same]


def test_calls_back_only_for_an_earlier_bucket() -> None:
    queue = DelayQueue()
    told: list[int | None] = []
    queue.on_earlier = lambda: told.append(queue.next_expiration_ms())
    for expiration_ms in (50, 60, 50, 20, 30):
        queue.offer(bucket(expiration_ms))
    assert told == [50, 20]
