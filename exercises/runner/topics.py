"""Create the topic of a live part, even while the cluster has no controller for a moment."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.common.errors import KafkaException
from kafka_edu.supervisor.cluster import Cluster, ClusterError


def make_topic(
    cluster: Cluster,
    topic: str,
    replicas: Sequence[int],
    partitions: int = 1,
    configs: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Create a topic whose partitions all have their replicas on the brokers `replicas`. The first
    of these brokers leads.

    The function may return a moment before the broker becomes leader. Raises ClusterError.
    """
    try:
        make_assigned_topic(
            cluster.bootstrap_servers,
            topic,
            dict.fromkeys(range(partitions), replicas),
            configs,
        )
    except KafkaException as error:
        raise ClusterError(f"topic '{topic}' cannot be created: {error}") from error
