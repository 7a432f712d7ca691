"""The parts that a broker creates before its APIs. The builders of API families take what they
need.
"""

from random import Random
from typing import NamedTuple

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.tasks import OnFailure
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.socket_server import ControlPlane
from kafka_edu.replication.assembly import Replication
from kafka_edu.server.admin.finalized_features import FinalizedFeatures
from kafka_edu.server.config.dynamic_broker_config import DynamicBrokerConfig
from kafka_edu.server.config.kafka_config import KafkaConfig
from kafka_edu.server.config.topic_configs import TopicConfigs
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.kafka_zk_client import KafkaZkClient


class BrokerParts(NamedTuple):
    """The parts that exist before the APIs. Each family takes from it what it needs."""

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
    on_failure: OnFailure
    """Called with the name and the exception of a background task that died of a bug."""
