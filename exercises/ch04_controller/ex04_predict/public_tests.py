"""Public tests of exercise 04-4. `kafka-edu lab check 04-4` simulates the cluster, and then runs
these tests.
"""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import plan, right_answers, run, shown


class Compared:
    """The learner's answers and the right answers of the run."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plan = plan(material)
        self.run = run(material)
        self.right = right_answers(material)
        self._answers = learner.make()

    def agrees(self, name: str, why: str) -> None:
        """Compare the learner's answer `name` with the right answer. Raise Mismatch if they
        differ.
        """
        came = self._answers.call("get", name)
        if came is None:
            raise AssertionError(
                f'the answer "{name}" is not written yet: it returns None; questions.md has the'
                " question"
            )
        right = self.right[name]
        expected = tuple(right) if isinstance(right, list) else right
        if came != expected or isinstance(came, bool):
            created = name.startswith("created") or name == "leaders"
            events = self.run.created if created else self.run.failed
            raise Mismatch(name, right, came, why, drawing=shown(events))


@pytest.fixture
def compared(learner: Learner, material: int) -> Compared:
    """The learner's answers, and the right answers from this learner's own run."""
    return Compared(learner, material)


def test_created_leader_and_isr(compared: Compared) -> None:
    """which brokers get a LeaderAndIsr when the topic is created"""
    compared.agrees(
        "created_leader_and_isr",
        "a LeaderAndIsr goes to the brokers with a replica, leader or follower, and to no other",
    )


def test_created_metadata(compared: Compared) -> None:
    """which brokers get an UpdateMetadata when the topic is created"""
    compared.agrees(
        "created_metadata",
        "an UpdateMetadata goes to every broker, because a client may ask any of them",
    )


def test_leaders(compared: Compared) -> None:
    """which brokers lead when the topic is created"""
    compared.agrees("leaders", "of a new partition the first live replica leads")


def test_elections(compared: Compared) -> None:
    """how many leaders are elected after the broker has failed"""
    compared.agrees(
        "elections",
        f"only what broker {compared.plan.victim} led needs a leader. From the others it just"
        " leaves the ISR",
    )


def test_new_leaders(compared: Compared) -> None:
    """which brokers lead after the broker has failed"""
    compared.agrees(
        "new_leaders",
        "the first replica of the assignment that lives and is in the ISR leads; the other"
        " partitions keep their leaders",
    )


def test_failed_leader_and_isr(compared: Compared) -> None:
    """which brokers get a LeaderAndIsr after the broker has failed"""
    compared.agrees(
        "failed_leader_and_isr",
        f"each partition with a replica on broker {compared.plan.victim} has changed, also where"
        " it only followed: the replicas that are left hear of it",
    )


def test_failed_metadata(compared: Compared) -> None:
    """which brokers get an UpdateMetadata after the broker has failed"""
    compared.agrees("failed_metadata", "every broker that lives, and a dead one hears nothing")
