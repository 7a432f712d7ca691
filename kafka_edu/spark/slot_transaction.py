"""The transaction of one slot in one micro-batch: its rows and the batch's number, or nothing.

    InitProducerId      ends what an earlier task of the slot left open, and fences that task
    OffsetFetch         the number that the slot committed last; not below batch id + 1: skip
    AddPartitionsToTxn  before the first record of each partition
    Produce …
    AddOffsetsToTxn, TxnOffsetCommit   batch id + 1, in the group of the slot
    EndTxn

The transactional id and the group have one name: the option's beginning, the id of the query (which
its checkpoint keeps), and the slot. A broker stores offsets of existing partitions alone. So the
number stands at the first partition that the slot wrote in the batch, and the highest one counts.

With the number, the transaction commits the run and the number of the task as text. A second task
that finds a slot committed by another task of the same run has found rows of one slot in two tasks.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
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
from kafka_edu.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from kafka_edu.spark.brokers import Refused
from kafka_edu.spark.produce_client import GROUP, TRANSACTION, ProduceClient, RecordWriter
from kafka_edu.spark.record_encoder import Producer, Rows
from kafka_edu.spark.source_errors import ClusterError, SinkDataError

_FENCED: Final = frozenset(
    {
        Errors.INVALID_PRODUCER_EPOCH,
        Errors.PRODUCER_FENCED,
        Errors.INVALID_PRODUCER_ID_MAPPING,
        Errors.INVALID_TXN_STATE,
    }
)


class BatchOfTask(NamedTuple):
    """The micro-batch and the task that write, as Spark names them."""

    query_id: str
    """The id that the checkpoint keeps over restarts."""
    batch_id: int
    run_id: str
    """The id of one start of the query."""
    task: int


class SlotTransaction:
    """One slot's rows of one micro-batch. It is skipped if they are committed already.

    Raises ClusterError when the coordinator does not agree or another producer took over, and
    SinkDataError when another task of this run committed the slot.
    """

    def __init__(self, client: ProduceClient, slot: str, batch: BatchOfTask) -> None:
        self._client = client
        self._slot = slot
        self._batch = batch
        self._name = f"{client.options.transactional_id}-{batch.query_id}-{slot}"
        self._added: dict[TopicPartition, None] = {}
        self._producer = self._init()
        self.is_committed = self._find_committed()
        self._writer = RecordWriter(client, self._producer, self._name)

    def append(self, tp: TopicPartition, rows: Rows) -> None:
        self._writer.append(tp, rows)

    def flush(self, partitions: Iterable[TopicPartition]) -> None:
        """Write what was appended. `partitions` are all that it may touch."""
        new = [tp for tp in dict.fromkeys(partitions) if tp not in self._added]
        try:
            if new:
                self._add_partitions(new)
            self._writer.flush()
        except Refused as refused:
            raise self._explained(refused) from None

    def commit(self) -> None:
        """Commit the rows together with the number of the batch."""
        if not self._added:
            return
        try:
            self._client.ask_coordinator(
                (TRANSACTION, self._name),
                AddOffsetsToTxnRequest(
                    transactional_id=self._name,
                    producer_id=self._producer.producer_id,
                    producer_epoch=self._producer.epoch,
                    group_id=self._name,
                ),
                AddOffsetsToTxnResponse,
                lambda answer: [answer.error_code],
            )
            self._commit_number(next(iter(self._added)))
            self._end(committed=True)
        except Refused as refused:
            raise self._explained(refused) from None

    def abort(self) -> None:
        """Abort what was written. Do nothing if that fails: the coordinator aborts it in time."""
        if self._added:
            try:
                self._end(committed=False)
            except (Refused, ClusterError):
                return

    def _init(self) -> Producer:
        try:
            answer = self._client.ask_coordinator(
                (TRANSACTION, self._name),
                InitProducerIdRequest(
                    transactional_id=self._name,
                    transaction_timeout_ms=self._client.options.transaction_timeout_ms,
                ),
                InitProducerIdResponse,
                lambda found: [found.error_code],
            )
        except Refused as refused:
            if refused.error is Errors.INVALID_TRANSACTION_TIMEOUT:
                raise ClusterError(
                    "option kafka.transaction.timeout.ms is"
                    f" {self._client.options.transaction_timeout_ms}: the brokers allow less"
                    " (transaction.max.timeout.ms), so lower it"
                ) from None
            raise self._explained(refused) from None
        return Producer(answer.producer_id, answer.producer_epoch, transactional=True)

    def _find_committed(self) -> bool:
        try:
            answer = self._client.ask_coordinator(
                (GROUP, self._name),
                OffsetFetchRequest(group_id=self._name, topics=None, require_stable=True),
                OffsetFetchResponse,
                lambda found: [
                    found.error_code,
                    *(one.error_code for topic in found.topics for one in topic.partitions),
                ],
            )
        except Refused as refused:
            raise self._explained(refused) from None
        numbers = [
            (one.committed_offset, one.metadata or "")
            for topic in answer.topics
            for one in topic.partitions
        ]
        number, stamp = max(numbers, default=(-1, ""))
        if number <= self._batch.batch_id:
            return False
        run, _, task = stamp.rpartition("/")
        if run == self._batch.run_id and task != str(self._batch.task):
            raise SinkDataError(
                f"slot {self._slot} has rows in tasks {task} and {self._batch.task} of batch"
                f" {self._batch.batch_id}: all rows of a slot must be in one task, so use by_slot"
                " as the last step"
            )
        return True

    def _add_partitions(self, new: list[TopicPartition]) -> None:
        topics: dict[str, list[int]] = {}
        for tp in new:
            topics.setdefault(tp.topic, []).append(tp.partition)
        self._client.ask_coordinator(
            (TRANSACTION, self._name),
            AddPartitionsToTxnRequest(
                transactional_id=self._name,
                producer_id=self._producer.producer_id,
                producer_epoch=self._producer.epoch,
                topics=[AddPartitionsToTxnTopic(name=n, partitions=p) for n, p in topics.items()],
            ),
            AddPartitionsToTxnResponse,
            lambda answer: [one.error_code for topic in answer.results for one in topic.results],
        )
        self._added.update(dict.fromkeys(new))

    def _commit_number(self, tp: TopicPartition) -> None:
        one = TxnOffsetCommitRequestPartition(
            partition_index=tp.partition,
            committed_offset=self._batch.batch_id + 1,
            committed_metadata=f"{self._batch.run_id}/{self._batch.task}",
        )
        self._client.ask_coordinator(
            (GROUP, self._name),
            TxnOffsetCommitRequest(
                transactional_id=self._name,
                group_id=self._name,
                producer_id=self._producer.producer_id,
                producer_epoch=self._producer.epoch,
                topics=[TxnOffsetCommitRequestTopic(name=tp.topic, partitions=[one])],
            ),
            TxnOffsetCommitResponse,
            lambda answer: [one.error_code for topic in answer.topics for one in topic.partitions],
        )

    def _end(self, *, committed: bool) -> None:
        self._client.ask_coordinator(
            (TRANSACTION, self._name),
            EndTxnRequest(
                transactional_id=self._name,
                producer_id=self._producer.producer_id,
                producer_epoch=self._producer.epoch,
                committed=committed,
            ),
            EndTxnResponse,
            lambda answer: [answer.error_code],
        )

    def _explained(self, refused: Refused) -> ClusterError:
        if refused.error in _FENCED:
            return ClusterError(
                f"slot {self._slot} lost its transaction ({refused.error.name}): another task"
                " writes the same slot, or the task took longer than kafka.transaction.timeout.ms."
                " Put all rows of a slot into one task (by_slot), or raise the time"
            )
        return ClusterError(f"slot {self._slot}: {refused}")
