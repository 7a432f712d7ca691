"""Write one slot of one micro-batch in a transaction. Either all its rows and the batch's number
are written, or nothing. These requests are sent, in this order:

    InitProducerId      ends an open transaction of an earlier task of the slot, and fences it
    OffsetFetch         reads the number that the slot committed last; if it is at least
                        batch id + 1, the slot is skipped
    AddPartitionsToTxn  before the first record of each partition
    Produce             sends the records
    AddOffsetsToTxn, TxnOffsetCommit   commit batch id + 1 as an offset in the slot's group
    EndTxn              commits the transaction

The transactional id and the group have the same name. It consists of the text in the option, the id
of the query (which its checkpoint keeps), and the slot. A broker stores offsets only for existing
partitions. So the batch's number is stored for the first partition to which the slot wrote in this
batch. If several partitions have a number, the highest one counts.

Together with this number, the transaction stores a text with the run and the number of the task. If
a task finds that another task of the same run has committed the slot, this is an error: two tasks
had rows of one slot.
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
    """The micro-batch and the task that write, with Spark's names and numbers."""

    query_id: str
    """The query's id, which the checkpoint keeps when the query is restarted."""
    batch_id: int
    run_id: str
    """The id of one start of the query. Each restart gets a new id."""
    task: int


class SlotTransaction:
    """Writes the rows of one slot of one micro-batch. If an earlier attempt has committed them,
    `is_committed` is True.

    Its methods raise ClusterError if the coordinator refuses a request or another producer has
    taken over. They raise SinkDataError if another task of this run has committed the slot.
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
        """Send the appended rows to the brokers. `partitions` must contain all partitions of these
        rows.
        """
        new = [tp for tp in dict.fromkeys(partitions) if tp not in self._added]
        try:
            if new:
                self._add_partitions(new)
            self._writer.flush()
        except Refused as refused:
            raise self._explained(refused) from None

    def commit(self) -> None:
        """Commit the rows together with the number of the batch, in one transaction."""
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
        """Abort the transaction. If that fails, do nothing: the coordinator aborts it after its
        time-out.
        """
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
