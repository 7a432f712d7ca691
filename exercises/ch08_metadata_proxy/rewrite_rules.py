"""Compute the right answers of exercise 08-1 with the proxy's own rule."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from kafka_edu.clients.proxy.metadata_rewrite import MetadataRewrite
from kafka_edu.protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic

Numbers = tuple[int, ...]


class Partition(NamedTuple):
    """A partition of a Metadata answer, in the form that the learner gets and returns."""

    error: int
    number: int
    leader: int
    replicas: Numbers
    isr: Numbers
    offline: Numbers = ()


class Topic(NamedTuple):
    """A topic of a Metadata answer, in the form that the learner returns."""

    error: int
    name: str
    internal: bool
    partitions: tuple[Partition, ...]


Copied = Mapping[str, tuple[int, bool, Sequence[Partition]]]


def right(
    names: Sequence[str] | None, version: int, topics: Copied, alive: Collection[int]
) -> tuple[Topic, ...]:
    """Return the topics that a correct answer has. `topics` is the proxy's copy of the metadata."""
    copied = {
        name: MetadataResponseTopic(
            error_code=error,
            name=name,
            is_internal=internal,
            partitions=[
                MetadataResponsePartition(
                    error_code=one.error,
                    partition_index=one.number,
                    leader_id=one.leader,
                    replica_nodes=list(one.replicas),
                    isr_nodes=list(one.isr),
                    offline_replicas=list(one.offline),
                )
                for one in partitions
            ],
        )
        for name, (error, internal, partitions) in topics.items()
    }
    return tuple(
        Topic(
            int(made.error_code),
            made.name,
            made.is_internal,
            tuple(
                Partition(
                    int(one.error_code),
                    one.partition_index,
                    one.leader_id,
                    tuple(one.replica_nodes),
                    tuple(one.isr_nodes),
                    tuple(one.offline_replicas),
                )
                for one in made.partitions
            ),
        )
        for made in MetadataRewrite().topics(names, version, copied, alive)
    )
