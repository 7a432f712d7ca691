"""One step in the life of a record, for `story` and `client_steps`."""

from collections.abc import Callable
from typing import NamedTuple

from kafka_edu.trace.event import Envelope


class Step(NamedTuple):
    """One step in the record's life: a recorded event, or a stage of which no event was
    recorded.
    """

    stage: str
    envelope: Envelope | None
    text: str

    @property
    def is_recorded(self) -> bool:
        return self.envelope is not None


def step_of(
    envelope: Envelope | None, stage: str, what: str, text: Callable[[object], str]
) -> Step:
    """Return the step of an event. Without an event, say that `what` was not recorded."""
    if envelope is None:
        return Step(stage, None, f"{what} was not recorded")
    return Step(stage, envelope, text(envelope.event))
