"""The calls of a transactional producer, and the requests that they send to the coordinators.

(Kafka: TransactionManager.java, with its handlers; KIP-98, KIP-360, KIP-447.)

    init_transactions   FindCoordinator, InitProducerId   the producer's id and epoch
    begin_transaction   nothing                           the state only
    send                AddPartitionsToTxn                once for each partition, before its first
                                                          batch is sent
    send_offsets        AddOffsetsToTxn, FindCoordinator, the second is the group's coordinator
                        TxnOffsetCommit
    commit, abort       EndTxn                            when no batch is left
    after an abort      InitProducerId                    if the epoch must be raised

A call that waits gets a `TransactionalResult`. Only one request is in flight at a time, and there
is no queue. The state decides which request is next: first FindCoordinator if the coordinator is
unknown, then the requests for the producer's id, the partitions, the offsets, and the end.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.client_errors import (
    ClientException,
    IllegalStateException,
    ProducerClosedException,
    TransactionAbortedException,
    UnsupportedVersionException,
)
from kafka_edu.clients.consumer.assignors import by_topic
from kafka_edu.clients.consumer.group_metadata import ConsumerGroupMetadata
from kafka_edu.clients.consumer.group_offsets import CommitFailedException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.coordinator_link import CoordinatorLink, CoordinatorType
from kafka_edu.clients.metadata import NEVER, Metadata
from kafka_edu.clients.producer.producer_config import ProducerConfig
from kafka_edu.clients.producer.producer_state import ACCEPTED_IN, Call, State
from kafka_edu.clients.producer.transaction_manager import TransactionManager
from kafka_edu.clients.producer.transactional_answers import Verdict, verdict_of
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_edu.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.trace.events.producer import OffsetsAddedToTransaction
from kafka_edu.trace.tracer import Tracer

FIRST_RETRY_BACKOFF_MS: Final = 20
"""The back-off while the previous transaction is still being completed (Kafka:
ADD_PARTITIONS_RETRY_BACKOFF_MS).
"""
_FIRST_WITH_EPOCH: Final = 3
"""The first version of InitProducerId that raises a given epoch."""
_FIRST_WITH_MEMBER: Final = 3
"""The first version of TxnOffsetCommit with a consumer's membership."""


class TransactionalResult:
    """The end of one call (Kafka: TransactionalRequestResult.java)."""

    __slots__ = ("call", "done", "error", "listeners")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.done = False
        self.error: KafkaException | None = None
        self.listeners: list[Callable[[], None]] = []
        """Each is called once, when the call has ended."""

    def finish(self, error: KafkaException | None = None) -> None:
        """End the call. Calling this again does nothing."""
        if self.done:
            return
        self.done, self.error = True, error
        listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener()


