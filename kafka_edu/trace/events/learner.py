"""Events about a learner's code that runs in a broker (spec E1)."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, event


@event()
class LearnerInstalled(NamedTuple):
    """Learner's code serves in this broker in place of the shipped code."""

    exercise: str
    replaces: str
    file: str


@event()
class LearnerFailed(NamedTuple):
    """Learner's code raised, took too long or answered what cannot be; the shipped code did the
    work instead.
    """

    exercise: str
    message: str
    file: str
    line: int
    """0 when no line of the file is to blame."""
    failures: int
    """How many there were, this one included."""


@event()
class LearnerRetired(NamedTuple):
    """Learner's code failed too often in this broker. The shipped code stays from now on, and the
    learner's process has ended.
    """

    exercise: str
    replaces: str
    file: str
    failures: int


@event()
class OrderStepped(NamedTuple):
    """A step of an order of events in which a learner's rule goes wrong (`lab replay`). What the
    step did to the cluster follows.
    """

    number: int
    """1 is the first step."""
    steps: int
    who: str
    """The thread that did it; empty if it happens to the cluster."""
    step: str
    line: int
    """The line of the learner's file; 0 if no line of it did this."""


@event()
class OrderFailed(NamedTuple):
    """The end of an order in which a learner's rule goes wrong, and what is wrong."""

    fault: str
    file: str


class LearnerCalls(NamedTuple):
    """How often learner's code was called, and how often it failed."""

    calls: int
    failures: int


@event()
class LearnerServed(NamedTuple):
    """A broker has stopped in order, and learner's code has served in it: so often it was asked."""

    exercise: str
    total: LearnerCalls


@event(kind=Kind.SNAPSHOT)
class LearnerSnapshot(NamedTuple):
    """Learner's code that serves in this broker, sent to a new subscriber."""

    exercise: str
    replaces: str
    file: str
    total: LearnerCalls


@event(kind=Kind.GAUGE, thing=("exercise",))
class LearnerSampled(NamedTuple):
    """A sample of how often learner's code was called."""

    exercise: str
    total: LearnerCalls
