"""The parts of a broker that exist before its APIs are built. The builders of the API families use
them.
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
    """The parts of a broker that the builders of API families need."""

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
    """Called with the name of a background task and its exception, if the task fails because of a
    bug.
    """
