"""Exercise 10-2 in a live broker: a learner's ReplicaSelector says where a consumer reads.

The learner's code is called for each fetch of a consumer. A wrong answer is used if the broker has
a replica that the consumer may read: the consumer then reads far away, or from a replica that is
behind. Any other answer is an error in the learner's code, and the shipped rule answers.
"""

from collections.abc import Callable, Sequence

from kafka_edu.learner.learner_part import LearnerPart
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.replication.replica_selector import (
    ClientMetadata,
    RackAwareReplicaSelector,
    ReplicaSelector,
    ReplicaView,
)


class LearnerReplicaSelector(RackAwareReplicaSelector):
    """Calls the learner's object. Each broker has one object."""

    def __init__(self, code: LearnerCode) -> None:
        self._code = code
        self._part = LearnerPart(code)

    def select(
        self, client: ClientMetadata, followers: Sequence[ReplicaView], leader: ReplicaView
    ) -> ReplicaView:
        if not self._code.retired:
            by_id = {one.broker_id: one for one in (*followers, leader)}
            rows = [
                [one.broker_id, one.rack, one.log_end_offset, one.ms_since_caught_up]
                for one in followers
            ]
            arguments = [client.rack_id, leader.broker_id, leader.rack, rows]
            try:
                answer = self._part.ask("select", *arguments)
                if isinstance(answer, int) and not isinstance(answer, bool) and answer in by_id:
                    return by_id[answer]
                raise self._code.blame(
                    f"select{arguments} answered {answer!r}; expected one of {sorted(by_id)}"
                )
            except LearnerError as error:
                self._code.failed(error)
        return super().select(client, followers, leader)


def adapt(code: LearnerCode) -> Callable[[], ReplicaSelector]:
    """Return the function that replaces `RackAwareReplicaSelector` in a broker."""
    return lambda: LearnerReplicaSelector(code)