class _Offsets:
    """One call of send_offsets_to_transaction."""

    __slots__ = ("added", "all", "group", "is_sent", "left", "result")

    def __init__(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        self.all = dict(offsets)
        self.left = dict(offsets)
        """The offsets that the group's coordinator has not stored yet."""
        self.group = group
        self.is_sent = False
        """Whether AddOffsetsToTxn was sent, so the coordinator may have carried it out."""
        self.added = False
        self.result = TransactionalResult(Call.SEND_OFFSETS)


class _Step(StrEnum):
    """The next request."""

    INIT_PRODUCER_ID = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    END = "EndTxn"


class Transactions:
    """The open transaction and the calls that wait. The sender owns it.

    `connections` are the producer's connections, which are also used for FindCoordinator.
    `own_connections` go only to the coordinators, and `own_metadata` has the coordinators'
    addresses.
    """

    def __init__(
        self,
        config: ProducerConfig,
        manager: TransactionManager,
        connections: ClientConnections,
        own_metadata: Metadata,
        own_connections: ClientConnections,
        trace: Tracer | None = None,
    ) -> None:
        assert config.transactional_id is not None
        self._config = config
        self._id = config.transactional_id
        self._manager = manager
        self._producer = manager.producer
        self._connections = connections
        self._own_metadata = own_metadata
        self._own = own_connections
        self._trace = trace
        self._link = self._link_to(self._id, CoordinatorType.TRANSACTION)
        self._groups: dict[str, CoordinatorLink] = {}
        """Group → the link to its coordinator."""
        self._result: TransactionalResult | None = None
        """The last call of init, commit or abort. None after the program has got its result."""
        self._new: dict[TopicPartition, None] = {}
        """Partitions with records that the coordinator does not know yet."""
        self._adding: dict[TopicPartition, None] = {}
        """Partitions in an AddPartitionsToTxn that the coordinator may have carried out."""
        self._offsets: list[_Offsets] = []
        self._started = False
        """Whether the coordinator knows a part of the transaction, so that it needs EndTxn."""
        self._in_flight = False
        self._again_ms = -NEVER

    def _link_to(self, key: str, key_type: CoordinatorType) -> CoordinatorLink:
        return CoordinatorLink(
            self._config.client_id,
            key,
            key_type,
            self._config.retry_backoff_ms,
            self._connections,
            self._own_metadata,
            self._own,
            self._trace,
        )

    def _begin_call(self, call: Call, state: State, reason: str) -> TransactionalResult:
        """Enter the state of a call. If the same call timed out before, continue it."""
        result = self._result
        if result is not None and result.call is call:
            return result
        self._producer.check(call)
        self._producer.enter(state, reason)
        self._result = result = TransactionalResult(call)
        self._again_ms = -NEVER
        return result

    def taken(self, result: TransactionalResult) -> None:
        """Record that the program has got the result of a call."""
        if self._result is result:
            self._result = None

    def init(self) -> TransactionalResult:
        """Get the producer's id and epoch. All older producers with the same transactional id are
        fenced.
        """
        return self._begin_call(Call.INIT_TRANSACTIONS, State.INITIALIZING, "init_transactions()")

    def begin(self) -> None:
        """Begin a transaction."""
        self._producer.check(Call.BEGIN_TRANSACTION)
        self._producer.enter(State.IN_TRANSACTION, "begin_transaction()")
        self._result = None

    def check_send(self) -> None:
        """Raise an error if no record may be sent now. O(1)."""
        self._producer.check(Call.SEND)

    def send_failed(self, error: ClientException) -> None:
        """Record that a record of the transaction could not be put into a batch. Without this
        record, the transaction must not be committed.
        """
        if self._producer.state is State.IN_TRANSACTION:
            self._manager.abortable(error)

    def add_partition(self, tp: TopicPartition) -> None:
        """Record that the transaction has a batch for this partition. O(1)."""
        if self._manager.may_be_added(tp) and tp not in self._adding:
            self._new[tp] = None

    def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> TransactionalResult:
        """Add a group's offsets to the transaction. They are stored when the transaction is
        committed.
        """
        self._producer.check(Call.SEND_OFFSETS)
        if not group.group_id:
            raise IllegalStateException("The group has no name.", "Give the consumer a group.id.")
        call = _Offsets(offsets, group)
        if offsets:
            self._offsets.append(call)
        else:
            call.result.finish()
        return call.result

    def commit(self) -> TransactionalResult:
        """Commit the transaction as soon as all records are stored."""
        return self._begin_call(
            Call.COMMIT_TRANSACTION, State.COMMITTING_TRANSACTION, "commit_transaction()"
        )

    def abort(self) -> TransactionalResult:
        """Abort the transaction. Partitions and offsets that the coordinator does not know are
        dropped.
        """
        result = self._begin_call(
            Call.ABORT_TRANSACTION, State.ABORTING_TRANSACTION, "abort_transaction()"
        )
        self._new.clear()
        for call in self._offsets:
            call.result.finish(TransactionAbortedException())
        self._offsets = [call for call in self._offsets if call.is_sent]
        return result

    @property
    def may_be_aborted(self) -> bool:
        """Return whether `abort` is accepted now."""
        return self._producer.state in ACCEPTED_IN[Call.ABORT_TRANSACTION]

    @property
    def is_open(self) -> bool:
        """Return whether a transaction has begun and has not ended."""
        return self._producer.is_open

    def end_open(self) -> TransactionalResult:
        """End the open transaction, because the producer closes. A commit in progress is completed.
        Otherwise the transaction is aborted.
        """
        if self._producer.state is State.COMMITTING_TRANSACTION:
            return self.commit()
        return self.abort()

    def run(self, now: float, batches_left: bool) -> None:
        """Send the next request if it can be sent. `batches_left` says whether some batches have no
        outcome yet.
        """
        self._own.poll(now)
        self._end_failed_calls()
        if self._in_flight:
            return
        step = self._next_step(batches_left)
        if step is None:
            return
        link = self._link_of(step)
        link.run(now)
        if link.error is not None:
            error, link.error = link.error, None
            if link is self._link:
                self._manager.fail(error)
            else:
                self._manager.abortable(error)
        elif now >= self._again_ms and link.ready(now):
            self._send(step, link, now)
        self._end_failed_calls()

    def next_run_ms(self, now: float) -> float:
        """Return the ms until `run` must be called next; NEVER if nothing is planned."""
        due = min(link.next_run_ms(now) for link in (self._link, *self._groups.values()))
        return min(due, self._again_ms - now) if self._again_ms > now else due

    def _next_step(self, batches_left: bool) -> _Step | None:
        state = self._producer.state
        if state is State.INITIALIZING:
            return _Step.INIT_PRODUCER_ID
        if not self._producer.is_open:
            return None
        if self._adding or (self._new and state is not State.ABORTABLE_ERROR):
            return _Step.ADD_PARTITIONS
        if self._offsets:
            return _Step.COMMIT_OFFSETS if self._offsets[0].added else _Step.ADD_OFFSETS
        if self._producer.is_ending and not batches_left:
            if self._started:
                return _Step.END
            self._ended("the coordinator has no part of the transaction")
            return self._next_step(batches_left)
        return None

    def _link_of(self, step: _Step) -> CoordinatorLink:
        if step is not _Step.COMMIT_OFFSETS:
            return self._link
        group = self._offsets[0].group.group_id
        link = self._groups.get(group)
        if link is None:
            link = self._groups[group] = self._link_to(group, CoordinatorType.GROUP)
        return link

    def _end_failed_calls(self) -> None:
        """End the calls that cannot succeed any more because of an error."""
        if not self._producer.in_error:
            return
        error = self._producer.error
        if self._result is not None:
            self._result.finish(error)
        for call in self._offsets:
            call.result.finish(error)
        if self._producer.is_fatal:
            self._offsets, self._new, self._adding = [], {}, {}
        else:
            self._offsets = [call for call in self._offsets if call.is_sent]

    def _send(self, step: _Step, link: CoordinatorLink, now: float) -> None:
        match step:
            case _Step.INIT_PRODUCER_ID:
                self._send_init(link, now)
            case _Step.ADD_PARTITIONS:
                self._send_add_partitions(link, now)
            case _Step.ADD_OFFSETS:
                self._send_add_offsets(link, now)
            case _Step.COMMIT_OFFSETS:
                self._send_commit_offsets(link, now)
            case _Step.END:
                self._send_end(link, now)

    def _ask(
        self,
        link: CoordinatorLink,
        request: Message,
        version: int,
        now: float,
        on_answer: Callable[[Message | None, float], None],
    ) -> None:
        """Send a request to a coordinator. The version -1 means that the coordinator does not
        support the request.
        """
        if version < 0:
            self._manager.fail(
                UnsupportedVersionException(
                    f"Broker {link.node} does not know {type(request).__name__}.",
                    "Use a broker from 0.11 on.",
                )
            )
            return
        self._in_flight = True

        def answered(answer: Message | None, at: float) -> None:
            self._in_flight = False
            if not self._producer.is_fatal:
                on_answer(answer, at)
            self._end_failed_calls()

        link.send(request, version, now, answered)

    def _refused(
        self, link: CoordinatorLink, request: ApiKey, error: Errors, now: float
    ) -> Verdict:
        """Do what an error answer demands, for example retry, or abort the transaction. Return the
        verdict, which says what was done.
        """
        verdict = verdict_of(request, error)
        failure: ClientException = link.refused(error)
        match verdict:
            case Verdict.RETRY:
                self._again_ms = now + self._config.retry_backoff_ms
            case Verdict.MOVED:
                link.lost(f"{request.name} was answered with {error.name}", now)
            case Verdict.ABORTABLE:
                if error in (Errors.UNKNOWN_MEMBER_ID, Errors.ILLEGAL_GENERATION):
                    failure = CommitFailedException(error)
                self._manager.abortable(failure)
            case Verdict.NEW_EPOCH:
                self._manager.abortable(failure, bump_epoch=True)
            case Verdict.FENCED:
                self._manager.fenced()
            case Verdict.FATAL:
                self._manager.fail(failure)
        return verdict

    def _send_init(self, link: CoordinatorLink, now: float) -> None:
        version = link.version(ApiKey.INIT_PRODUCER_ID)
        self._manager.can_bump_epoch = version >= _FIRST_WITH_EPOCH
        producer_id, epoch = self._producer.identity
        request = InitProducerIdRequest(
            transactional_id=self._id, transaction_timeout_ms=self._config.transaction_timeout_ms
        )
        if self._manager.can_bump_epoch:
            request.producer_id, request.producer_epoch = producer_id, epoch
        self._ask(link, request, version, now, lambda a, at: self._on_init(link, a, at))

    def _on_init(self, link: CoordinatorLink, answer: Message | None, now: float) -> None:
        if isinstance(answer, InitProducerIdResponse):
            error = Errors.of(answer.error_code)
            if error is Errors.NONE:
                self._manager.init_done(answer.producer_id, answer.producer_epoch)
                self._finish_call()
                return
        else:
            error = Errors.NETWORK_EXCEPTION
        self._refused(link, ApiKey.INIT_PRODUCER_ID, error, now)

    def _finish_call(self) -> None:
        if self._result is not None:
            self._result.finish()

    def _send_add_partitions(self, link: CoordinatorLink, now: float) -> None:
        if not self._adding:
            self._adding, self._new = self._new, {}
        producer_id, epoch = self._producer.identity
        request = AddPartitionsToTxnRequest(
            transactional_id=self._id,
            producer_id=producer_id,
            producer_epoch=epoch,
            topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))
                for topic, partitions in by_topic(list(self._adding)).items()
            ],
        )
        version = link.version(ApiKey.ADD_PARTITIONS_TO_TXN)
        self._ask(link, request, version, now, lambda a, at: self._on_partitions(link, a, at))

    def _on_partitions(self, link: CoordinatorLink, answer: Message | None, now: float) -> None:
        request = ApiKey.ADD_PARTITIONS_TO_TXN
        if not isinstance(answer, AddPartitionsToTxnResponse):
            self._refused(link, request, Errors.NETWORK_EXCEPTION, now)
            return
        found = [
            (TopicPartition(topic.name, each.partition_index), Errors.of(each.error_code))
            for topic in answer.results
            for each in topic.results
        ]
        errors = [error for _, error in found if error is not Errors.NONE]
        if not errors:
            self._started = True
            self._manager.partitions_added(tp for tp, _ in found)
            self._adding = {}
            return
        # If there are several errors, prefer one that is not OPERATION_NOT_ATTEMPTED.
        error = next((e for e in errors if e is not Errors.OPERATION_NOT_ATTEMPTED), errors[0])
        verdict = self._refused(link, request, error, now)
        refused, self._adding = self._adding, {}
        if verdict in (Verdict.RETRY, Verdict.MOVED):
            if self._producer.state is not State.ABORTING_TRANSACTION:
                self._new = refused | self._new
            if error is Errors.CONCURRENT_TRANSACTIONS and not self._manager.has_partitions:
                backoff = min(self._config.retry_backoff_ms, FIRST_RETRY_BACKOFF_MS)
                self._again_ms = now + backoff

    def _send_add_offsets(self, link: CoordinatorLink, now: float) -> None:
        call = self._offsets[0]
        call.is_sent = True
        producer_id, epoch = self._producer.identity
        request = AddOffsetsToTxnRequest(
            transactional_id=self._id,
            producer_id=producer_id,
            producer_epoch=epoch,
            group_id=call.group.group_id,
        )
        version = link.version(ApiKey.ADD_OFFSETS_TO_TXN)
        self._ask(link, request, version, now, lambda a, at: self._on_group(call, link, a, at))

    def _on_group(
        self, call: _Offsets, link: CoordinatorLink, answer: Message | None, now: float
    ) -> None:
        if not isinstance(answer, AddOffsetsToTxnResponse):
            self._refused(link, ApiKey.ADD_OFFSETS_TO_TXN, Errors.NETWORK_EXCEPTION, now)
            return
        call.is_sent = False
        error = Errors.of(answer.error_code)
        if error is Errors.NONE:
            call.added = self._started = True
        else:
            self._refused(link, ApiKey.ADD_OFFSETS_TO_TXN, error, now)
        # The transaction is aborted: only the group's coordinator is still needed.
        if call.result.done:
            self._offsets.remove(call)

    def _send_commit_offsets(self, link: CoordinatorLink, now: float) -> None:
        call = self._offsets[0]
        version = link.version(ApiKey.TXN_OFFSET_COMMIT)
        group = call.group
        if version < _FIRST_WITH_MEMBER and group.names_a_member:
            if not self._config.auto_downgrade_txn_commit:
                self._manager.fail(
                    UnsupportedVersionException(
                        f"Broker {link.node} does not take a consumer's membership with offsets.",
                        "Give send_offsets_to_transaction() only the group's name, use a broker"
                        " from 2.5 on, or set internal.auto.downgrade.txn.commit.",
                    )
                )
                return
            group = ConsumerGroupMetadata(group.group_id)
        producer_id, epoch = self._producer.identity
        request = TxnOffsetCommitRequest(
            transactional_id=self._id,
            group_id=group.group_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            generation_id=group.generation_id,
            member_id=group.member_id,
            group_instance_id=group.group_instance_id,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        _offset_of(partition, call.left[TopicPartition(topic, partition)])
                        for partition in partitions
                    ],
                )
                for topic, partitions in by_topic(list(call.left)).items()
            ],
        )
        self._ask(link, request, version, now, lambda a, at: self._on_offsets(call, link, a, at))

    def _on_offsets(
        self, call: _Offsets, link: CoordinatorLink, answer: Message | None, now: float
    ) -> None:
        request = ApiKey.TXN_OFFSET_COMMIT
        if call.result.done:  # the transaction is aborted
            return
        if not isinstance(answer, TxnOffsetCommitResponse):
            self._refused(link, request, Errors.NETWORK_EXCEPTION, now)
            return
        errors: set[Errors] = set()
        for topic in answer.topics:
            for each in topic.partitions:
                if each.error_code:
                    errors.add(Errors.of(each.error_code))
                else:
                    call.left.pop(TopicPartition(topic.name, each.partition_index), None)
        for error in sorted(errors):
            if self._producer.state in (State.IN_TRANSACTION, State.COMMITTING_TRANSACTION):
                self._refused(link, request, error, now)
        if errors:
            return
        self._offsets.remove(call)
        if self._trace:
            self._trace(
                OffsetsAddedToTransaction(
                    client=self._config.client_id,
                    transactional_id=self._id,
                    group=call.group.group_id,
                    offsets=tuple((str(tp), each.offset) for tp, each in call.all.items()),
                )
            )
        call.result.finish()

    def _send_end(self, link: CoordinatorLink, now: float) -> None:
        producer_id, epoch = self._producer.identity
        request = EndTxnRequest(
            transactional_id=self._id,
            producer_id=producer_id,
            producer_epoch=epoch,
            committed=self._producer.state is State.COMMITTING_TRANSACTION,
        )
        version = link.version(ApiKey.END_TXN)
        self._ask(link, request, version, now, lambda a, at: self._on_end(link, a, at))

    def _on_end(self, link: CoordinatorLink, answer: Message | None, now: float) -> None:
        if not isinstance(answer, EndTxnResponse):
            self._refused(link, ApiKey.END_TXN, Errors.NETWORK_EXCEPTION, now)
            return
        error = Errors.of(answer.error_code)
        if error is Errors.NONE:
            self._ended("EndTxn was answered")
            return
        verdict = self._refused(link, ApiKey.END_TXN, error, now)
        if verdict is Verdict.NEW_EPOCH and self._producer.state is State.ABORTING_TRANSACTION:
            self._ended(f"EndTxn was answered with {error.name}")

    def _ended(self, reason: str) -> None:
        """End the transaction. If the epoch must be raised, InitProducerId follows."""
        self._started = False
        self._new.clear()
        self._adding.clear()
        self._offsets.clear()
        self._manager.transaction_ended(reason)
        if self._producer.state is State.READY:
            self._finish_call()

    def close(self, now: float) -> None:
        """Close the connections to the coordinators, and end the waiting calls."""
        self._own.close_all("the producer was closed", now)
        waiting = [call.result for call in self._offsets]
        for result in (*waiting, *([] if self._result is None else [self._result])):
            result.finish(
                ProducerClosedException(
                    f"The producer was closed during {result.call}().",
                    "Create a new producer. Its init_transactions() ends the transaction.",
                )
            )


def _offset_of(partition: int, offset: OffsetAndMetadata) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=partition,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )
