"""Hidden tests of exercise 16-3: only `kafka-edu lab grade 16-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Checked


def test_many_visits_of_one_client(learner: Learner, seed: int) -> None:
    """a client with a hundred open sessions, and late lines that join some of them"""
    random = Random(f"visits/{seed}")
    checked = Checked(learner, 30)
    begins = [100 * number for number in range(100)]
    random.shuffle(begins)
    for begin_s in begins:
        checked.add("a", begin_s)
    for _ in range(60):
        checked.add("a", random.randrange(10_000))
    for watermark_s in range(0, 12_000, 1_500):
        checked.close(watermark_s)


def test_a_day_between_two_lines(learner: Learner, seed: int) -> None:
    """a gap of a day, and years between the visits"""
    random = Random(f"day/{seed}")
    gap_s = 86_400
    checked = Checked(learner, gap_s)
    now_s = 0
    for _ in range(40):
        now_s += random.choice((60, gap_s, gap_s + 1, 400 * gap_s))
        checked.add(random.choice("ab"), now_s)
        if random.random() < 0.2:
            checked.close(now_s - random.choice((0, gap_s, 2 * gap_s)))
    checked.close(now_s + 2 * gap_s)


def test_many_clients(learner: Learner, seed: int) -> None:
    """two hundred clients, which come again after their sessions were closed"""
    random = Random(f"clients/{seed}")
    checked = Checked(learner, 60)
    for now_s in range(0, 4_000, 20):
        for _ in range(3):
            checked.add(f"10.0.0.{random.randrange(200)}", now_s + random.randrange(20))
        if now_s % 500 == 0:
            checked.close(now_s)
    checked.close(10_000)
