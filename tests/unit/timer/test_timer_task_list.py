"""The circular list of a bucket."""

from kafka_edu.timer.timer_task import TimerTask
from kafka_edu.timer.timer_task_list import NOT_QUEUED, TimerTaskEntry, TimerTaskList


def entries(count: int) -> list[TimerTaskEntry]:
    return [TimerTaskEntry(TimerTask(n), n) for n in range(count)]


def test_keeps_the_order_of_adding() -> None:
    bucket = TimerTaskList()
    three = entries(3)
    for entry in three:
        bucket.add(entry)
    assert list(bucket) == three
    assert bucket.size == 3
    assert all(entry.bucket is bucket for entry in three)


def test_removes_the_first_the_middle_and_the_last() -> None:
    bucket = TimerTaskList()
    three = entries(3)
    for entry in three:
        bucket.add(entry)
    bucket.remove(three[1])
    assert list(bucket) == [three[0], three[2]]
    bucket.remove(three[0])
    assert list(bucket) == [three[2]]
    bucket.remove(three[2])
    assert list(bucket) == []
    bucket.remove(three[2])
    assert bucket.size == 0


def test_does_not_remove_an_entry_of_another_list() -> None:
    here, there = TimerTaskList(), TimerTaskList()
    one, other = entries(2)
    here.add(one)
    there.add(other)
    here.remove(other)
    assert (here.size, there.size) == (1, 1)


def test_an_entry_can_move_to_another_list() -> None:
    here, there = TimerTaskList(), TimerTaskList()
    one, other = entries(2)
    here.add(one)
    here.add(other)
    here.remove(one)
    there.add(one)
    assert (list(here), list(there)) == ([other], [one])


def test_flush_empties_the_list_and_forgets_its_time() -> None:
    bucket = TimerTaskList()
    three = entries(3)
    for entry in three:
        bucket.add(entry)
    bucket.expiration_ms = 40
    assert bucket.flush() == three
    assert (list(bucket), bucket.size, bucket.expiration_ms) == ([], 0, NOT_QUEUED)
    assert all(entry.bucket is None for entry in three)
    bucket.add(three[1])
    assert list(bucket) == [three[1]]


def test_cancelling_a_task_removes_its_entry_and_calls_back() -> None:
    told: list[tuple[TimerTaskEntry, TimerTaskList]] = []
    bucket = TimerTaskList(on_cancelled=lambda entry, where: told.append((entry, where)))
    task = TimerTask(5)
    entry = TimerTaskEntry(task, 5)
    bucket.add(entry)
    assert not entry.cancelled
    task.cancel()
    assert entry.cancelled
    assert (bucket.size, task.entry) == (0, None)
    task.cancel()
    assert told == [(entry, bucket)]


def test_a_second_entry_of_a_task_cancels_the_first() -> None:
    bucket = TimerTaskList()
    task = TimerTask(5)
    first = TimerTaskEntry(task, 5)
    bucket.add(first)
    second = TimerTaskEntry(task, 6)
    assert first.cancelled
    assert not second.cancelled
    assert bucket.size == 0
