"""The live part of 13-3: the learner's barrier ends the rebalances of a group in all three brokers.
All members are unmodified consumers.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, TypeVar

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.group import MemberFailed, RebalanceCompleted, RebalanceStarted

from ..learner_broker import ALL, PATIENT_ISR, LearnerBroker, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step
from ..unmodified_consumer import UnmodifiedConsumer, unmodified_consumer

TOPIC: Final = "lab-133"
GROUP: Final = "lab-133"
DELAY_MS: Final = 6_000
"""The initial delay of an empty group."""
POLL_LIMIT_MS: Final = 20_000
"""A member that does not poll for this time is removed. This is also the rebalance time-out."""
PROPS: Final[Mapping[str, str]] = {
    **PATIENT_ISR,
    "group.initial.rebalance.delay.ms": str(DELAY_MS),
}
US_IN_MS: Final = 1_000
E = TypeVar("E")


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None), and yield the result of each
    check.
    """
    with (
        learner_broker(exercise, file, TOPIC, say, patience_s, brokers=ALL, props=PROPS) as broker,
        ExitStack() as stack,
    ):
        group = Group(broker, stack)
        say("two members join an empty group")
        yield group.begins()
        say("a third one comes")
        yield group.grows()
        say("one leaves")
        yield group.shrinks()
        say("one stops polling, and another one comes")
        yield group.loses_one()
        if file is not None:
            yield broker.judge_calls("each rebalance came to its end")


class Group:
    """The members of the live group, and the events of its coordinator."""

    def __init__(self, broker: LearnerBroker, stack: ExitStack) -> None:
        self._broker = broker
        self._stack = stack
        self._members: list[UnmodifiedConsumer] = []

    def _join(self) -> None:
        """Let another unmodified consumer join."""
        config = {
            "bootstrap.servers": self._broker.cluster.bootstrap_servers,
            "group.id": GROUP,
            "client.id": f"member-{len(self._members) + 1}",
            "partition.assignment.strategy": "range",
            "session.timeout.ms": 15_000,
            "max.poll.interval.ms": POLL_LIMIT_MS,
            "heartbeat.interval.ms": 500,
        }
        self._members.append(self._stack.enter_context(unmodified_consumer(config, [TOPIC])))

    def _events(self, kind: type[E]) -> list[tuple[Envelope, E]]:
        """Return the group's events of this kind, in the order of their time."""
        found = [
            (one, one.event)
            for listener in self._broker.listeners.values()
            for one in list(listener.envelopes)
            if isinstance(one.event, kind) and getattr(one.event, "group", "") == GROUP
        ]
        return sorted(found, key=lambda pair: pair[0].mono_us)

    def _names(self) -> tuple[str, ...]:
        """Return the first 8 characters of the id of each member of the last generation, sorted.
        Empty if there is no generation yet.
        """
        done = self._events(RebalanceCompleted)
        return tuple(sorted(one[:8] for one in done[-1][1].members)) if done else ()

    def _comes(self, says: str, *names: str) -> Step:
        """Wait for a generation that has exactly these members. Nobody may be removed."""
        came = self._broker.listener.wait_for(
            lambda: self._names() == names, self._broker.patience_s
        )
        failed = self._events(MemberFailed)
        if failed:
            member, reason = failed[0][1].member[:8], failed[0][1].reason
            return Step(says, False, f"{member} was removed: {reason}")
        if not came:
            seen = ", ".join(self._names()) or "nobody"
            return Step(says, False, f"the last generation has {seen}", late=True)
        generation = self._events(RebalanceCompleted)[-1][1].generation
        return Step(says, True, f"generation {generation} has {', '.join(names)}")

    def begins(self) -> Step:
        """Let two members join. The first generation waits for the delay, and has both."""
        says = "the first generation waits for the delay, and has both"
        self._join()
        self._join()
        step = self._comes(says, "member-1", "member-2")
        if not step.passed:
            return step
        began, ended = self._events(RebalanceStarted)[0][0], self._events(RebalanceCompleted)[0]
        waited_ms = (ended[0].mono_us - began.mono_us) // US_IN_MS
        first = len(ended[1].members)
        seen = f"it came after {waited_ms:,} ms, and has {first} members"
        return Step(says, waited_ms >= DELAY_MS - 1 and first == 2, seen)

    def grows(self) -> Step:
        """Let a third member join."""
        self._join()
        names = ("member-1", "member-2", "member-3")
        return self._comes("the next generation has all three, and no member was removed", *names)

    def shrinks(self) -> Step:
        """Let a member leave."""
        self._members[0].close()
        return self._comes("the next one has the other two", "member-2", "member-3")

    def loses_one(self) -> Step:
        """Let a member stop polling. It has to be removed, and the others have to continue."""
        says = "the group waits for it for the full rebalance time-out, and then continues"
        before = len(self._events(RebalanceStarted))
        self._members[1].rest()
        self._join()
        names = ("member-3", "member-4")
        came = self._broker.listener.wait_for(
            lambda: self._names() == names, self._broker.patience_s
        )
        if not came:
            seen = ", ".join(self._names()) or "nobody"
            return Step(says, False, f"the last generation has {seen}", late=True)
        began = self._events(RebalanceStarted)[before][0]
        waited_ms = (self._events(RebalanceCompleted)[-1][0].mono_us - began.mono_us) // US_IN_MS
        return Step(says, True, f"after {waited_ms:,} ms it has {' and '.join(names)}")
