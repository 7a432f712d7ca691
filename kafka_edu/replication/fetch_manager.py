"""What one fetch request means in its session (Kafka: FetchManager and the FetchContexts in
FetchSession.scala; KIP-227).

    session id, epoch      context         reads                  the answer names
    any,  -1               sessionless     what is named          all
    any,   0               full            what is named          all; opens a session, if there is
    a slot
    known, the next one    incremental     all of the session     what is new
    known, another one     error           -                      INVALID_FETCH_SESSION_EPOCH; the
    epoch is not used up
    unknown, > 0           error           -                      FETCH_SESSION_ID_NOT_FOUND

A full or sessionless fetch closes the session that it names. A session whose last partition is
forgotten ends.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchablePartitionResponse,
    FetchableTopicResponse,
    FetchResponse,
)
from kafka_edu.replication.fetch_params import FetchInfos, PartitionFetch
from kafka_edu.replication.fetch_session import CachedPartition, FetchSession
from kafka_edu.replication.fetch_session_cache import FetchSessionCache
from kafka_edu.replication.fetch_session_handler import (
    FINAL_EPOCH,
    INITIAL_EPOCH,
    NO_SESSION,
    next_epoch,
)
from kafka_edu.replication.log_read_result import FetchResults


class FetchContext(Protocol):
    """One fetch request, seen through its session."""

    @property
    def error(self) -> Errors:
        """An error of the session: nothing is to be read."""
        ...

    @property
    def session(self) -> FetchSession | None:
        """The session, where all of it is read though not all is named."""
        ...

    def infos(self) -> FetchInfos:
        """What is to be looked at now, in order."""
        ...

    def response(self, results: FetchResults, now_ms: int) -> FetchResponse:
        """The answer, from the results of all `infos`; called once."""
        ...


class SessionErrorContext:
    """The session is not there, or its epoch is another."""

    session: Final = None

    def __init__(self, error: Errors) -> None:
        self.error: Final = error

    def infos(self) -> FetchInfos:
        return ()

    def response(self, results: FetchResults, now_ms: int) -> FetchResponse:
        return FetchResponse(error_code=self.error, session_id=NO_SESSION, responses=[])


class SessionlessFetchContext:
    """All is named, nothing is remembered."""

    error: Final = Errors.NONE
    session: Final = None

    def __init__(self, fetch_data: Mapping[TopicPartition, PartitionFetch]) -> None:
        self._fetch_data = fetch_data

    def infos(self) -> FetchInfos:
        return list(self._fetch_data.items())

    def response(self, results: FetchResults, now_ms: int) -> FetchResponse:
        return fetch_response(NO_SESSION, results)


class FullFetchContext:
    """All is named, and remembered from the answer on, if there is a slot."""

    error: Final = Errors.NONE
    session: Final = None

    def __init__(
        self,
        cache: FetchSessionCache,
        fetch_data: Mapping[TopicPartition, PartitionFetch],
        from_follower: bool,
    ) -> None:
        self._cache = cache
        self._fetch_data = fetch_data
        self._from_follower = from_follower

    def infos(self) -> FetchInfos:
        return list(self._fetch_data.items())

    def response(self, results: FetchResults, now_ms: int) -> FetchResponse:
        def told() -> dict[TopicPartition, CachedPartition]:
            return {
                tp: CachedPartition(
                    self._fetch_data[tp], read.high_watermark, read.log_start_offset
                )
                for tp, read in results
            }

        session_id = self._cache.maybe_create_session(
            now_ms, self._from_follower, len(results), told
        )
        return fetch_response(session_id, results)


class IncrementalFetchContext:
    """Only what changed is named; all of the session is read; only what is new is told."""

    error: Final = Errors.NONE

    def __init__(self, session: FetchSession, epoch: int) -> None:
        self.session: Final = session
        self._next_epoch = next_epoch(epoch)

    def infos(self) -> FetchInfos:
        return self.session.infos()

    def response(self, results: FetchResults, now_ms: int) -> FetchResponse:
        """INVALID_FETCH_SESSION_EPOCH if another fetch of the session came while this one
        waited.
        """
        session = self.session
        if session.epoch != self._next_epoch:
            return FetchResponse(
                error_code=Errors.INVALID_FETCH_SESSION_EPOCH,
                session_id=session.session_id,
                responses=[],
            )
        return fetch_response(session.session_id, session.take_news(results))


class FetchManager:
    """Makes the context of each fetch. Owned by the broker's loop."""

    def __init__(self, cache: FetchSessionCache) -> None:
        self.cache = cache

    def new_context(
        self,
        session_id: int,
        session_epoch: int,
        fetch_data: Mapping[TopicPartition, PartitionFetch],
        to_forget: Sequence[TopicPartition],
        *,
        from_follower: bool,
        now_ms: int,
    ) -> FetchContext:
        """See the table above. Versions below 7 know no sessions: give them epoch -1. O(partitions
        named).
        """
        if session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self.cache.remove(session_id, "closed by its owner")
            if session_epoch == FINAL_EPOCH:
                return SessionlessFetchContext(fetch_data)
            return FullFetchContext(self.cache, fetch_data, from_follower)
        session = self.cache.get(session_id)
        if session is None:
            return SessionErrorContext(Errors.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != session_epoch:
            return SessionErrorContext(Errors.INVALID_FETCH_SESSION_EPOCH)
        session.update(fetch_data, to_forget)
        if not session.partitions:
            self.cache.remove(session_id, "its last partition was forgotten")
            return SessionlessFetchContext(fetch_data)
        self.cache.touch(session, now_ms)
        session.epoch = next_epoch(session.epoch)
        return IncrementalFetchContext(session, session_epoch)


def fetch_response(session_id: int, results: FetchResults) -> FetchResponse:
    """The results as they go on the wire, by topic. `records` are passed on as they are.
    O(partitions).
    """
    topics: dict[str, FetchableTopicResponse] = {}
    for tp, read in results:
        topic = topics.get(tp.topic)
        if topic is None:
            topic = topics[tp.topic] = FetchableTopicResponse(
                topic=tp.topic, partition_responses=[]
            )
        partition = FetchablePartitionResponse(
            partition=tp.partition,
            error_code=read.error,
            high_watermark=read.high_watermark,
            last_stable_offset=read.last_stable_offset,
            log_start_offset=read.log_start_offset,
            aborted_transactions=(
                None
                if read.aborted_transactions is None
                else [
                    AbortedTransaction(
                        producer_id=aborted.producer_id, first_offset=aborted.first_offset
                    )
                    for aborted in read.aborted_transactions
                ]
            ),
            record_set=read.records,
        )
        if read.diverging_epoch is not None:
            partition.diverging_epoch = EpochEndOffset(
                epoch=read.diverging_epoch.epoch, end_offset=read.diverging_epoch.end_offset
            )
        topic.partition_responses.append(partition)
    return FetchResponse(session_id=session_id, responses=list(topics.values()))
