"""Write the records that a live group of chapter 13 reads."""

from collections.abc import Mapping
from contextlib import closing
from typing import Final

from kafka import KafkaProducer

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import Cluster

WAIT_S: Final = 120.0


def write_to_each(
    cluster: Cluster, topics: Mapping[str, int], each: int
) -> set[tuple[TopicPartition, int]]:
    """Write `each` records to every partition. Return the place of each record: its partition and
    its offset. `topics` has the number of partitions of each topic.
    """
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, acks="all")
    with closing(producer):
        sent = [
            producer.send(topic, b"a record of the lab", partition=number)
            for topic, partitions in topics.items()
            for number in range(partitions)
            for _ in range(each)
        ]
        found = [one.get(WAIT_S) for one in sent]
    return {(TopicPartition(one.topic, one.partition), one.offset) for one in found}
