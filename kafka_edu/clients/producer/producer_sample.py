"""The state of a producer at one moment, as an event for the dashboard and for recordings.

The tracer requests this event ten times a second while a dashboard or a recording needs it.
Otherwise the event is not made.
"""

from collections import Counter

from kafka_edu.clients.producer.producer_config import ProducerConfig
from kafka_edu.clients.producer.producer_core import ProducerCore
from kafka_edu.clients.producer.record_accumulator import PartitionQueue
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from kafka_edu.trace.events.producer import PartitionBuffer, ProducerDescription


def describe_producer(
    config: ProducerConfig, core: ProducerCore, now: float
) -> ProducerDescription:
    """Return the producer's state. O(partitions + batches)."""
    sender, pool, txn = core.sender, core.accumulator.pool, core.transaction_manager
    in_flight = Counter(batch.tp for batch in sender.in_flight)
    oldest = next(iter(core.accumulator.incomplete), None)
    return ProducerDescription(
        client=config.client_id,
        acks=config.acks,
        batch_size=config.batch_size,
        linger_ms=int(config.linger_ms),
        buffer_memory=pool.total,
        buffer_used=pool.total - pool.available,
        waiting_sends=pool.waiting,
        max_in_flight=config.max_in_flight,
        delivery_timeout_ms=int(config.delivery_timeout_ms),
        oldest_ms=0 if oldest is None else max(int(now - oldest.created_ms), 0),
        producer_id=NO_PRODUCER_ID if txn is None else txn.producer.identity.producer_id,
        epoch=NO_PRODUCER_EPOCH if txn is None else txn.producer.identity.epoch,
        acked=sender.acked,
        failed=sender.failed,
        retried=sender.retried,
        partitions=tuple(
            _describe_queue(core, queue, in_flight, now)
            for queue in sorted(core.accumulator.queues(), key=lambda queue: queue.tp)
        ),
        links=core.connections.links(now),
        state="" if txn is None else txn.producer.state,
        transactional_id="" if txn is None else txn.transactional_id or "",
    )


def _describe_queue(
    core: ProducerCore, queue: PartitionQueue, in_flight: Counter[TopicPartition], now: float
) -> PartitionBuffer:
    batches = queue.batches
    wait, left_ms = core.sender.wait_of(queue, now) if batches else ("", 0.0)
    last = batches[-1] if batches else None
    return PartitionBuffer(
        topic=queue.tp.topic,
        partition=queue.tp.partition,
        leader=core.metadata.leader(*queue.tp),
        batches=len(batches),
        bytes=sum(batch.size for batch in batches),
        filling=last.size if last is not None and not last.is_full else 0,
        records=sum(batch.count for batch in batches),
        age_ms=max(int(now - batches[0].created_ms), 0) if batches else 0,
        attempts=batches[0].attempts if batches else 0,
        wait=wait,
        left_ms=int(left_ms),
        in_flight=in_flight[queue.tp],
        sent=queue.sent,
        sent_records=queue.sent_records,
        last_records=queue.last_records,
        last_bytes=queue.last_bytes,
        last_waited_ms=queue.last_waited_ms,
    )
