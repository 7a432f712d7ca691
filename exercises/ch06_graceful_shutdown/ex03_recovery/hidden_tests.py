"""Hidden tests of exercise 06-3: only `kafka-edu lab grade 06-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import delete, flush, read, start, truncate


def test_a_life_of_a_log(learner: Learner, seed: int) -> None:
    """one log goes through three hundred events: records, flushes, truncations, deletions, ends"""
    random = Random(f"life/{seed}")
    made = learner.make()
    bases, end, point, log_start = [0], 0, 0, 0
    for _ in range(300):
        match random.choice(("grow", "grow", "flush", "cut", "delete", "kill", "stop")):
            case "grow":
                end += random.randint(1, 30)
                if random.random() < 0.4:
                    bases.append(end)
            case "flush":
                point = flush(made, point, random.randint(log_start, end), end)
            case "cut":
                end = random.randint(log_start, end)
                bases = [base for base in bases if base <= end] or [end]
                point = truncate(made, point, end)
            case "delete":
                log_start = random.randint(log_start, end)
                point = delete(made, point, log_start)
            case killed:
                read(made, bases, point, clean=killed == "stop")
                point = start(made, point, log_start, end, killed == "stop")


def test_large_offsets(learner: Learner, seed: int) -> None:
    """logs with very large offsets"""
    random = Random(f"large/{seed}")
    made = learner.make()
    for _ in range(40):
        first = random.randrange(1 << 40, 1 << 41)
        bases = [first + 1_000_000 * n for n in range(random.randint(2, 30))]
        read(made, bases, random.choice(bases) + random.choice((-1, 0, 1)))
        flush(made, first, bases[-1], bases[-1] + 5)


def test_two_logs_at_once(learner: Learner, seed: int) -> None:
    """one object answers for two logs in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    points = [0, 0]
    for _ in range(120):
        number = random.randrange(2)
        end = random.randint(50, 90)
        if random.random() < 0.5:
            points[number] = flush(made, min(points[number], end), random.randint(0, end), end)
        else:
            points[number] = truncate(made, points[number], random.randint(0, end))
        read(made, [0, 20, 40, 60], points[number])


def test_many_segments(learner: Learner, seed: int) -> None:
    """a log of a thousand segments"""
    made = learner.make()
    bases = list(range(0, 50_000, 50))
    for _ in range(6):
        read(made, bases, Random(seed).randrange(50_000))
