"""Events about a learner's code that runs in a broker (spec E1)."""

from typing import NamedTuple

from kafka_edu.trace.event import Kind, Level, event


@event()
class LearnerInstalled(NamedTuple):
    """A learner's code now runs in this broker instead of the project's own code."""

    exercise: str
    replaces: str
    file: str


@event()
class LearnerFailed(NamedTuple):
    """A learner's code raised an exception, took too long or returned an impossible result. The
    project's own code did the work instead.
    """

    exercise: str
    message: str
    file: str
    line: int
    """The line of the learner's file that failed, or 0 if no single line failed."""
    failures: int
    """How often the learner's code has failed so far, this failure included."""


@event()
class LearnerRetired(NamedTuple):
    """A learner's code failed too often in this broker. From now on only the project's own code
    runs, and the learner's process has ended.
    """

    exercise: str
    replaces: str
    file: str
    failures: int


@event(level=Level.ALL)
class LearnerAnswered(NamedTuple):
    """A learner's code in a simulated broker was called, and its answer was used."""

    exercise: str
    call: str
    """The called method with its arguments, as text."""
    answer: str
    line: int
    """The line of the learner's file that returned the answer, or 0 if it is not known."""
    source: str
    """The text of this line."""


@event()
class LearnerPrinted(NamedTuple):
    """A learner's code in a simulated broker printed a line. Addresses of objects are left out,
    because they differ in each run.
    """

    exercise: str
    text: str


@event()
class OrderStepped(NamedTuple):
    """One step in a sequence of events that makes a learner's rule go wrong (`lab replay`). The
    events after this one show what the step did to the cluster.
    """

    number: int
    """The number of the step. The first step has number 1."""
    steps: int
    who: str
    """The name of the thread that did the step. Empty if the step happened to the cluster
    itself.
    """
    step: str
    line: int
    """The line of the learner's file that did the step, or 0 if no line did it."""


@event()
class OrderFailed(NamedTuple):
    """The last step of a sequence of events that makes a learner's rule go wrong. `fault` says what
    is wrong.
    """

    fault: str
    file: str


class LearnerCalls(NamedTuple):
    """How often a learner's code was called, and how often it failed. Events have this value as a
    field.
    """

    calls: int
    failures: int


@event()
class LearnerServed(NamedTuple):
    """A broker with a learner's code has stopped normally. `total` says how often the code was
    called.
    """

    exercise: str
    total: LearnerCalls


@event(kind=Kind.SNAPSHOT)
class LearnerSnapshot(NamedTuple):
    """The learner's code that runs in this broker, sent to a new subscriber."""

    exercise: str
    replaces: str
    file: str
    total: LearnerCalls


@event(kind=Kind.GAUGE, thing=("exercise",))
class LearnerSampled(NamedTuple):
    """A sample: how often a learner's code was called, and how often it failed."""

    exercise: str
    total: LearnerCalls
