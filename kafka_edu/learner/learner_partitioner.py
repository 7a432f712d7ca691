"""Exercise 12-2 in a live producer: a learner's Partitioner is the producer's DefaultPartitioner.

A wrong partition is used: records of one key may then be in several partitions. If the topic does
not have the partition, that is an error in the learner's code. The shipped partitioner then takes
over.
"""

import random
from collections.abc import Callable, Mapping

from kafka_edu.clients.metadata import TopicInfo
from kafka_edu.clients.producer.partitioners import PARTITIONERS, DefaultPartitioner, Partitioner
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError


class LearnerPartitioner:
    """A partitioner that asks an object of the learner's class. Each producer has one such
    object.
    """

    sticky = True

    def __init__(self, code: LearnerCode, chance: random.Random) -> None:
        self._part = LearnerPart(code)
        self._shipped = DefaultPartitioner(chance)

    def partition(self, topic: TopicInfo, key: bytes | None, value: bytes | None) -> int:
        if not self._part.is_out:
            arguments = (topic.topic, key, len(topic), list(topic.available))
            try:
                match self._part.ask("partition", *arguments):
                    case int(chosen) if type(chosen) is int and 0 <= chosen < len(topic):
                        return chosen
                    case answer:
                        expected = f"a partition from 0 to {len(topic) - 1}"
                        raise self._part.blame("partition", arguments, answer, expected)
            except LearnerError as error:
                self._part.fail(error)
        return self._shipped.partition(topic, key, value)

    def on_new_batch(self, topic: TopicInfo, partition: int) -> None:
        self._part.tell("new_batch", topic.topic, partition, len(topic), list(topic.available))
        if self._part.is_out:
            self._shipped.on_new_batch(topic, partition)


def adapt(code: LearnerCode) -> Mapping[str, Callable[[random.Random], Partitioner]]:
    """Return the table that replaces `PARTITIONERS` in a producer."""
    return {**PARTITIONERS, "DefaultPartitioner": lambda chance: LearnerPartitioner(code, chance)}
