"""Fetch records for consumers and followers (Kafka: ReplicaManager.fetchMessages).

    read each log → enough bytes, an error, or no time to wait: answer now
                  → else a DelayedFetch waits, and reads a second time when it is done

A follower's fetch is also its acknowledgement. It moves the follower's LEO here and maybe the HW,
and so completes waiting produces and fetches. Hop before: apis/fetch. Next hops: Partition, then
DelayedFetch.
"""

from collections.abc import Callable, Hashable

from kafka_edu.common.errors import Errors
from kafka_edu.common.time import Time
from kafka_edu.purgatory.delayed_operation import Requester
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.replication.delayed_fetch import DelayedFetch
from kafka_edu.replication.fetch_params import FetchInfos, FetchParams
from kafka_edu.replication.fetch_session import FetchSession
from kafka_edu.replication.local_reads import read_from_local_log
from kafka_edu.replication.log_read_result import FetchResults
from kafka_edu.replication.partitions import Partitions


class Fetch:
    """Serve the records of all fetch requests."""

    def __init__(
        self,
        partitions: Partitions,
        purgatory: DelayedOperationPurgatory[DelayedFetch],
        time: Time,
    ) -> None:
        self.purgatory = purgatory
        self._partitions = partitions
        self._time = time

    def fetch_messages(
        self,
        params: FetchParams,
        infos: FetchInfos,
        respond: Callable[[FetchResults], None],
        session: FetchSession | None = None,
        on_failure: Callable[[Exception], None] | None = None,
        requester: Requester | None = None,
    ) -> None:
        """Read the wanted partitions, and call `respond` once.

        `respond` is called now, or when there are `min_bytes`, or after `max_wait_ms`.

        `session` is the session whose `infos` these are. A change of any other of its partitions
        also wakes the fetch while it waits.

        After the read, a follower's fetch reports the follower's position (book 001). The response
        is immediate if there is no time to wait, nothing is wanted, there are enough bytes, or
        there is an error or a diverging epoch.
        """
        now_ms = self._time.hi_res_clock_ms()
        if session is not None:
            session.changed.clear()
        results = read_from_local_log(self._partitions, params, infos, session)
        if params.replica_id >= 0:
            self._update_follower_fetch_state(params.replica_id, infos, results, now_ms)
            if session is not None:
                session.clock.last_fetch_ms = now_ms
        at_once = params.max_wait_ms <= 0 or not (infos or session)
        readable = 0
        for _, read in results:
            readable += read.size_in_bytes
            if read.error is not Errors.NONE or read.diverging_epoch is not None:
                at_once = True
        if at_once or readable >= params.min_bytes:
            respond(results)
            return
        operation = DelayedFetch(params, infos, results, self._partitions, respond, session)
        operation.on_failure = on_failure
        operation.requester = requester
        keys: dict[Hashable, None] = dict.fromkeys([tp for tp, _ in infos])
        if session is not None:
            keys[session.key] = None
        self.purgatory.try_complete_else_watch(operation, tuple(keys))

    def _update_follower_fetch_state(
        self, follower_id: int, infos: FetchInfos, results: FetchResults, now_ms: int
    ) -> None:
        """Report the follower's position to each partition.

        A broker that is not assigned to the partition should not fetch it, and gets no records.
        """
        for i, (tp, read) in enumerate(results):
            wanted = infos[i][1]
            if read.error is Errors.NONE and read.diverging_epoch is None:
                partition = self._partitions.get(tp)
                if partition is None or not partition.update_follower_fetch_state(
                    follower_id, read, wanted.log_start_offset, now_ms
                ):
                    results[i] = (tp, read.without_records())
