"""The settings of a broker whose server.properties sets nothing, for tests of single parts.

All values come from the table of keys (`kafka_config_keys`). A test changes only the settings that
it tests: `CONTROLLER_DEFAULTS._replace(delete_topic_enable=False)`.
"""

from typing import Final

from kafka_edu.controller.active_controller import ControllerConfig
from kafka_edu.coordinator.group.group_config import GroupConfig, OffsetConfig
from kafka_edu.network.connection_quotas import ConnectionLimits
from kafka_edu.network.socket_server import NetworkConfig
from kafka_edu.replication.replication_config import ReplicationConfig
from kafka_edu.server.config.kafka_config import KafkaConfig, default_config
from kafka_edu.server.config.part_configs import (
    controller_config,
    group_config,
    network_config,
    offset_config,
    replication_config,
)

BROKER_DEFAULTS: Final[KafkaConfig] = default_config()
CONTROLLER_DEFAULTS: Final[ControllerConfig] = controller_config(BROKER_DEFAULTS)
GROUP_DEFAULTS: Final[GroupConfig] = group_config(BROKER_DEFAULTS)
OFFSET_DEFAULTS: Final[OffsetConfig] = offset_config(BROKER_DEFAULTS)
NETWORK_DEFAULTS: Final[NetworkConfig] = network_config(BROKER_DEFAULTS)
CONNECTION_DEFAULTS: Final[ConnectionLimits] = BROKER_DEFAULTS.connection_limits
REPLICATION_DEFAULTS: Final[ReplicationConfig] = replication_config(BROKER_DEFAULTS, broker_id=0)
PRODUCER_ID_EXPIRATION_MS: Final[int] = BROKER_DEFAULTS.values.get_int(
    "transactional.id.expiration.ms"
)
