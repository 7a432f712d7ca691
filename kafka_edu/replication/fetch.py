"""Fetch records for consumers and followers (Kafka: ReplicaManager.fetchMessages).

    read each log → enough bytes, an error, or no time to wait: respond now
                  → otherwise a DelayedFetch waits, and reads a second time at its end

A follower's fetch is also its acknowledgement. The leader records the follower's new LEO, and then
perhaps moves the HW, which completes waiting produces and fetches. Previous hop of a request:
apis/fetch. Next hops: Partition, then DelayedFetch.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.purgatory.delayed_operation import Requester
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.replication.delayed_fetch import DelayedFetch
from kafka_edu.replication.fetch_params import FetchInfos, FetchParams
from kafka_edu.replication.fetch_session import FetchSession
from kafka_edu.replication.local_reads import read_from_local_log
from kafka_edu.replication.log_read_result import NO_PREFERRED_REPLICA, FetchResults
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.read_rules import ReadRules

AWAITED_MS: Final = 1_000
"""For this many ms after an election this broker expects the followers to name the new partitions
in a fetch.
"""
SHORT_WAIT_MS: Final = 20
"""A follower's fetch that does not yet name all new partitions waits at most this many ms."""


class Fetch:
    """Serve all fetch requests."""

    def __init__(
        self,
        partitions: Partitions,
        purgatory: DelayedOperationPurgatory[DelayedFetch],
        time: Time,
        rules: ReadRules,
    ) -> None:
        self.purgatory = purgatory
        self._rules = rules
        self._partitions = partitions
        self._time = time
        self._awaited: dict[int, dict[TopicPartition, int]] = {}
        """For each follower id: the new partitions that its fetches do not name yet. Each has the
        monotonic ms until which this broker expects the partition in a fetch.
        """

    def fetch_messages(
        self,
        params: FetchParams,
        infos: FetchInfos,
        respond: Callable[[FetchResults], None],
        session: FetchSession | None = None,
        on_failure: Callable[[Exception], None] | None = None,
        requester: Requester | None = None,
    ) -> None:
        """Read the wanted partitions, and call `respond` once with the results.

        `respond` is called now, or when there are `min_bytes`, or after `max_wait_ms`. It is called
        now if there is no time to wait, no partition is wanted, or there are enough bytes already.
        It is also called now if a partition has an error, a diverging epoch, or another replica to
        read from.

        `infos` are the partitions to read. If they belong to a `session`, a change of any other
        partition of the session also wakes the waiting fetch. After the read, a follower's fetch
        reports the follower's position to the leader's partitions (book 001).
        """
        now_ms = self._time.hi_res_clock_ms()
        if self._awaited and params.from_follower:
            params = self._shortened(params, infos, session, now_ms)
        if session is not None:
            session.changed.clear()
        results = read_from_local_log(self._partitions, params, infos, session, self._rules)
        if params.replica_id >= 0:
            self._update_follower_fetch_state(params.replica_id, infos, results, now_ms)
            if session is not None:
                session.clock.last_fetch_ms = now_ms
        at_once = params.max_wait_ms <= 0 or not (infos or session)
        readable = 0
        for _, read in results:
            readable += read.size_in_bytes
            if (
                read.error is not Errors.NONE
                or read.diverging_epoch is not None
                or read.preferred_read_replica != NO_PREFERRED_REPLICA
            ):
                at_once = True
        if at_once or readable >= params.min_bytes:
            respond(results)
            return
        operation = DelayedFetch(
            params, infos, results, self._partitions, respond, session, self._rules
        )
        operation.on_failure = on_failure
        operation.requester = requester
        keys: dict[Hashable, None] = dict.fromkeys([tp for tp, _ in infos])
        if session is not None:
            keys[session.key] = None
        self.purgatory.try_complete_else_watch(operation, tuple(keys))

    def leads_more(self, elected: Iterable[Partition]) -> None:
        """Make the followers of newly led partitions name these partitions in a fetch soon.

        `elected` are the partitions whose leader this broker has just become. A follower has only
        one fetch under way. If that fetch was sent without the new partitions, their records are
        not replicated until the fetch is answered, at worst after replica.fetch.wait.max.ms. So
        this method answers the waiting fetches now. A follower may learn of the election later than
        its leader. So for AWAITED_MS a fetch that does not name all new partitions waits only
        SHORT_WAIT_MS. O(waiting fetches).
        """
        until_ms = self._time.hi_res_clock_ms() + AWAITED_MS
        followers: dict[int, list[TopicPartition]] = {}
        for partition in elected:
            for follower_id in partition.assigned_replicas:
                if follower_id != partition.broker_id:
                    followers.setdefault(follower_id, []).append(partition.topic_partition)
        for follower_id, new in followers.items():
            self._awaited.setdefault(follower_id, {}).update(dict.fromkeys(new, until_ms))
        for operation in list(self.purgatory.waiting()):
            new = followers.get(operation.follower_id, [])
            if not all(map(operation.reads, new)):
                operation.end_for_new_partitions()
                self.purgatory.check_and_complete(operation.keys[-1])

    def _shortened(
        self, params: FetchParams, infos: FetchInfos, session: FetchSession | None, now_ms: int
    ) -> FetchParams:
        """Return `params` with a short wait if the follower has not yet named all new
        partitions.
        """
        awaited = self._awaited.pop(params.replica_id, {})
        named = session.partitions.keys() if session is not None else {tp for tp, _ in infos}
        left = {tp: end for tp, end in awaited.items() if tp not in named and now_ms < end}
        if not left:
            return params
        self._awaited[params.replica_id] = left
        return params._replace(max_wait_ms=min(params.max_wait_ms, SHORT_WAIT_MS))

    def _update_follower_fetch_state(
        self, follower_id: int, infos: FetchInfos, results: FetchResults, now_ms: int
    ) -> None:
        """Report the follower's position to each partition that was read without an error.

        A broker that is not assigned to a partition should not fetch it, and gets no records.
        """
        for i, (tp, read) in enumerate(results):
            wanted = infos[i][1]
            if read.error is Errors.NONE and read.diverging_epoch is None:
                partition = self._partitions.get(tp)
                if partition is None or not partition.update_follower_fetch_state(
                    follower_id, read, wanted.log_start_offset, now_ms
                ):
                    results[i] = (tp, read.without_records())
