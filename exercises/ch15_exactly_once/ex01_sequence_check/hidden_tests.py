"""Hidden tests of exercise 15-1: only `kafka-edu lab grade 15-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import LAST, Partition


def test_five_in_flight(learner: Learner, seed: int) -> None:
    """five requests are in flight; connections break, and all unacked batches are sent again"""
    random = Random(f"flight/{seed}")
    one = Partition(learner, 1_000)
    following = random.randrange(LAST - 40, LAST)
    unacked: list[tuple[int, int]] = []
    for _ in range(120):
        while len(unacked) < 5:
            count = random.randint(1, 3)
            unacked.append((following, count))
            following = (following + count) % (LAST + 1)
        arrive = random.randint(1, 5)
        for first, count in unacked[:arrive]:
            one.send(0, first, count)
        if arrive < 4 and random.random() < 0.3:
            one.check(0, *unacked[arrive + 1])  # one request has overtaken another
        del unacked[: random.randint(0, arrive)]


def test_two_producers(learner: Learner, seed: int) -> None:
    """each producer has an object of its own, and the objects must not share state"""
    random = Random(f"two/{seed}")
    both = [Partition(learner, 10 * number) for number in range(2)]
    following = [0, 0]
    for _ in range(80):
        number = random.randrange(2)
        count = random.randint(1, 3)
        if both[number].send(0, following[number], count) == "write":
            following[number] += count
        both[number].check(0, following[1 - number], count)
        both[number].check(0, max(0, following[number] - count), count)


def test_written_without_a_check(learner: Learner) -> None:
    """a follower became the leader: it has written batches without a call of `check`"""
    one = Partition(learner, 300)
    for first in range(0, 24, 3):
        one.write(4, first, 3)
    for first in range(0, 30, 3):
        one.check(4, first, 3)
    one.write(5, 0, 9)
    one.check(5, 0, 9)
    one.check(4, 21, 3)
    one.check(5, 9)


def test_large_batches(learner: Learner) -> None:
    """a batch of a million records, before and after the wrap of the sequence numbers"""
    one = Partition(learner, 1 << 40)
    one.send(0, LAST - 500_000, 1_000_000)
    one.check(0, LAST - 500_000, 1_000_000)
    one.check(0, 499_998)
    one.send(0, 499_999, 1_000_000)
    one.check(0, 499_999, 1_000_000)
    one.check(0, 499_999, 999_999)


def test_an_epoch_that_comes_back(learner: Learner) -> None:
    """epochs 0 to 30; in each epoch, zombies of all earlier epochs send batches"""
    one = Partition(learner)
    for epoch in range(31):
        if epoch % 3 == 2:
            one.fence(epoch)
        one.send(epoch, 0, 2)
        one.send(epoch, 2)
        for old in range(epoch):
            one.check(old, 3)
        one.check(epoch, 0, 2)
