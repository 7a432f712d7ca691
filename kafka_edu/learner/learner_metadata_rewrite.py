"""Exercise 08-1 in a live proxy: a learner's Rewrite makes the topics of each Metadata response.

A wrong answer is sent, and the client then connects to the wrong brokers. If an answer is not a
list of topics, that is an error in the learner's code, and the shipped code answers.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from kafka_edu.clients.proxy.metadata_rewrite import MetadataRewrite
from kafka_edu.common.errors import Errors
from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

_ERRORS: Final = frozenset(map(int, Errors))


class LearnerMetadataRewrite(MetadataRewrite):
    """Gets the topics of each response from an object of the learner's class.

    All responses of a proxy share one object.
    """

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def topics(
        self,
        names: Sequence[str] | None,
        version: int,
        topics: Mapping[str, MetadataResponseTopic],
        alive: Collection[int],
    ) -> list[MetadataResponseTopic]:
        if not self._code.retired:
            rows = {name: _row(topic) for name, topic in topics.items()}
            arguments = [None if names is None else list(names), version, rows, sorted(alive)]
            try:
                return self._checked(self._part.ask("topics", *arguments), topics)
            except LearnerError as error:
                self._code.failed(error)
        return super().topics(names, version, topics, alive)

    def _checked(
        self, answer: object, topics: Mapping[str, MetadataResponseTopic]
    ) -> list[MetadataResponseTopic]:
        """Return the topics from the learner's answer. Raises LearnerError."""
        if isinstance(answer, tuple):
            made = [_topic(row, topics) for row in answer]
            found = [one for one in made if one is not None]
            if len(found) == len(answer):
                return found
        raise self._code.blame(
            f"topics(…) answered {str(answer)[:200]}; expected a list of (error, name, internal,"
            " partitions), and a partition is (error, index, leader, replicas, isr, offline)"
        )


def _row(topic: MetadataResponseTopic) -> list[object]:
    """Return a topic as the list of values that the learner's code gets."""
    partitions = [
        [
            one.error_code,
            one.partition_index,
            one.leader_id,
            list(one.replica_nodes),
            list(one.isr_nodes),
            list(one.offline_replicas),
        ]
        for one in topic.partitions
    ]
    return [topic.error_code, topic.is_internal, partitions]


def _topic(
    row: object, topics: Mapping[str, MetadataResponseTopic]
) -> MetadataResponseTopic | None:
    """Return the topic that the learner's list of values describes, or None if the list is not
    valid.
    """
    match row:
        case (int(error), str(name), bool(internal), tuple(rows)) if _is_error(error):
            source = topics.get(name)
            epochs = (
                {one.partition_index: one.leader_epoch for one in source.partitions}
                if source is not None
                else {}
            )
            partitions = [_partition(one, epochs) for one in rows]
            found = [one for one in partitions if one is not None]
            if len(found) < len(rows):
                return None
            made = MetadataResponseTopic(
                error_code=error, name=name, is_internal=internal, partitions=found
            )
            if source is not None:
                made.topic_id = source.topic_id
                made.topic_authorized_operations = source.topic_authorized_operations
            return made
    return None


def _partition(row: object, epochs: Mapping[int, int]) -> MetadataResponsePartition | None:
    match row:
        case (
            int(error),
            int(index),
            int(leader),
            tuple(replicas),
            tuple(isr),
            tuple(offline),
        ) if _is_error(error) and all(isinstance(one, int) for one in (*replicas, *isr, *offline)):
            return MetadataResponsePartition(
                error_code=error,
                partition_index=index,
                leader_id=leader,
                leader_epoch=epochs.get(index, -1),
                replica_nodes=list(replicas),
                isr_nodes=list(isr),
                offline_replicas=list(offline),
            )
    return None


def _is_error(code: int) -> bool:
    return code in _ERRORS


def adapt(code: LearnerCode) -> Callable[[], MetadataRewrite]:
    """Return the function that replaces `MetadataRewrite` in a proxy."""
    rule = LearnerMetadataRewrite(code)
    return lambda: rule
