"""Exercise 04-2 in a live broker: a learner's RequestBatch decides which requests are sent.

The learner's code decides which broker gets which request of the controller, and in which order.
During a step, the controller notes what each broker must get: each call such as
`add_leader_and_isr_request` is a note. The controller's own class ControllerBrokersRequestBatch
collects the notes, with all data that Kafka's requests need. At the end of the step the learner's
batch gets the notes and says which requests to send. A request that the learner's batch forgets is
not sent: the broker then does not learn of a new leader. It is an error in the learner's code if a
request goes to a broker that is not alive, or to a broker without a note for that request. Then
ControllerBrokersRequestBatch decides which requests are sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_brokers_request_batch import (
    ControllerBrokersRequestBatch,
)
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrPartitionState
from kafka_edu.protocol.messages.stop_replica import StopReplicaPartitionState
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataPartitionState

MOST_NOTES: Final = 200
"""In a step with more notes the learner's code does not decide, because its answer may have at most
64 KiB.
"""

KINDS: Final = ("LeaderAndIsr", "UpdateMetadata", "StopReplica")
Note = tuple[str, tuple[object, ...]]
"""The name of a method of the learner's batch, and its arguments."""


class Request(NamedTuple):
    """A request that the learner wants to send."""

    broker: int
    kind: str
    partitions: tuple[TopicPartition, ...]


class LearnerRequestBatch(ControllerBrokersRequestBatch):
    """Collects notes like ControllerBrokersRequestBatch, and sends the requests that the learner's
    code names.
    """

    def __init__(self, code: LearnerCode, *others: Any) -> None:
        """Begin an empty batch. `others` are the arguments of ControllerBrokersRequestBatch."""
        super().__init__(*others)
        self._code = code
        self._notes: list[Note] = []
        self._tells_more = False
        """Whether the step contains a note of a kind that the exercise does not have."""

    def clear(self) -> None:
        super().clear()
        self._notes.clear()
        self._tells_more = False

    def add_leader_and_isr_request(
        self,
        broker_ids: Iterable[int],
        tp: TopicPartition,
        state: LeaderIsrAndControllerEpoch,
        is_new: bool,
    ) -> None:
        brokers = [broker for broker in broker_ids if broker >= 0]
        before = self._tells_more
        super().add_leader_and_isr_request(brokers, tp, state, is_new)
        self._tells_more = before  # the request's metadata belongs to the same note
        leader, epoch = state.leader_and_isr.leader, state.leader_and_isr.leader_epoch
        self._notes.append(("elected", (str(tp), leader, epoch, brokers)))

    def add_stop_replica_request(
        self, broker_ids: Iterable[int], tp: TopicPartition, delete: bool
    ) -> None:
        brokers = [broker for broker in broker_ids if broker >= 0]
        super().add_stop_replica_request(brokers, tp, delete)
        self._notes += [("stop", (str(tp), broker, delete)) for broker in brokers]

    def add_update_metadata_request(
        self, broker_ids: Iterable[int], partitions: Iterable[TopicPartition]
    ) -> None:
        brokers, named = [*broker_ids], [*partitions]
        super().add_update_metadata_request(brokers, named)
        if named or {*brokers} != {*self._live()}:
            self._tells_more = True  # without an election, or not to all brokers
        else:
            self._notes.append(("members_changed", ()))

    def send_requests_to_brokers(self) -> None:
        """Send the requests that the learner's batch names.

        If that is not possible, send all requests, as ControllerBrokersRequestBatch does.
        """
        wanted = self._ask() if self._may_ask() else None
        if wanted is None:
            super().send_requests_to_brokers()
            return
        noted = self._leader_and_isr, self._update_metadata, self._stop_replica
        for request in wanted:
            self._collect_only(request, *noted)
            super().send_requests_to_brokers()
        self.clear()

    def _may_ask(self) -> bool:
        noted = len(self._notes)
        return not self._code.retired and not self._tells_more and 0 < noted <= MOST_NOTES

    def _collect_only(
        self,
        request: Request,
        leader_and_isr: Mapping[int, Mapping[TopicPartition, LeaderAndIsrPartitionState]],
        update_metadata: Mapping[TopicPartition, UpdateMetadataPartitionState],
        stop_replica: Mapping[int, Mapping[TopicPartition, StopReplicaPartitionState]],
    ) -> None:
        """Put into the batch only the data that the given request needs."""
        broker, kind, partitions = request
        self._leader_and_isr, self._stop_replica = {}, {}
        self._update_metadata, self._update_metadata_brokers = {}, set()
        if kind == "LeaderAndIsr":
            self._leader_and_isr[broker] = {tp: leader_and_isr[broker][tp] for tp in partitions}
        elif kind == "UpdateMetadata":
            self._update_metadata = {tp: update_metadata[tp] for tp in partitions}
            self._update_metadata_brokers = {broker}
        else:
            self._stop_replica[broker] = {tp: stop_replica[broker][tp] for tp in partitions}

    def _live(self) -> Sequence[int]:
        return sorted(self._context.live_or_shutting_down_broker_ids)

    def _ask(self) -> list[Request] | None:
        """Return the learner's requests, or None after an error in the learner's code."""
        try:
            made = self._code.make(self._live())
            for method, arguments in self._notes:
                self._code.ask(made, method, *arguments)
            answer = self._code.ask(made, "send")
            if not isinstance(answer, tuple):
                raise self._code.blame(f"send() answered {answer!r}, no list of requests")
            return [self._checked(request) for request in answer]
        except LearnerError as error:
            self._code.failed(error)
            return None

    def _checked(self, request: object) -> Request:
        """Return the request if it can be sent. Raises LearnerError otherwise."""
        match request:
            case (int(broker), str(kind), tuple(rows)) if kind in KINDS:
                pass
            case _:
                raise self._code.blame(f"send() has {request!r}; expected (broker, kind, rows)")
        if broker not in self._live():
            raise self._code.blame(f"send() has a {kind} for broker {broker}, which does not live")
        noted: Iterable[TopicPartition]
        if kind == "LeaderAndIsr":
            noted = self._leader_and_isr.get(broker, {})
        elif kind == "UpdateMetadata":
            noted = self._update_metadata
        else:
            noted = self._stop_replica.get(broker, {})
        known = {str(tp): tp for tp in noted}
        names = [row[0] if isinstance(row, tuple) and row else row for row in rows]
        for name in names:
            if name not in known:
                raise self._code.blame(
                    f"send() has a {kind} of {name!r} for broker {broker}, which was not noted"
                )
        return Request(broker, kind, tuple(known[str(name)] for name in names))


def adapt(code: LearnerCode) -> Callable[..., ControllerBrokersRequestBatch]:
    """Return the function that replaces the request batch of the active controller."""
    return partial(LearnerRequestBatch, code)
