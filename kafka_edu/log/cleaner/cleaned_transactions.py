"""Follow the transactions during one cleaning pass over a log (Kafka: CleanedTransactionMetadata in
LogCleaner.scala; KIP-98).

Records of an aborted transaction are dropped at once. The marker of a transaction, aborted or
committed, shows readers that the transaction has ended. So it is kept until none of the
transaction's batches are left, and a later pass drops it together with the tombstones of the same
age.
"""

from collections.abc import Iterable

from kafka_edu.common.files import Buffer
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.record.control_record import ControlRecordType, read_end_transaction_marker
from kafka_edu.record.record_batch import BatchHeader


class CleanedTransactions:
    """The transactions of one cleaning pass. The methods must be called with the batches in offset
    order.
    """

    def __init__(self) -> None:
        self._ahead: list[AbortedTxn] = []
        """Aborted transactions that begin after the batches processed so far, the last one
        first.
        """
        self._aborted: dict[int, AbortedTxn] = {}
        self._has_batches: set[int] = set()
        """The ids of producers whose present aborted transaction had a batch in this pass."""
        self._committed: set[int] = set()
        self._kept: list[AbortedTxn] = []

    def add(self, aborted: Iterable[AbortedTxn]) -> None:
        """Add aborted transactions, before any of their batches is processed."""
        known = set(self._ahead)
        self._ahead += [one for one in aborted if one not in known]
        self._ahead.sort(key=lambda one: one.first_offset, reverse=True)

    def _begin(self, last_offset: int) -> None:
        while self._ahead and self._ahead[-1].first_offset <= last_offset:
            one = self._ahead.pop()
            if one.producer_id not in self._aborted:
                self._aborted[one.producer_id] = one
                self._has_batches.discard(one.producer_id)

    def is_aborted(self, header: BatchHeader) -> bool:
        """Process a data batch. Return whether its records belong to an aborted transaction."""
        self._begin(header.last_offset)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._has_batches.add(header.producer_id)
            return True
        self._committed.add(header.producer_id)
        return False

    def is_over(self, header: BatchHeader, batch: Buffer) -> bool:
        """Process a control batch. Return whether no batch of its transaction is left.

        If none is left, the marker may be dropped.
        """
        self._begin(header.last_offset)
        marker = read_end_transaction_marker(batch)
        if marker is None:  # an earlier pass has removed its records
            return True
        producer_id = header.producer_id
        if marker.type is ControlRecordType.COMMIT:
            had_batches = producer_id in self._committed
            self._committed.discard(producer_id)
            return not had_batches
        aborted = self._aborted.pop(producer_id, None)
        if aborted is not None and producer_id in self._has_batches:
            self._has_batches.discard(producer_id)
            self._kept.append(aborted)
            return False
        return True

    def take_kept(self) -> list[AbortedTxn]:
        """Return the aborted transactions whose markers were kept since the last call.

        These transactions become the transaction index of the cleaned segment.
        """
        kept, self._kept = self._kept, []
        return kept
