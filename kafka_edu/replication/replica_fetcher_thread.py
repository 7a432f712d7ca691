"""Send the requests of one ReplicaFetcher to its leader, and pass on the responses (Kafka:
ReplicaFetcherThread.scala, ReplicaFetcherBlockingSend).

In Kafka a fetcher is a thread, in this project it is an asyncio task. A fetcher has one connection
and one request under way. The next fetch is sent as soon as the records of the last response are
appended. If there are no new records, the leader holds the fetch for up to
replica.fetch.wait.max.ms. So followers get new records at once, and do not send fetches all the
time. Next hop of a fetch: apis/fetch on the leader; of its response: ReplicaFetcher.
"""

import asyncio
from collections.abc import Callable
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.fetch import FetchResponse
from kafka_edu.protocol.messages.list_offsets import (
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListOffsetsResponse,
)
from kafka_edu.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochResponse
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.replication.replica_fetcher import PartitionFetchState, ReplicaFetcher
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.trace.events.replication import FetcherConnected, FetcherFailed
from kafka_edu.trace.tracer import Tracer

R = TypeVar("R", bound=Message)


class FetcherVersions(NamedTuple):
    """The versions in which a fetcher sends its requests."""

    fetch: int
    offset_for_leader_epoch: int
    list_offsets: int


#: (inter.broker.protocol.version, request versions). The newest entry that is not above the
#: broker's setting counts (Kafka: ReplicaFetcherThread).
VERSIONS: Final = (
    ((2, 8), FetcherVersions(12, 4, 6)),
    ((2, 7), FetcherVersions(12, 3, 5)),
    ((2, 3), FetcherVersions(11, 3, 5)),
    ((2, 2), FetcherVersions(10, 2, 5)),
    ((2, 1), FetcherVersions(10, 2, 4)),
    ((2, 0), FetcherVersions(8, 1, 3)),
)


def fetcher_versions(inter_broker_protocol_version: tuple[int, int]) -> FetcherVersions:
    """Return the request versions for this inter.broker.protocol.version.

    Versions below 2.0 get the request versions of 2.0.
    """
    return next(
        (versions for since, versions in VERSIONS if since <= inter_broker_protocol_version),
        VERSIONS[-1][1],
    )


