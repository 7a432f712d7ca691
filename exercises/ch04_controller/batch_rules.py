"""Compute the right answers of exercise 04-2 with the controller's own request batch.

ControllerBrokersRequestBatch decides which broker gets which request. This module converts its
requests to the rows of the exercise. So the right answers always agree with the controller's code.
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.ports import BROKER_PORT, LOOPBACK
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_brokers_request_batch import ControllerBrokersRequestBatch
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_edu.protocol.messages.stop_replica import StopReplicaRequest
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.protocol.schema import Message

KINDS: Final = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")
Row = tuple[str, int, int] | tuple[str, bool]
Request = tuple[int, str, tuple[Row, ...]]


def _tp(name: str) -> TopicPartition:
    topic, _, number = name.rpartition("-")
    return TopicPartition(topic, int(number))


class RightBatch:
    """The reference for the learner's RequestBatch. It gives the right answers."""

    def __init__(self, live: Sequence[int]) -> None:
        self._live = sorted(live)
        self._context = ControllerContext(1, 0)
        self._context.set_live_brokers(
            Broker(each, (EndPoint(LOOPBACK, BROKER_PORT + each, "PLAINTEXT", "PLAINTEXT"),))
            for each in live
        )
        self._sent: list[Request] = []
        self._batch = ControllerBrokersRequestBatch(
            0, self._context, (2, 8), "PLAINTEXT", self._take
        )
        self._batch.new_batch()

    def _take(self, broker: int, request: Message, version: int, partitions: int) -> None:
        rows: list[Row]
        match request:
            case LeaderAndIsrRequest() | UpdateMetadataRequest():
                kind = KINDS[isinstance(request, UpdateMetadataRequest)]
                rows = [
                    (f"{topic.topic_name}-{one.partition_index}", one.leader, one.leader_epoch)
                    for topic in request.topic_states
                    for one in topic.partition_states
                ]
            case StopReplicaRequest():
                kind = KINDS[2]
                rows = [
                    (f"{topic.topic_name}-{one.partition_index}", one.delete_partition)
                    for topic in request.topic_states
                    for one in topic.partition_states
                ]
            case _:
                raise AssertionError(request)
        self._sent.append((broker, kind, tuple(sorted(rows))))

    def elected(self, name: str, leader: int, epoch: int, replicas: Sequence[int]) -> None:
        state = LeaderIsrAndControllerEpoch(
            LeaderAndIsr(leader, epoch, tuple(replicas), 0), self._context.epoch
        )
        tp = _tp(name)
        assignment = ReplicaAssignment(tuple(replicas))
        self._context.update_assignment(tp, assignment)
        self._context.put_partition_leadership_info(tp, state)
        self._batch.add_leader_and_isr_request(replicas, tp, state, is_new=False)

    def stop(self, name: str, broker: int, delete: bool) -> None:
        self._batch.add_stop_replica_request([broker], _tp(name), delete)

    def members_changed(self) -> None:
        self._batch.add_update_metadata_request(self._live, [])

    def send(self) -> tuple[Request, ...]:
        self._batch.send_requests_to_brokers()
        sent, self._sent = self._sent, []
        self._batch.new_batch()
        return tuple(sorted(sent, key=lambda each: (KINDS.index(each[1]), each[0])))
