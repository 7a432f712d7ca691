"""Hidden tests of exercise 02-4: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..timer_check import CheckedTimer

NOW_MS = 1_795_000_000_123


def test_edges_everywhere(learner: Learner, seed: int) -> None:
    """many tasks from all levels, and each is due at the edge of a level"""
    random = Random(f"edges/{seed}")
    for slots in ((20,), (3, 4), (2,)):
        timer = CheckedTimer(learner, 1, slots, 0)
        edges = [timer.right.wheels.reach(level)[0] for level in (1, 2, 3)]
        for task in range(60):
            edge_ms = random.choice(edges)
            timer.add(task, (timer.now_ms // edge_ms + random.randint(1, 9)) * edge_ms)
            if random.random() < 0.5:
                timer.advance(timer.now_ms + random.randint(1, edge_ms))
        timer.advance(timer.now_ms + 10 * max(edges))


def test_wall_clock(learner: Learner, seed: int) -> None:
    """times like those of a real clock, in ms since 1970"""
    random = Random(f"wall/{seed}")
    timer = CheckedTimer(learner, 1, (20,), NOW_MS)
    for task in range(40):
        timer.add(task, NOW_MS + random.randrange(10 ** random.randint(1, 8)))
    while timer.now_ms < NOW_MS + 10**8:
        timer.advance(timer.now_ms + random.randrange(10 ** random.randint(4, 8)))


def test_two_timers(learner: Learner, seed: int) -> None:
    """two timers with the same task numbers do not share their buckets"""
    random = Random(f"two/{seed}")
    both = (CheckedTimer(learner, 1, (20,), 0), CheckedTimer(learner, 10, (3, 5), 70))
    for task in range(30):
        deadline_ms = random.randint(80, 9_000)
        for one in both:
            one.add(task, deadline_ms)
        if random.random() < 0.2:
            random.choice(both).cancel(random.randrange(task + 1))
    for time_ms in (100, 400, 1_000, 9_000):
        for one in both:
            one.advance(time_ms)
