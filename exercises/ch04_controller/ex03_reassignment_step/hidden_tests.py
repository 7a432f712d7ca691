"""Hidden tests of exercise 04-3: only `kafka-edu lab grade 04-3` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Checked, something


def test_two_partitions(learner: Learner, seed: int) -> None:
    """two partitions move at the same time, and do not affect each other"""
    random = Random(f"two/{seed}")
    both = (Checked(learner, 0, 1, 2), Checked(learner, 2, 3))
    for _ in range(120):
        something(random.choice(both), random)


def test_moves_to_their_ends(learner: Learner, seed: int) -> None:
    """fifty moves of one partition, each followed step by step to its end"""
    random = Random(f"ends/{seed}")
    one = Checked(learner, 0, 1, 2)
    leader, isr = 0, [0, 1, 2]
    for _ in range(50):
        one.order(*random.sample(range(7), random.randint(1, 4)))
        stopped: list[int] = []
        for _ in range(20):
            step = one.next(leader, isr, range(7), stopped)
            now = one.right.assignment
            match step:
                case "done" | "write":
                    break
                case "wait":
                    isr = [*isr, *(b for b in now.target_replicas if b not in isr)]
                case "elect":
                    leader = now.target_replicas[0]
                case "leave_isr":
                    isr = [broker for broker in isr if broker not in now.removing_replicas]
                case "stop":
                    stopped.append(next(b for b in now.removing_replicas if b not in stopped))


def test_many_orders(learner: Learner, seed: int) -> None:
    """many orders and cancellations, one after another, without a call of `next` in between"""
    random = Random(f"orders/{seed}")
    one = Checked(learner, *random.sample(range(9), 4))
    for _ in range(80):
        if random.random() < 0.2:
            one.cancel()
        else:
            one.order(*random.sample(range(9), random.randint(1, 5)))


def test_nobody_lives(learner: Learner, seed: int) -> None:
    """all brokers of the target are in the ISR, but none of them is alive"""
    random = Random(f"dead/{seed}")
    for _ in range(20):
        one = Checked(learner, *random.sample(range(6), 3))
        one.order(*random.sample(range(6), 2))
        now = one.right.assignment
        live = [broker for broker in range(6) if broker not in now.target_replicas]
        one.next(random.choice((-1, *now.replicas)), now.replicas, live, ())
