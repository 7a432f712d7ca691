"""What a broker has made before its APIs, handed to whoever puts a family of APIs together."""

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import ControlPlane
from kafka_edu.replication.assembly import Replication
from kafka_edu.server.dynamic_broker_config import DynamicBrokerConfig
from kafka_edu.server.finalized_features import FinalizedFeatures
from kafka_edu.server.kafka_config import KafkaConfig
from kafka_edu.server.topic_configs import TopicConfigs
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient


class BrokerParts(NamedTuple):
    """What a broker has made before its APIs: the assembly takes from it what each family needs."""

    config: KafkaConfig
    broker_id: int
    cluster_id: str
    time: Time
    transport: Transport
    random: Random
    trace: Tracer | None
    zk: KafkaZkClient
    request_channel: RequestChannel
    control_plane: ControlPlane | None
    cache: MetadataCache
    replication: Replication
    controller: KafkaController
    topic_configs: TopicConfigs
    dynamic_config: DynamicBrokerConfig
    features: FinalizedFeatures
    on_failure: Callable[[str, BaseException], None]
    """Told of a background task that died of a bug, by name."""