class ReplicaFetcherThread:
    """One task that fetches from one leader.

    `end_point` returns the leader's current (host, port), or None if it is not known.
    """

    def __init__(
        self,
        fetcher: ReplicaFetcher,
        fetcher_id: int,
        config: ReplicationConfig,
        time: Time,
        transport: Transport,
        end_point: Callable[[], tuple[str, int] | None],
        trace: Tracer | None = None,
    ) -> None:
        self.fetcher = fetcher
        self._config = config
        self._time = time
        self._end_point = end_point
        self._trace = trace
        self._versions = fetcher_versions(config.inter_broker_protocol_version)
        self._client = NetworkClient(transport, f"broker-{config.broker_id}-fetcher-{fetcher_id}")
        self._work = asyncio.Event()

    def partitions_changed(self) -> None:
        """End the pause, because there may be new partitions to fetch."""
        self._work.set()

    async def run(self) -> None:
        """Look up epochs and truncate, fetch and append, until the task is cancelled.

        Pause if there is nothing to do, or after a failure.
        """
        try:
            while True:
                try:
                    busy = await self._step()
                except (
                    OSError,
                    ProtocolError,
                ) as failure:  # TimeoutError and ConnectionError are OSErrors
                    self._client.close()
                    self.fetcher.on_no_answer()
                    if self._trace:
                        self._trace(
                            FetcherFailed(
                                leader=self.fetcher.leader,
                                reason=f"{type(failure).__name__}: {failure}",
                            )
                        )
                    await self._pause(self._config.replica_fetch_backoff_ms)
                else:
                    if not busy:
                        await self._pause(self._config.replica_fetch_backoff_ms)
        finally:
            self._client.close()

    async def _step(self) -> bool:
        """Look up epochs, then fetch once. Return whether there was anything to do."""
        fetcher = self.fetcher
        fetcher.resume_delayed(self._now_ms())
        wanted = fetcher.epochs_wanted()
        if wanted:
            epochs = await self._ask(
                fetcher.epochs_request(wanted),
                self._versions.offset_for_leader_epoch,
                OffsetForLeaderEpochResponse,
            )
            fetcher.on_epochs(wanted, epochs, self._now_ms())
        request = fetcher.fetch_request(self._now_ms())
        if request is None:
            return bool(wanted)
        response = await self._ask(request, self._versions.fetch, FetchResponse)
        for tp, state in fetcher.on_fetch(response, self._now_ms(), self._time.milliseconds()):
            await self._offset_out_of_range(tp, state)
        return True

    def _now_ms(self) -> int:
        return self._time.hi_res_clock_ms()

    async def _pause(self, ms: int) -> None:
        """Pause for at most `ms`, or until the partitions change or a waiting one can be fetched
        again.
        """
        resume_ms = self.fetcher.next_resume_ms
        if resume_ms is not None:
            ms = min(ms, max(resume_ms - self._now_ms(), 1))
        self._work.clear()
        sleep = asyncio.ensure_future(self._time.sleep(ms))
        work = asyncio.ensure_future(self._work.wait())
        try:
            await asyncio.wait([sleep, work], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            work.cancel()

    async def _ask(self, request: Message, version: int, response_type: type[R]) -> R:
        """Connect if necessary, send the request, and wait for the response.

        Raises OSError, ProtocolError.
        """
        timeout_ms = self._config.replica_socket_timeout_ms
        if not self._client.connected:
            end_point = self._end_point()
            if end_point is None:
                raise ConnectionError(f"where broker {self.fetcher.leader} listens is not known")
            host, port = end_point
            await self._client.connect(host, port, timeout_ms)
            if self._trace:
                self._trace(
                    FetcherConnected(
                        leader=self.fetcher.leader,
                        host=host,
                        port=port,
                        local=self._client.local,
                    )
                )
        return await self._client.ask(request, version, response_type, timeout_ms)

    async def _offset_out_of_range(self, tp: TopicPartition, state: PartitionFetchState) -> None:
        """Find the offset at which to continue, because the leader does not have our fetch offset.

        First look up the leader's log end. If that does not lie before our log end, look up the
        leader's log start too.
        """
        try:
            end_offset = await self._leader_offset(tp, state, LATEST_TIMESTAMP)
            if end_offset is None or self.fetcher.on_leader_end_offset(tp, state, end_offset):
                return
            start_offset = await self._leader_offset(tp, state, EARLIEST_TIMESTAMP)
            if start_offset is not None:
                self.fetcher.on_leader_start_offset(tp, state, start_offset, self._now_ms())
        except KafkaException as failure:
            self.fetcher.on_storage_failed(tp, state, failure, self._now_ms())

    async def _leader_offset(
        self, tp: TopicPartition, state: PartitionFetchState, timestamp: int
    ) -> int | None:
        """Return the leader's first offset or log end, as `timestamp` says.

        None if the leader answered with an error (then the partition waits before its next fetch),
        or if the partition has got a new state object since the request.
        """
        request = self.fetcher.offsets_request(tp, state, timestamp)
        response = await self._ask(request, self._versions.list_offsets, ListOffsetsResponse)
        if not self.fetcher.is_current(tp, state):
            return None
        answer = (
            response.topics[0].partitions[0]
            if response.topics and response.topics[0].partitions
            else None
        )
        error = Errors.UNKNOWN_SERVER_ERROR if answer is None else Errors.of(answer.error_code)
        if answer is None or error is not Errors.NONE:
            self.fetcher.on_offsets_failed(tp, state, error, self._now_ms())
            return None
        return answer.offset
