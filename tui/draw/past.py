"""The history from which pictures are made, and the state at one of its moments."""

from collections.abc import Sequence

from kafka_edu.common.topic_partition import TopicPartition, TopicPartitionError
from kafka_edu.trace.event import Envelope

from ..model import Model
from .moments import Moment


class NothingToDrawError(Exception):
    """The history does not contain what is to be drawn. The message says what it contains."""


class Past:
    """The events from which a picture is made."""

    def __init__(
        self, name: str, envelopes: Sequence[Envelope], at: Moment, begin: Moment | None = None
    ) -> None:
        self.name = name
        """The cluster's name."""
        self.envelopes = envelopes
        self.at = at
        self.begin = begin
        """The earlier moment, or None. A state is drawn at both moments.

        Of a sequence of states, only the part between the two moments is drawn.
        """
        self._models: dict[Moment, Model] = {}

    @property
    def until(self) -> Sequence[Envelope]:
        return self.envelopes[: self.at.events]

    @property
    def moments(self) -> list[Moment]:
        return [self.begin, self.at] if self.begin else [self.at]

    @property
    def when(self) -> str:
        return self.at.words if self.begin is None else f"{self.begin.words} to {self.at.words}"

    def model(self, moment: Moment) -> Model:
        """Return the model at this moment. O(events before it) the first time; then it is kept."""
        model = self._models.get(moment)
        if model is None:
            model = self._models[moment] = Model(self.name)
            model.apply(self.envelopes[: moment.events])
            model.advance(moment.mono_us)
        return model


def partition_of(past: Past, word: str) -> tuple[str, int]:
    """Return the topic and the partition of a word such as `web-1`.

    Raises NothingToDrawError if the word names no partition.
    """
    known = past.model(past.at).cluster.partitions.by_key
    found = next((key for key in known if str(key) == word), None)
    if found is not None:
        return found.topic, found.partition
    names = sorted(str(key) for key in known if not key.topic.startswith("__"))
    there = ", ".join(names[:8]) + (" …" if len(names) > 8 else "") if names else "none"
    try:
        TopicPartition.parse(word)
    except TopicPartitionError as error:
        raise NothingToDrawError(f"{error}; known: {there}") from None
    raise NothingToDrawError(f"there is no partition {word}; known: {there}")
