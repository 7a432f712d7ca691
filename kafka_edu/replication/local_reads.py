"""Read the local logs for a fetch (Kafka: ReplicaManager.readFromLocalLog)."""

from kafka_edu.common.errors import KafkaException
from kafka_edu.replication.fetch_params import FetchInfos, FetchIsolation, FetchParams
from kafka_edu.replication.log_read_result import FetchResults, failed_read
from kafka_edu.replication.partitions import Partitions


def read_from_local_log(
    partitions: Partitions, params: FetchParams, infos: FetchInfos
) -> FetchResults:
    """One read of each partition, in order, within `max_bytes` together; the first with records
    may exceed all limits by one batch.

    A negative limit spoils the partition whose limit it is. A negative `max_bytes` is the first
    partition's limit; for the others it is 0.
    """
    left = params.max_bytes
    hard_limit = params.hard_max_bytes_limit
    only_from_leader, isolation = params.only_from_leader, params.isolation
    read_committed = isolation is FetchIsolation.TXN_COMMITTED
    min_one_message = not hard_limit
    results: FetchResults = []
    for tp, wanted in infos:
        at_end = wanted.at_end
        if at_end is not None:
            if at_end.holds() and (at_end.read.aborted_transactions is not None) is read_committed:
                results.append((tp, at_end.read))
                if left < 0:
                    left = 0
                continue
            wanted.at_end = None
        try:
            partition = partitions.get_or_raise(tp)
            read = partition.read_records(
                wanted.fetch_offset,
                min(wanted.max_bytes, left),
                current_leader_epoch=wanted.current_leader_epoch,
                last_fetched_epoch=wanted.last_fetched_epoch,
                only_from_leader=only_from_leader,
                isolation=isolation,
                min_one_message=min_one_message,
                hard_limit=hard_limit,
            )
        except KafkaException as failure:
            read = failed_read(failure.error)
        else:
            if read.size_in_bytes:
                min_one_message = False
                left = max(0, left - read.size_in_bytes)
            elif (
                wanted.fetch_offset == read.log_end_offset == read.high_watermark
                and read.diverging_epoch is None
            ):
                wanted.at_end = partition.reader_at_end(read, params.replica_id)
        if left < 0:
            left = 0
        results.append((tp, read))
    return results
