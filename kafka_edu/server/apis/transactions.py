"""Requests of transactional producers to their coordinator, except InitProducerId and
TxnOffsetCommit (Kafka: KafkaApis.scala; KIP-98).

A producer with an old epoch gets PRODUCER_FENCED. Clients that send versions before v2 do not know
this error. They get INVALID_PRODUCER_EPOCH, as in Kafka before 2.7. TransactionCoordinator does the
work.
"""

from collections.abc import Callable, Iterable
from typing import Final

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic import GROUP_METADATA_TOPIC_NAME, INTERNAL_TOPICS
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.transaction_coordinator import (
    ProducerIdAndEpoch,
    Requester,
    TransactionCoordinator,
)
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_edu.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_edu.server.api_call import ApiCall
from kafka_edu.server.kafka_apis import KafkaApis

FIRST_VERSION_WITH_PRODUCER_FENCED: Final = 2


class TransactionsApi:
    def __init__(
        self,
        coordinator: TransactionCoordinator,
        cache: MetadataCache,
        group_partition_for: Callable[[str], int],
    ) -> None:
        """`group_partition_for` returns the number of the partition of `__consumer_offsets` in
        which a group is stored.
        """
        self._coordinator = coordinator
        self._cache = cache
        self._group_partition_for = group_partition_for

    def register(self, apis: KafkaApis) -> None:
        apis.serve(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            AddPartitionsToTxnRequest,
            self.handle_add_partitions,
            self._add_partitions_error,
        )
        apis.serve(
            ApiKey.ADD_OFFSETS_TO_TXN,
            AddOffsetsToTxnRequest,
            self.handle_add_offsets,
            self._add_offsets_error,
        )
        apis.serve(ApiKey.END_TXN, EndTxnRequest, self.handle_end_txn, self._end_txn_error)

    def handle_add_partitions(self, call: ApiCall, request: AddPartitionsToTxnRequest) -> None:
        """Add all partitions to the transaction, or none. If one partition cannot be added, the
        other partitions get OPERATION_NOT_ATTEMPTED. Partitions of internal topics cannot be added.
        """
        partitions = _partitions(request)
        refused = {}
        for tp in partitions:
            if tp.topic in INTERNAL_TOPICS:
                refused[tp] = Errors.TOPIC_AUTHORIZATION_FAILED
            elif not self._cache.contains(tp):
                refused[tp] = Errors.UNKNOWN_TOPIC_OR_PARTITION
        if refused:
            call.respond(
                _add_partitions_response(
                    partitions, lambda tp: refused.get(tp, Errors.OPERATION_NOT_ATTEMPTED)
                )
            )
            return

        def respond(error: Errors) -> None:
            known_error = _as_known_to(call.version, error)
            call.respond(_add_partitions_response(partitions, lambda _: known_error))

        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        self._coordinator.handle_add_partitions_to_transaction(
            request.transactional_id, producer, partitions, respond, _requester(call)
        )
        if not call.answered:
            call.waits()

    def handle_add_offsets(self, call: ApiCall, request: AddOffsetsToTxnRequest) -> None:
        """Add the partition of `__consumer_offsets` in which the group is stored to the
        transaction.
        """
        partition = TopicPartition(
            GROUP_METADATA_TOPIC_NAME, self._group_partition_for(request.group_id)
        )
        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        self._coordinator.handle_add_partitions_to_transaction(
            request.transactional_id,
            producer,
            [partition],
            lambda error: call.respond(
                AddOffsetsToTxnResponse(error_code=_as_known_to(call.version, error))
            ),
            _requester(call),
        )
        if not call.answered:
            call.waits()

    def handle_end_txn(self, call: ApiCall, request: EndTxnRequest) -> None:
        """Commit or abort the transaction. The response is sent when the decision is in the
        coordinator's log. The markers are written after that.
        """
        producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
        self._coordinator.handle_end_transaction(
            request.transactional_id,
            producer,
            request.committed,
            lambda error: call.respond(
                EndTxnResponse(error_code=_as_known_to(call.version, error))
            ),
            _requester(call),
        )
        if not call.answered:
            call.waits()

    @staticmethod
    def _add_partitions_error(
        request: AddPartitionsToTxnRequest, _: int, error: Errors, __: str
    ) -> AddPartitionsToTxnResponse:
        return _add_partitions_response(_partitions(request), lambda _: error)

    @staticmethod
    def _add_offsets_error(
        _: AddOffsetsToTxnRequest, __: int, error: Errors, ___: str
    ) -> AddOffsetsToTxnResponse:
        return AddOffsetsToTxnResponse(error_code=error)

    @staticmethod
    def _end_txn_error(_: EndTxnRequest, __: int, error: Errors, ___: str) -> EndTxnResponse:
        return EndTxnResponse(error_code=error)


def _requester(call: ApiCall) -> Requester:
    return Requester(call.client_id, call.request.connection_id)


def _as_known_to(version: int, error: Errors) -> Errors:
    fenced = error is Errors.PRODUCER_FENCED and version < FIRST_VERSION_WITH_PRODUCER_FENCED
    return Errors.INVALID_PRODUCER_EPOCH if fenced else error


def _partitions(request: AddPartitionsToTxnRequest) -> list[TopicPartition]:
    """Return the partitions in the order of the request, without duplicates."""
    return list(
        dict.fromkeys(
            TopicPartition(topic.name, p) for topic in request.topics for p in topic.partitions
        )
    )


def _add_partitions_response(
    partitions: Iterable[TopicPartition], error_of: Callable[[TopicPartition], Errors]
) -> AddPartitionsToTxnResponse:
    topics: dict[str, AddPartitionsToTxnTopicResult] = {}
    for tp in partitions:
        topic = topics.setdefault(
            tp.topic, AddPartitionsToTxnTopicResult(name=tp.topic, results=[])
        )
        topic.results.append(
            AddPartitionsToTxnPartitionResult(partition_index=tp.partition, error_code=error_of(tp))
        )
    return AddPartitionsToTxnResponse(results=list(topics.values()))
