"""Hidden tests of exercise 16-4: only `kafka-edu lab grade 16-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Checked


def test_a_query_that_ran_for_weeks(learner: Learner, seed: int) -> None:
    """Spark has deleted the plans of old batches, so `planned` has only the last ones"""
    random = Random(f"weeks/{seed}")
    checked = Checked(learner)
    for _ in range(20):
        first, kept = random.randint(100, 10**6), random.randint(2, 6)
        ends = [random.randrange(10**9), random.randrange(10**9)]
        planned = []
        for batch_id in range(first, first + kept):
            ends = [end + random.randint(1, 900) for end in ends]
            planned.append((batch_id, tuple(ends)))
        ids = [batch_id for batch_id, _ in planned]
        (last, end), (_, start) = planned[-1], planned[-2]
        later = [one + 5 for one in end]
        why = f"the last planned batch is {last}, and it is not in the commit log"
        checked.plans(planned, ids[:-1], later, (last, list(start), list(end)), why)
        why = f"batch {last} is in the commit log, so batch {last + 1} begins where it ended"
        checked.plans(planned, ids, later, (last + 1, list(end), later), why)
        checked.plans(planned, ids, end, None, "there are no new rows")


def test_many_rows(learner: Learner, seed: int) -> None:
    """more rows, most of them in one partition; the query is killed after every step"""
    random = Random(f"rows/{seed}")
    checked = Checked(learner)
    for rows, later in (((7, 0), (9, 1)), ((0, 6), (0, 9))):
        checked.survives(rows, later, zombies=False)
    checked.survives((random.randint(4, 6), 1), (7, 3), zombies=True)


def test_nothing_but_the_second_partition(learner: Learner, seed: int) -> None:
    """the first partition never gets a row"""
    random = Random(f"second/{seed}")
    checked = Checked(learner)
    for _ in range(3):
        rows = random.randint(1, 4)
        checked.survives((0, rows), (0, rows + random.randint(0, 3)), zombies=True)
