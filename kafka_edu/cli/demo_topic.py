"""Create the topic of a demo, with three replicas and min.insync.replicas=2.

The admin client is confluent-kafka's, because a demo shows that unmodified clients work.
"""

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from confluent_kafka import KafkaException as ClientError
from confluent_kafka.admin import AdminClient

from kafka_edu.cli.progress import Progress
from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster import ClusterError

BROKERS: Final = 3
_LOOK_EVERY_S: Final = 0.1


def admin_client(bootstrap_servers: str) -> AdminClient:
    """Return an admin client that prints no errors, because a demo kills brokers on purpose."""
    return AdminClient({"bootstrap.servers": bootstrap_servers, "log_level": 0})


def create_topic(
    bootstrap_servers: str,
    topic: str,
    partitions: int,
    props: Mapping[str, str] = MappingProxyType({}),
) -> dict[int, int]:
    """Create the topic, and wait until all its replicas are in sync. Return partition → leader.

    `props` are settings of the topic. Raises ClusterError if the topic cannot be created.
    """
    settings = {"min.insync.replicas": "2", **props}
    try:
        make_topic(bootstrap_servers, topic, partitions, BROKERS, settings)
    except KafkaException as error:
        raise ClusterError(f"topic '{topic}' cannot be created: {error}") from error
    return wait_until_in_sync(admin_client(bootstrap_servers), topic, partitions)


def wait_until_in_sync(
    admin: AdminClient, topic: str, partitions: int, replicas: int = BROKERS
) -> dict[int, int]:
    """Wait until every partition has a leader and all replicas in its ISR.

    Return partition → leader. Raises Standstill, which is a ClusterError, if the leaders and ISRs
    stop changing before that.
    """
    progress = Progress(f"the replicas of {topic} to be in sync")
    isrs: dict[int, list[int]] = {}
    leaders: dict[int, int] = {}
    while True:
        progress.note((f"leaders {leaders}", f"ISRs {isrs}"))
        try:
            found = admin.list_topics(topic, timeout=5).topics[topic].partitions
        except ClientError:  # the broker that was asked is dying: the next look asks another
            continue
        isrs = {number: sorted(partition.isrs) for number, partition in found.items()}
        leaders = {
            number: partition.leader for number, partition in found.items() if partition.leader >= 0
        }  # -1: the election is not reported yet
        if len(leaders) == partitions and all(len(isr) == replicas for isr in isrs.values()):
            return leaders
        time.sleep(_LOOK_EVERY_S)
