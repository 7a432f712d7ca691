"""Sentences for the events of transactions."""

from kafka_edu.common.words import duration, joined, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import quiet
from kafka_edu.trace.events import transaction


@sentence.register
def last_stable_offset_moved(e: transaction.LastStableOffsetMoved) -> Sentence:
    return quiet(
        "last stable offset of",
        f"{e.topic}-{e.partition}",
        f"{e.from_offset:,} → {e.to_offset:,}",
        exact=(
            f"read_committed readers may read {e.topic}-{e.partition} up to {e.to_offset:,}"
            f" (before: {e.from_offset:,}; HW {e.high_watermark:,})"
        ),
    )


@sentence.register
def aborted_transaction_indexed(e: transaction.AbortedTransactionIndexed) -> Sentence:
    return quiet(
        "records an aborted transaction in",
        f"{e.topic}-{e.partition}",
        exact=(
            f"records in {e.topic}-{e.partition} that read_committed readers skip producer"
            f" {e.producer_id}'s records from {e.first_offset:,} to its abort marker at"
            f" {e.last_offset:,}"
        ),
    )


@sentence.register
def transaction_opened(e: transaction.TransactionOpened) -> Sentence:
    tp = f"{e.topic}-{e.partition}"
    return quiet(
        f"producer {e.producer_id} opens a transaction in",
        tp,
        f"at {e.first_offset:,}",
        exact=(
            f"producer {e.producer_id} (epoch {e.producer_epoch}) opens a transaction in {tp} at"
            f" {e.first_offset:,}: until its marker is there, read_committed readers stop there"
        ),
    )


@sentence.register
def batch_fenced(e: transaction.BatchFenced) -> Sentence:
    return Sentence(
        f"refuses a batch of producer {e.producer_id} for",
        f"{e.topic}-{e.partition}",
        reason=f"its epoch {e.producer_epoch} is over: the log has seen epoch {e.current_epoch}",
        because=f"a batch of an old producer {e.producer_id} was fenced",
    )


@sentence.register
def transactional_id_initialised(e: transaction.TransactionalIdInitialised) -> Sentence:
    return Sentence(
        f"{e.client_id or 'a producer'} initialises transactional id",
        e.transactional_id,
        f"and gets epoch {e.producer_epoch}",
        because=f"another producer initialised {e.transactional_id}",
        exact=(
            f"{e.client_id or 'a producer'} initialises transactional id {e.transactional_id}: it"
            f" is producer {e.producer_id} with epoch {e.producer_epoch}, and its time-out is"
            f" {duration(e.timeout_ms)}"
        ),
        loud=False,
    )


@sentence.register
def transaction_state_changed(e: transaction.TransactionStateChanged) -> Sentence:
    with_ = f" with {joined(e.partitions)}" if e.partitions else ""
    return Sentence(
        "transaction of",
        e.transactional_id,
        f"{e.before} → {e.after}",
        because=f"the transaction of {e.transactional_id} is {e.after}",
        exact=(
            f"transaction of {e.transactional_id}{with_}: {e.before} → {e.after} (producer"
            f" {e.producer_id}, epoch {e.producer_epoch})"
        ),
        loud=False,
    )


@sentence.register
def transactions_loaded(e: transaction.TransactionsLoaded) -> Sentence:
    return quiet(
        "coordinates the transactions of",
        f"__transaction_state-{e.partition}",
        exact=(
            f"coordinates the transactions of __transaction_state-{e.partition} in epoch"
            f" {e.coordinator_epoch}: read {plural(e.transactional_ids, 'transactional id')} in"
            f" {duration(e.took_ms)}"
        ),
    )


@sentence.register
def transactions_unloaded(e: transaction.TransactionsUnloaded) -> Sentence:
    return Sentence(
        "forgets the transactions of",
        f"__transaction_state-{e.partition}",
        f"({plural(e.transactional_ids, 'transactional id')})",
        "another broker leads it now",
        loud=False,
    )


@sentence.register
def transactional_id_expired(e: transaction.TransactionalIdExpired) -> Sentence:
    return Sentence(
        "forgets transactional id",
        e.transactional_id,
        reason="it was not used for transactional.id.expiration.ms",
        loud=False,
    )


@sentence.register
def transaction_timed_out(e: transaction.TransactionTimedOut) -> Sentence:
    return Sentence(
        "aborts the transaction of",
        e.transactional_id,
        reason=(
            f"it was open for {duration(e.open_ms)}, and its producer asked for"
            f" {duration(e.timeout_ms)} at most"
        ),
        because=f"the transaction of {e.transactional_id} timed out",
    )


@sentence.register
def producer_fenced(e: transaction.ProducerFenced) -> Sentence:
    if e.asked == transaction.BY_ANOTHER:
        return Sentence(
            "fences the producer of",
            e.transactional_id,
            f"with epoch {e.producer_epoch}, and aborts its transaction",
            f"{e.client_id or 'another producer'} initialises with the same transactional id",
            because=f"a new producer of {e.transactional_id} fenced the old one",
        )
    return Sentence(
        f"refuses {e.asked} of an old producer with id",
        e.transactional_id,
        reason=f"its epoch {e.producer_epoch} is over: the current one is {e.current_epoch}",
        because=f"an old producer of {e.transactional_id} was fenced",
    )


@sentence.register
def transaction_resumed(e: transaction.TransactionResumed) -> Sentence:
    return Sentence(
        "continues the transaction of",
        e.transactional_id,
        f"which is {e.state}: sends its markers to {joined(e.partitions) or 'no partition'} again",
        "its coordinator is new",
        loud=False,
    )


@sentence.register
def transaction_markers_sent(e: transaction.TransactionMarkersSent) -> Sentence:
    return quiet(
        f"sends to broker {e.broker} the transaction markers of",
        joined(e.transactional_ids),
        f"for {plural(e.partitions, 'partition')}",
    )


@sentence.register
def transaction_marker_answered(e: transaction.TransactionMarkerAnswered) -> Sentence:
    tp = f"{e.topic}-{e.partition}"
    if e.error == "NONE":
        return quiet(
            f"broker {e.broker} has written {e.transactional_id}'s transaction marker to", tp
        )
    return Sentence(
        f"broker {e.broker} did not write {e.transactional_id}'s transaction marker to",
        tp,
        reason=e.error,
        loud=False,
    )
