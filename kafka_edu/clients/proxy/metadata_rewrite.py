"""Choose the topics of a Metadata answer, and adapt them for an old client. No I/O.

    below v6    LISTENER_NOT_FOUND becomes LEADER_NOT_AVAILABLE, which these clients know
    in v0       replicas that are not alive are left out, with REPLICA_NOT_AVAILABLE,
                because v0 clients would connect to each

Previous hop: MetadataCopy. Next hop: the codec, which leaves out the fields that a version lacks.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from kafka_edu.cluster.metadata_response import error_of_missing
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic import is_internal
from kafka_edu.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

#: KNOWS_LISTENERS: clients know LISTENER_NOT_FOUND from this version on. LISTS_DEAD_REPLICAS:
#: brokers also list dead replicas from this version on.
KNOWS_LISTENERS: Final = 6
LISTS_DEAD_REPLICAS: Final = 1


class MetadataRewrite:
    """The rule by which the proxy makes answers from the metadata of its target (book §6.5.2).

    The object keeps no state.
    """

    def topics(
        self,
        names: Sequence[str] | None,
        version: int,
        topics: Mapping[str, MetadataResponseTopic],
        alive: Collection[int],
    ) -> list[MetadataResponseTopic]:
        """Return the topics of the answer, in the order of `names`.

        None means all topics of the copy. A topic that the copy does not have becomes an error in
        the answer. O(topics in the request).
        """
        wanted = topics if names is None else names
        return [
            _missing(name) if name not in topics else _in_version(topics[name], version, alive)
            for name in wanted
        ]


def _missing(name: str) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error_of_missing(name), name=name, is_internal=is_internal(name)
    )


def _in_version(
    topic: MetadataResponseTopic, version: int, alive: Collection[int]
) -> MetadataResponseTopic:
    if version >= KNOWS_LISTENERS:
        return topic
    return MetadataResponseTopic(
        error_code=topic.error_code,
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        partitions=[_in_old_version(one, version, alive) for one in topic.partitions],
        topic_authorized_operations=topic.topic_authorized_operations,
    )


def _in_old_version(
    partition: MetadataResponsePartition, version: int, alive: Collection[int]
) -> MetadataResponsePartition:
    error = Errors.of(partition.error_code)
    replicas, isr = partition.replica_nodes, partition.isr_nodes
    if error is Errors.LISTENER_NOT_FOUND:
        error = Errors.LEADER_NOT_AVAILABLE
    if version < LISTS_DEAD_REPLICAS:
        replicas, isr = [r for r in replicas if r in alive], [r for r in isr if r in alive]
        fewer = len(replicas) < len(partition.replica_nodes) or len(isr) < len(partition.isr_nodes)
        if error is Errors.NONE and fewer:
            error = Errors.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=error,
        partition_index=partition.partition_index,
        leader_id=partition.leader_id,
        leader_epoch=partition.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=partition.offline_replicas,
    )
