"""The admin client for programs without asyncio. docs/admin.md lists its settings and its calls.

    with Admin({"bootstrap.servers": "127.0.0.1:9092"}) as admin:
        admin.create_topics([NewTopic("web", 3, 1)]).all()
        print(sorted(admin.list_topics()))

Each call returns its result, or raises its error.
"""

from collections.abc import Mapping

from kafka_edu.clients.admin import admin
from kafka_edu.clients.blocking.client import BlockingClient, waiting


class Admin(BlockingClient[admin.Admin]):
    """Sends requests to a Kafka cluster, to read its state or to change it. Several threads may use
    it.
    """

    def __init__(self, config: Mapping[str, object]) -> None:
        """Build an admin client. Raises ConfigException."""
        client = admin.Admin(config)
        super().__init__(client, client.config.client_id, client.start, admin.already_closed())

    def close(self) -> None:
        """Close the connections. Running calls end with AdminStateException."""
        self._close(self.client.close)

    ask = waiting(admin.Admin.ask)
    describe_cluster = waiting(admin.Admin.describe_cluster)
    describe_api_versions = waiting(admin.Admin.describe_api_versions)
    list_topics = waiting(admin.Admin.list_topics)
    describe_topics = waiting(admin.Admin.describe_topics)
    create_topics = waiting(admin.Admin.create_topics)
    delete_topics = waiting(admin.Admin.delete_topics)
    create_partitions = waiting(admin.Admin.create_partitions)
    describe_configs = waiting(admin.Admin.describe_configs)
    alter_configs = waiting(admin.Admin.alter_configs)
    incremental_alter_configs = waiting(admin.Admin.incremental_alter_configs)
    list_offsets = waiting(admin.Admin.list_offsets)
    delete_records = waiting(admin.Admin.delete_records)
    elect_leaders = waiting(admin.Admin.elect_leaders)
    alter_partition_reassignments = waiting(admin.Admin.alter_partition_reassignments)
    list_partition_reassignments = waiting(admin.Admin.list_partition_reassignments)
    describe_log_dirs = waiting(admin.Admin.describe_log_dirs)
    alter_replica_log_dirs = waiting(admin.Admin.alter_replica_log_dirs)
    list_consumer_groups = waiting(admin.Admin.list_consumer_groups)
    describe_consumer_groups = waiting(admin.Admin.describe_consumer_groups)
    list_consumer_group_offsets = waiting(admin.Admin.list_consumer_group_offsets)
    alter_consumer_group_offsets = waiting(admin.Admin.alter_consumer_group_offsets)
    delete_consumer_group_offsets = waiting(admin.Admin.delete_consumer_group_offsets)
    delete_consumer_groups = waiting(admin.Admin.delete_consumer_groups)
