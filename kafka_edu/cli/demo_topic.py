"""Create the topic of a demo, with three replicas and min.insync.replicas=2, and read its state.

The admin client is our own. But most demos use producers and consumers of other projects, to show
that unmodified clients work.
"""

import contextlib
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kafka_edu.cli.progress import Progress
from kafka_edu.clients import blocking
from kafka_edu.clients.admin.new_topic import make_topic
from kafka_edu.clients.admin.partition_calls import ElectionType
from kafka_edu.clients.admin.topic_calls import TopicPartitionInfo
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster import ClusterError

BROKERS: Final = 3
NO_LEADER: Final = -1
ANSWER_MS: Final = 10_000
"""How long a request of a demo may take, in ms. A demo kills brokers, so it may have to send the
request again.
"""
_SILENCE_MS: Final = 5_000
_LOOK_EVERY_S: Final = 0.1


def demo_admin(bootstrap_servers: str) -> blocking.Admin:
    """Return an admin client that asks the next broker if a broker does not answer for 5 s."""
    return blocking.Admin(
        {"bootstrap.servers": bootstrap_servers, "request.timeout.ms": _SILENCE_MS}
    )


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
    return wait_until_in_sync(bootstrap_servers, topic, partitions)


def partitions_of(admin: blocking.Admin, topic: str) -> tuple[TopicPartitionInfo, ...]:
    """Return the partitions of a topic, as one broker knows them. Raises ClientException."""
    return admin.describe_topics([topic], timeout_ms=ANSWER_MS)[topic].partitions


def leader_id(partition: TopicPartitionInfo) -> int:
    return NO_LEADER if partition.leader is None else partition.leader.id


def leaders_of(admin: blocking.Admin, topic: str) -> dict[int, int]:
    """Return partition → leader, or NO_LEADER, as one broker knows them. Raises ClientException."""
    return {each.partition: leader_id(each) for each in partitions_of(admin, topic)}


def elect_preferred(admin: blocking.Admin, topic: str) -> dict[int, int]:
    """Let the first replica of each partition lead, if it is in sync.

    Return partition → leader, for the partitions whose leader is not the first replica. Raises
    ClientException.
    """
    admin.elect_leaders(ElectionType.PREFERRED, timeout_ms=ANSWER_MS)
    return {
        each.partition: leader_id(each)
        for each in partitions_of(admin, topic)
        if leader_id(each) != each.replicas[0].id
    }


def wait_until_in_sync(
    bootstrap_servers: str, topic: str, partitions: int, replicas: int = BROKERS
) -> dict[int, int]:
    """Wait until every partition has a leader and all replicas in its ISR.

    Return partition → leader. Raises Standstill, which is a ClusterError, if the leaders and ISRs
    stop changing before that.
    """
    progress = Progress(f"the replicas of {topic} to be in sync")
    isrs: dict[int, list[int]] = {}
    leaders: dict[int, int] = {}
    with demo_admin(bootstrap_servers) as admin:
        while True:
            progress.note((f"leaders {leaders}", f"ISRs {isrs}"))
            with contextlib.suppress(
                ClientException
            ):  # a broker is ending: try again at the next check
                found = partitions_of(admin, topic)
                isrs = {each.partition: sorted(node.id for node in each.isr) for each in found}
                leaders = {each.partition: leader_id(each) for each in found if each.leader}
                if len(leaders) == partitions and all(
                    len(isr) == replicas for isr in isrs.values()
                ):
                    return leaders
            time.sleep(_LOOK_EVERY_S)
