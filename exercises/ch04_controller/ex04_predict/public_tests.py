"""Public tests of exercise 04-4. `kafka-edu lab check 04-4` makes the run and compares."""

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from .material import plan, right_answers, run, shown


class Compared:
    """The learner's answers next to those of the run."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.plan = plan(material)
        self.run = run(material)
        self.right = right_answers(material)
        self._answers = learner.make()

    def agrees(self, name: str, why: str) -> None:
        """Raise Mismatch unless the answer is that of the run."""
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
    """The learner's answers, compared with the run made for this learner."""
    return Compared(learner, material)


def test_created_leader_and_isr(compared: Compared) -> None:
    """who hears that it holds a replica"""
    compared.agrees(
        "created_leader_and_isr",
        "a LeaderAndIsr goes to the brokers with a replica, leader or follower, and to no other",
    )


def test_created_metadata(compared: Compared) -> None:
    """who hears of the new topic"""
    compared.agrees(
        "created_metadata",
        "an UpdateMetadata goes to every broker, because a client may ask any of them",
    )


def test_leaders(compared: Compared) -> None:
    """who leads at first"""
    compared.agrees("leaders", "of a new partition the first live replica leads")


def test_elections(compared: Compared) -> None:
    """how many leaders are elected"""
    compared.agrees(
        "elections",
        f"only what broker {compared.plan.victim} led needs a leader. From the others it just"
        " leaves the ISR",
    )


def test_new_leaders(compared: Compared) -> None:
    """who leads afterwards"""
    compared.agrees(
        "new_leaders",
        "the first replica of the assignment that lives and is in the ISR leads; the other"
        " partitions keep their leaders",
    )


def test_failed_leader_and_isr(compared: Compared) -> None:
    """who hears of the new leaders and ISRs"""
    compared.agrees(
        "failed_leader_and_isr",
        f"each partition with a replica on broker {compared.plan.victim} has changed, also where"
        " it only followed: the replicas that are left hear of it",
    )


def test_failed_metadata(compared: Compared) -> None:
    """who hears of it for the clients"""
    compared.agrees("failed_metadata", "every broker that lives, and a dead one hears nothing")
