"""Exercise 03-2 in a live broker: a learner's DelayedProduce decides when a produce completes.

The learner's code also decides the error for each partition. It decides only about topics of the
labs, because each event of a partition needs one call, and the broker's loop waits for that call.
The shipped DelayedProduce decides about all other topics.
"""

from collections.abc import Callable

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import all_of_labs, replica_or_error
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.replication.delayed_produce import (
    DelayedProduce,
    ProducePartitionStatus,
    ProduceResults,
)
from kafka_edu.replication.partitions import Partitions

State = dict[str, object]
"""The broker's knowledge of one partition, in the form that the exercise's page describes."""


class LearnerDelayedProduce(DelayedProduce):
    """A produce that completes when the learner's code has decided about each partition.

    The broker uses a wrong answer if possible: then the producer gets its acknowledgement too
    early, or waits until its time-out. It is an error in the learner's code if an answer names a
    partition that is not in the request, omits a partition, or names an unknown error. The shipped
    condition then decides. The time-out is always handled by the shipped code, which sends the
    response.
    """

    __slots__ = ("_code", "_failed", "_learner", "_replicas")

    def __init__(
        self,
        code: LearnerCode,
        timeout_ms: int,
        statuses: ProduceResults,
        partitions: Partitions,
        respond: Callable[[ProduceResults], None],
    ) -> None:
        super().__init__(timeout_ms, statuses, partitions, respond)
        self._code = code
        self._replicas = {f"{tp.topic}-{tp.partition}": tp for tp in statuses}
        self._failed = {name for name, status in self._named() if not status.acks_pending}
        """The partitions whose append failed. The learner's first call includes them."""
        self._learner = self._make_learner()

    def _named(self) -> list[tuple[str, ProducePartitionStatus]]:
        return [(name, self._statuses[tp]) for name, tp in self._replicas.items()]

    def _make_learner(self) -> LearnerObject | None:
        appended = []
        for name, status in self._named():
            replica = self._partitions.get(self._replicas[name])
            error = Errors.NONE if status.acks_pending else status.error
            epoch = replica.leader_epoch if replica is not None else -1
            appended.append((name, error.name, status.required_offset, epoch))
        try:
            return self._code.make(appended)
        except LearnerError as error:
            self._code.failed(error)
            return None

    def try_complete(self) -> bool:
        if self._learner is None or self._code.retired:
            return super().try_complete()
        try:
            settled = self._ask(self._learner)
        except LearnerError as error:
            self._code.failed(error)
            return super().try_complete()
        for name, answer in settled.items():
            tp = self._replicas[name]
            status = self._statuses[tp]
            if status.acks_pending:
                self._settle(status, answer, self._partitions.get(tp))
        if any(status.acks_pending for status in self._statuses.values()):
            return False
        return self.force_complete()

    def _ask(self, learner: LearnerObject) -> dict[str, Errors]:
        """Return the error for each partition that the learner's code has decided.

        Raises LearnerError.
        """
        states = {
            name: state
            for name, tp in self._replicas.items()
            if (state := self._state(tp)) is not None
        }
        pending = {name for name, status in self._named() if status.acks_pending}
        call = f"look() of {', '.join(states) or 'no partition that is known'}"
        match self._code.ask(learner, "look", states):
            case (tuple(settled), tuple(missing)):
                pass
            case answer:
                raise self._code.blame(f"{call} answered {answer!r}; expected (settled, missing)")
        found: dict[str, Errors] = {}
        waiting: list[str] = []
        for row in settled:
            match row:
                case (str(name), str(error)) if error in Errors.__members__:
                    found[name] = Errors[error]
                case _:
                    raise self._code.blame(f"{call} settled {row!r}; expected (partition, error)")
        for row in missing:
            match row:
                case (str(name), int()):
                    waiting.append(name)
                case _:
                    raise self._code.blame(
                        f"{call} has {row!r} waiting; expected (partition, number of offsets)"
                    )
        wanted = pending | self._failed
        self._failed = set()  # the next call must not include them again
        if sorted([*found, *waiting]) != sorted(wanted):
            raise self._code.blame(
                f"{call} named {sorted([*found, *waiting])}, and {sorted(wanted)} were not settled"
                " before"
            )
        return found

    def _state(self, tp: TopicPartition) -> State | None:
        """Return the broker's knowledge of a partition, or None if the partition is not known."""
        replica = replica_or_error(self._partitions, tp)
        if replica is Errors.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        if isinstance(replica, Errors):
            return _state(online=replica is not Errors.KAFKA_STORAGE_ERROR, leader=False)
        log = replica.log
        assert log is not None
        return {
            "online": True,
            "leader": replica.is_leader,
            "leader_epoch": replica.leader_epoch,
            "hw": replica.high_watermark.offset,
            "isr": list(replica.isr),
            "min_isr": log.config.min_insync_replicas,
        }


def _state(*, online: bool, leader: bool) -> State:
    """Return the state of a partition that has no log on this broker."""
    return {
        "online": online,
        "leader": leader,
        "leader_epoch": -1,
        "hw": 0,
        "isr": [],
        "min_isr": 1,
    }


def adapt(code: LearnerCode) -> Callable[..., DelayedProduce]:
    """Return the function that replaces DelayedProduce where records are appended."""

    def make(
        timeout_ms: int,
        statuses: ProduceResults,
        partitions: Partitions,
        respond: Callable[[ProduceResults], None],
    ) -> DelayedProduce:
        if code.retired or not all_of_labs(statuses):
            return DelayedProduce(timeout_ms, statuses, partitions, respond)
        return LearnerDelayedProduce(code, timeout_ms, statuses, partitions, respond)

    return make
