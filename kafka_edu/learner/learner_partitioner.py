"""Exercise 12-2 in a live producer: a learner's Partitioner is the producer's DefaultPartitioner.

A wrong partition is used: records of one key may then be in several partitions. If the topic does
not have the partition, that is an error of the learner. The shipped partitioner then goes on.
"""

import random
from collections.abc import Callable, Mapping

from kafka_edu.clients.metadata import TopicInfo
from kafka_edu.clients.producer.partitioners import PARTITIONERS, DefaultPartitioner, Partitioner
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerPartitioner:
    """Calls the learner's object. There is one object for each producer."""

    sticky = True

    def __init__(self, code: LearnerCode, chance: random.Random) -> None:
        self._code = code
        self._shipped = DefaultPartitioner(chance)
        self._learner: LearnerObject | None = None
        self._given_up = False

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        came = self._ask("partition", topic.topic, key, len(topic), list(topic.available))
        if self._given_up:
            return self._shipped.partition(topic, key, value)
        if not isinstance(came, int) or isinstance(came, bool) or not 0 <= came < len(topic):
            self._fail(
                self._code.blame(
                    f"partition({topic.topic!r}, {key!r}, {len(topic)}, {list(topic.available)})"
                    f" answered {came!r}; expected a partition from 0 to {len(topic) - 1}"
                )
            )
            return self._shipped.partition(topic, key, value)
        return came

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None:
        self._ask("new_batch", topic.topic, partition, len(topic), list(topic.available))
        if self._given_up:
            self._shipped.on_new_batch(topic, partition)

    def _ask(self, method: str, *arguments: object) -> object:
        """Return the learner's answer; None after an error of the learner."""
        if self._given_up or self._code.retired:
            self._given_up = True
            return None
        try:
            if self._learner is None:
                self._learner = self._code.make()
            return self._code.ask(self._learner, method, *arguments)
        except LearnerError as error:
            self._fail(error)
            return None

    def _fail(self, error: LearnerError) -> None:
        self._given_up = True
        self._code.failed(error)


def adapt(code: LearnerCode) -> Mapping[str, Callable[[random.Random], Partitioner]]:
    """Return the table that replaces `PARTITIONERS` in a producer."""
    return {**PARTITIONERS, "DefaultPartitioner": lambda chance: LearnerPartitioner(code, chance)}
