"""Exercise 03-3 in a live broker: a learner's DelayedFetch decides when a fetch completes.

The learner's code decides only about consumers of the labs' topics. Followers are left out: their
fetches name partitions of many topics, and each appended record would need a call.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.lab_partitions import all_of_labs, replica_or_error
from kafka_edu.learner.learner import LearnerObject
from kafka_edu.learner.seams import LearnerCode, LearnerError
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.delayed_fetch import ENOUGH, DelayedFetch
from kafka_edu.replication.fetch_params import FetchInfos, FetchParams
from kafka_edu.replication.partition_reads import end_for

Place = tuple[int, int, int]
Wanted = tuple[str, Place, int, int]
State = dict[str, object]
"""The broker's knowledge of one partition, in the form that the exercise's page describes."""

#: The cases that end the wait, with the names that the event uses.
CASES: Final = {
    "A": "another broker leads it",
    "B": "the replica was moved away",
    "C": "the partition is not known",
    "D": "its log dir has failed",
    "E": "another leader epoch",
    "F": "another segment: far behind, or truncated",
    "H": "the logs differ",
}


class LearnerDelayedFetch(DelayedFetch):
    """A fetch that completes when the learner's code says so.

    The broker uses a wrong answer if possible: then the consumer gets its response too early, or
    waits for fetch.max.wait.ms. It is an error in the learner's code if an answer is not a case, or
    names a partition that is not in the fetch. The shipped condition then decides. The time-out is
    always handled by the shipped code.
    """

    __slots__ = ("_code", "_learner", "_shown")

    def __init__(self, code: LearnerCode, params: FetchParams, *others: Any) -> None:
        """Begin to wait. `others` are the arguments of DelayedFetch after `params`."""
        super().__init__(params, *others)
        self._code = code
        self._shown: list[Wanted] | None = None
        """The partitions of the learner's present object. A fetch session may change them."""
        self._learner: LearnerObject | None = None

    def try_complete(self) -> bool:
        if self._ended_by is not ENOUGH or self._code.retired:
            return super().try_complete()
        infos = self._wanted()
        wanted = self._named(infos)
        if wanted is None:
            return super().try_complete()
        try:
            answer = self._ask(wanted, [tp for tp, _ in infos])
        except LearnerError as error:
            self._code.failed(error)
            return super().try_complete()
        if answer == "wait":
            return False
        if answer in CASES:
            self._ended_by = CASES[answer]
        return self.force_complete()

    def _named(self, infos: FetchInfos) -> list[Wanted] | None:
        """Return the wanted partitions in the exercise's form.

        Return None if the learner's code is not called: for other topics, or if the fetch offset's
        place in the log is not known.
        """
        if not all_of_labs(tp for tp, _ in infos):
            return None
        named: list[Wanted] = []
        for tp, wanted in infos:
            start = self._start_of(tp, wanted)
            if start is None or start.message_offset_only:
                return None
            epoch = wanted.current_leader_epoch
            if epoch < 0:  # the fetch gives no epoch
                replica = self._partitions.get(tp)
                epoch = replica.leader_epoch if replica is not None else -1
            named.append((str(tp), _place(start), wanted.max_bytes, epoch))
        return named

    def _ask(self, wanted: list[Wanted], partitions: Sequence[TopicPartition]) -> str:
        """Return the case that the learner's code names, or `wait`. Raises LearnerError."""
        if self._learner is None or not _same_places(wanted, self._shown or []):
            self._learner = self._code.make(self._params.min_bytes, wanted)
            self._shown = wanted
        states = {str(tp): state for tp in partitions if (state := self._state(tp)) is not None}
        call = f"look() of {', '.join(states) or 'no partition that is known'}"
        match self._code.ask(self._learner, "look", states):
            case ("wait" | "G" as case, int()):
                return str(case)
            case (str(case), str(name)) if case in CASES and name in {one[0] for one in wanted}:
                return case
            case answer:
                raise self._code.blame(
                    f"{call} answered {answer!r}; expected (case, partition), ('G', bytes) or"
                    " ('wait', missing bytes)"
                )

    def _state(self, tp: TopicPartition) -> State | None:
        """Return the broker's knowledge of a partition, or None if the partition is not known."""
        replica = replica_or_error(self._partitions, tp)
        if replica is Errors.UNKNOWN_TOPIC_OR_PARTITION:
            return None
        if isinstance(replica, Errors):
            failed = replica is Errors.KAFKA_STORAGE_ERROR
            return _state(online=not failed, replica=failed)
        return {
            "replica": True,
            "online": True,
            "leader": replica.is_leader,
            "leader_epoch": replica.leader_epoch,
            "end": _place(end_for(replica, self._params.isolation)),
            "diverging": False,
            "throttled": False,
        }


def _same_places(wanted: Sequence[Wanted], shown: Sequence[Wanted]) -> bool:
    """Return whether both lists are the same except for leader epochs.

    If a fetch names no leader epoch, the broker puts its own present epoch into the list. That
    epoch may differ between the two lists.
    """
    return [one[:3] for one in wanted] == [one[:3] for one in shown]


def _place(at: LogOffsetMetadata) -> Place:
    return at.message_offset, at.segment_base_offset, at.relative_position_in_segment


def _state(*, online: bool, replica: bool) -> State:
    """Return the state of a partition that has no log on this broker."""
    return {
        "replica": replica,
        "online": online,
        "leader": False,
        "leader_epoch": -1,
        "end": (0, 0, 0),
        "diverging": False,
        "throttled": False,
    }


def adapt(code: LearnerCode) -> Callable[..., DelayedFetch]:
    """Return the function that replaces DelayedFetch where fetches begin to wait."""

    def make(params: FetchParams, infos: FetchInfos, *others: Any) -> DelayedFetch:
        if code.retired or params.replica_id >= 0 or not all_of_labs(tp for tp, _ in infos):
            return DelayedFetch(params, infos, *others)
        return LearnerDelayedFetch(code, params, infos, *others)

    return make
