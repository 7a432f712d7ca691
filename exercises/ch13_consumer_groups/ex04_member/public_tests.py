"""Public tests of exercise 13-4. `kafka-edu lab check 13-4` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..member_rules import BEGIN, NAMES, WHATS, RightMember

TO_STABLE: Final = ("poll", "given_up", "joined", "synced", "taken")
LINES: Final = 7


class Story:
    """The learner's member. Each of its answers is compared with RightMember's answer."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self._right = RightMember()
        self._state = str(BEGIN)
        self._lines = [f"it is {BEGIN}"]

    def happens(self, *events: str, member_id: str = "m-1", generation: int = 4) -> None:
        """Let events happen. Raises Mismatch."""
        for event in events:
            new = event == "joined"
            words = (event, member_id if new else "", generation if new else -1)
            right = self._right.happens(*words)
            why = (
                f"{event} is not possible in {self._state}: it comes too late, and changes nothing"
                if right == self._state
                else f"{event} in {self._state} leads to {right}"
            )
            self._compare(f"happens{words}", right, self._made.call("happens", *words), why)
            self._state = right
            self._look()

    def _look(self) -> None:
        """Compare what the member may do now, its id and its generation. Raises Mismatch."""
        identity = self._right.identity()
        in_none = f"in {self._state} it is in no generation"
        for what in WHATS:
            right = self._right.may(what)
            why = in_none if identity[1] == -1 else f"that is its right in {self._state}"
            if not right and identity[1] != -1:
                why = f"in {self._state} there is no {what}"
            self._compare(f"may({what!r})", right, self._made.call("may", what), why)
        why = "the event `joined` sets the id and the generation, and `expelled` removes both"
        self._compare("identity()", identity, self._made.call("identity"), why)

    def _compare(self, asked: str, right: object, came: object, why: str) -> None:
        if came != right or isinstance(came, bool) is not isinstance(right, bool):
            raise Mismatch(asked, right, came, why, drawing=tuple(self._lines[-LINES:]))
        self._lines.append(f"{asked} → {came}")


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    story = Story(learner)
    story.happens("poll", "given_up", "joined", "taken")


def test_to_stable(learner: Learner) -> None:
    """a member joins, and a second rebalance follows"""
    story = Story(learner)
    story.happens(*TO_STABLE)
    story.happens(*TO_STABLE, generation=5)


def test_sync_failed(learner: Learner) -> None:
    """SyncGroup is refused, and the member joins again"""
    story = Story(learner)
    story.happens("poll", "given_up", "joined", "sync_failed")
    story.happens("joined", "synced", "taken", generation=6)


def test_expelled(learner: Learner) -> None:
    """the member is expelled in each state, and joins again"""
    for count in range(len(TO_STABLE) + 1):
        story = Story(learner)
        story.happens(*TO_STABLE[:count])
        story.happens("expelled")
        story.happens(*TO_STABLE, member_id="m-2", generation=9)
    story.happens("poll", "expelled", "poll")


def test_too_late(learner: Learner) -> None:
    """in each state, every event that is not possible changes nothing"""
    for count in range(len(TO_STABLE) + 1):
        for event in NAMES:
            story = Story(learner)
            story.happens(*TO_STABLE[:count])
            story.happens(event, member_id="late", generation=99)


def test_late_answers(learner: Learner) -> None:
    """the answer to JoinGroup comes after the member was expelled: the id in it does not count"""
    story = Story(learner)
    story.happens("poll", "given_up", "expelled")
    story.happens("joined", member_id="late", generation=7)
    story.happens("poll", "synced", "given_up", "taken")


def test_lives(learner: Learner, seed: int) -> None:
    """thirty members with random events"""
    random = Random(f"member/{seed}")
    for _ in range(30):
        live(learner, random, 25)


def live(learner: Learner, random: Random, events: int) -> None:
    """Let random events happen to a member. 60 % of them follow the usual way to Stable."""
    story = Story(learner)
    at = 0
    for number in range(events):
        if random.random() < 0.6:
            event = TO_STABLE[at % len(TO_STABLE)]
            at += 1
        else:
            event = random.choice(NAMES)
        story.happens(event, member_id=f"m-{number}", generation=number)
