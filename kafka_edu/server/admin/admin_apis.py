"""Build the admin APIs of one broker: topics, configs, log dirs and elections. This module also
builds the APIs of features that the broker does not have, for example ACLs. ApiAssembly calls it.
"""

import asyncio

from kafka_edu.server.admin.admin_manager import AdminManager
from kafka_edu.server.admin.client_quotas import ClientQuotas
from kafka_edu.server.admin.config_admin_manager import ConfigAdminManager
from kafka_edu.server.admin.config_helper import ConfigHelper
from kafka_edu.server.admin.user_scram_manager import UserScramManager
from kafka_edu.server.apis.acls import AclsApi
from kafka_edu.server.apis.alter_isr import AlterIsrApi
from kafka_edu.server.apis.configs import ConfigsApi
from kafka_edu.server.apis.create_partitions import CreatePartitionsApi
from kafka_edu.server.apis.create_topics import CreateTopicsApi
from kafka_edu.server.apis.delete_records import DeleteRecordsApi
from kafka_edu.server.apis.delete_topics import DeleteTopicsApi
from kafka_edu.server.apis.describe_cluster import DescribeClusterApi
from kafka_edu.server.apis.log_dirs import LogDirsApi
from kafka_edu.server.apis.quotas import QuotasApi
from kafka_edu.server.apis.reassignments import ReassignmentsApi
from kafka_edu.server.apis.sasl import SaslApi
from kafka_edu.server.apis.scram import ScramApi
from kafka_edu.server.apis.tokens import TokensApi
from kafka_edu.server.apis.update_features import UpdateFeaturesApi
from kafka_edu.server.broker_parts import BrokerParts
from kafka_edu.server.config.entity_configs import EntityConfigs
from kafka_edu.server.kafka_apis import KafkaApis


def serve_admin_apis(
    apis: KafkaApis, parts: BrokerParts, admin: AdminManager, role_changes: asyncio.Lock
) -> None:
    """Create the handlers of all admin APIs and register them in the table `apis`."""
    controller, cache = parts.controller, parts.cache
    replication = parts.replication
    replicas = replication.replicas

    def is_controller() -> bool:
        return controller.is_active

    CreateTopicsApi(admin, is_controller).register(apis)
    DeleteTopicsApi(admin, cache, is_controller, parts.config.delete_topic_enable).register(apis)
    CreatePartitionsApi(admin, is_controller, controller.is_topic_queued_for_deletion).register(
        apis
    )
    config_helper = ConfigHelper(parts.dynamic_config)
    ConfigsApi(
        ConfigAdminManager(
            parts.broker_id, parts.zk, cache, parts.dynamic_config, config_helper, parts.trace
        )
    ).register(apis)
    DeleteRecordsApi(replicas.delete_records, cache).register(apis)
    LogDirsApi(replication.log_dirs, role_changes).register(apis)
    DescribeClusterApi(cache, parts.cluster_id).register(apis)
    configs = EntityConfigs(parts.zk, parts.trace)
    QuotasApi(ClientQuotas(parts.zk, configs)).register(apis)
    ScramApi(UserScramManager(parts.zk, configs), is_controller).register(apis)
    ReassignmentsApi(controller).register(apis)
    AlterIsrApi(controller).register(apis)
    UpdateFeaturesApi(is_controller).register(apis)
    SaslApi().register(apis)
    AclsApi().register(apis)
    TokensApi().register(apis)
