"""Read the local logs for a fetch (Kafka: ReplicaManager.readFromLocalLog)."""

from kafka_edu.common.errors import KafkaException
from kafka_edu.replication.fetch_params import FetchInfos, FetchParams
from kafka_edu.replication.fetch_session import FetchSession
from kafka_edu.replication.log_read_result import NO_VERSION, FetchResults, failed_read
from kafka_edu.replication.partition_reads import may_skip, read_elsewhere, read_records
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.read_rules import ReadRules


def read_from_local_log(
    partitions: Partitions,
    params: FetchParams,
    infos: FetchInfos,
    session: FetchSession | None = None,
    rules: ReadRules | None = None,
) -> FetchResults:
    """Read each partition once, in order, until the results together have `max_bytes`.

    If `rules` prefer another replica for a consumer, the consumer gets that replica's broker id and
    no records. The first partition with records may exceed all limits by one batch. If a partition
    has a negative limit, only this partition fails. A negative `max_bytes` is the first partition's
    limit; the limit of the other partitions is then 0. `session` is the session to which the
    partitions belong. The next fetches of the session may skip partitions that the reader has read
    to their end. A partition that `rules` throttle gives no records.
    """
    left = params.max_bytes
    if left < 0 and session is not None and not session.begins_with(infos):
        left = 0
    hard_limit = params.hard_max_bytes_limit
    only_from_leader, isolation = params.only_from_leader, params.isolation
    min_one_message = not hard_limit
    results: FetchResults = []
    for tp, wanted in infos:
        try:
            partition = partitions.get_or_raise(tp)
            if (
                params.client is not None
                and rules is not None
                and (
                    elsewhere := rules.preferred_read_replica(
                        partition, params.client, wanted.fetch_offset
                    )
                )
                is not None
            ):
                read = read_elsewhere(partition, wanted.current_leader_epoch, elsewhere)
                results.append((tp, read))
                continue
            read = read_records(
                partition,
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
            if (
                read.size_in_bytes
                and rules is not None
                and rules.should_leader_throttle(partition, params.replica_id)
            ):
                read = read.without_records()
            elif read.size_in_bytes:
                min_one_message = False
                left = max(0, left - read.size_in_bytes)
            elif session is not None and read.version != NO_VERSION:
                if may_skip(partition, params.replica_id, read):
                    wanted.place = read.fetch_offset_metadata
                    session.follow(tp, partition.version, partition.follower(params.replica_id))
                    partition.wake_session(session)
                else:
                    read = read._replace(version=NO_VERSION)
        if left < 0:
            left = 0
        results.append((tp, read))
    return results
