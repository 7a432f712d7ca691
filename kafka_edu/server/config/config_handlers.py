"""Apply changes of the configuration in ZooKeeper to this broker (Kafka: ConfigHandler.scala, the
reconfigurables of DynamicBrokerConfig.scala).

    /config/topics/<topic>      settings of the topic's logs; may allow an unclean election
    /config/brokers/<default>   settings of all brokers
    /config/brokers/<id>        settings of this broker
"""

from collections.abc import Mapping

from kafka_edu.controller.kafka_controller import KafkaController
from kafka_edu.controller.zk_partition_state_machine import UNCLEAN_ELECTION_KEY
from kafka_edu.log.log_manager import LogManager
from kafka_edu.network.socket_server import SocketServer
from kafka_edu.replication.assembly import Replication
from kafka_edu.server.admin.config_admin_manager import BROKERS, TOPICS
from kafka_edu.server.config.dynamic_broker_config import (
    CONNECTION_LIMITS,
    DEFAULT_ENTITY,
    LOG_CONFIGS,
    PER_BROKER,
    DynamicBrokerConfig,
)
from kafka_edu.server.config.dynamic_config_manager import Handler
from kafka_edu.server.config.kafka_config import KafkaConfig
from kafka_edu.server.config.replication_throttles import ReplicationThrottles
from kafka_edu.server.config.topic_configs import TopicConfigs
from kafka_edu.server.kafka_request_handler_pool import KafkaRequestHandlerPool
from kafka_edu.zk.kafka_zk_client import KafkaZkClient


class BrokerConfigHandler:
    """Reads the broker settings in ZooKeeper, at the start and after each change."""

    def __init__(
        self,
        broker_id: int,
        zk: KafkaZkClient,
        dynamic: DynamicBrokerConfig,
        throttles: ReplicationThrottles,
    ) -> None:
        self._broker_id = broker_id
        self._zk = zk
        self._dynamic = dynamic
        self._throttles = throttles

    async def read_all(self) -> None:
        """Read the settings of all brokers and the settings of this broker. Raises ZkError."""
        for name in (DEFAULT_ENTITY, str(self._broker_id)):
            await self.take_up(name)

    async def take_up(self, name: str) -> None:
        """Read the settings in /config/brokers/<name>, if they apply to this broker. Raises
        ZkError.
        """
        if name == DEFAULT_ENTITY:
            self._dynamic.update_default(await self._zk.get_entity_configs(BROKERS, name))
        elif name == str(self._broker_id):
            configs = await self._zk.get_entity_configs(BROKERS, name)
            self._dynamic.update_broker(configs)
            self._throttles.take_rates(configs)


class TopicConfigHandler:
    """Applies a topic's new configuration to this broker's logs of the topic. The controller also
    starts an unclean election if the topic now allows it.
    """

    def __init__(
        self, topic_configs: TopicConfigs, log_manager: LogManager, controller: KafkaController
    ) -> None:
        self._topic_configs = topic_configs
        self._log_manager = log_manager
        self._controller = controller

    async def take_up(self, topic: str) -> None:
        """Apply the topic's new configuration. If this broker has no settings of the topic yet, its
        logs need no change: the settings are read when the first log is created. Raises ZkError.
        """
        if topic in self._topic_configs.loaded:
            await self._topic_configs.load([topic])
            self._log_manager.update_topic_config(topic, self._topic_configs.of(topic))
        if (
            self._controller.is_active
            and (await self._topic_configs.read(topic)).unclean_leader_election_enable
        ):
            self._controller.enable_unclean_leader_election(topic)


def config_handlers(
    broker: BrokerConfigHandler, topic: TopicConfigHandler
) -> Mapping[str, Handler]:
    """Return the handler for each type of entity. Users and clients have no handler, because
    nothing reads their quotas yet.
    """
    return {BROKERS: broker.take_up, TOPICS: topic.take_up}


def connect_reconfigurables(
    dynamic: DynamicBrokerConfig,
    topic_configs: TopicConfigs,
    log_manager: LogManager,
    socket_server: SocketServer,
    replication: Replication,
    controller: KafkaController,
    handlers: KafkaRequestHandlerPool,
) -> None:
    """Register the parts of the broker in `dynamic`, each with the keys that it uses. When one of
    these keys changes, `dynamic` calls the part.
    """

    def reconfigure_logs(_: KafkaConfig) -> None:
        topic_configs.set_defaults(dynamic.log_defaults)
        log_manager.reconfigure(dynamic.log_defaults, topic_configs.of)

    dynamic.add(LOG_CONFIGS, reconfigure_logs)
    dynamic.add(
        {UNCLEAN_ELECTION_KEY},
        lambda config: controller.set_unclean_leader_election(
            config.unclean_leader_election_enable
        ),
    )
    dynamic.add(
        PER_BROKER,
        lambda config: controller.update_broker_info(
            config.advertised_listeners(socket_server.bound_ports)
        ),
    )
    dynamic.add({"num.io.threads"}, lambda config: handlers.resize(config.num_io_threads))
    dynamic.add(
        {"num.network.threads"},
        lambda config: socket_server.resize_processors(config.num_network_threads),
    )
    dynamic.add(
        CONNECTION_LIMITS, lambda config: socket_server.limit_connections(config.connection_limits)
    )
    dynamic.add(
        {"num.replica.fetchers"},
        lambda config: replication.resize_fetchers(config.num_replica_fetchers),
    )
    dynamic.add(
        {"num.recovery.threads.per.data.dir"},
        lambda config: log_manager.resize_recovery_threads(
            config.num_recovery_threads_per_data_dir
        ),
    )
