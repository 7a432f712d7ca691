"""The parts of the brokers that a learner has written (`kafka-edu lab my-broker`)."""

from typing import Final

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.learner import (
    LearnerFailed,
    LearnerInstalled,
    LearnerRetired,
    LearnerSampled,
    LearnerSnapshot,
)

LEARNER_EVENTS: Final = (
    LearnerInstalled,
    LearnerSnapshot,
    LearnerSampled,
    LearnerFailed,
    LearnerRetired,
)


class ServingPart:
    """A learner's part that is used in one broker."""

    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self.retired = False
        """Whether the learner's part has failed too often, so that the original part is used."""


class LearnersView:
    """All learners' parts, by exercise and broker. They change only through `apply`."""

    READS: Final = frozenset({*LEARNER_EVENTS, LinkLost})
    """The types of events that change this view."""

    def __init__(self) -> None:
        self.parts: dict[str, dict[int, ServingPart]] = {}

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1)."""
        broker = envelope.broker
        if broker is None:
            return
        match envelope.event:
            case LearnerInstalled(exercise=exercise):
                self.parts.setdefault(exercise, {})[broker] = ServingPart()
            case (
                LearnerSnapshot(exercise=exercise, total=total)
                | LearnerSampled(exercise=exercise, total=total)
            ):
                part = self._part(exercise, broker)
                part.calls, part.failures = total
            case LearnerFailed(exercise=exercise, failures=failures):
                self._part(exercise, broker).failures = failures
            case LearnerRetired(exercise=exercise):
                self._part(exercise, broker).retired = True
            case LinkLost():
                for brokers in self.parts.values():
                    brokers.pop(broker, None)
                self.parts = {name: brokers for name, brokers in self.parts.items() if brokers}
            case _:
                pass

    def _part(self, exercise: str, broker: int) -> ServingPart:
        return self.parts.setdefault(exercise, {}).setdefault(broker, ServingPart())

    @property
    def brokers(self) -> list[int]:
        """The brokers in which a learner's part is used."""
        return sorted({broker for brokers in self.parts.values() for broker in brokers})
