"""The admin client that programs use (Kafka: Admin.java), as a thin shell around the core.

    async with Admin({"bootstrap.servers": "127.0.0.1:9092"}) as admin:
        created = await admin.create_topics([NewTopic("web", 3, 1)])
        created.all()
        for name in await admin.list_topics():
            print(name)

A call about several items returns `Results`: each item has its own result or its own error. A call
about one item returns its result or raises its error. The event loop runs the core when a response
arrives or a time limit is reached. Several tasks may use one client.
"""

import asyncio
import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from types import TracebackType
from typing import Final, Self, TypeVar

from kafka_edu.clients.admin.admin_call import AdminCall, Results
from kafka_edu.clients.admin.admin_config import parse_admin_config
from kafka_edu.clients.admin.admin_core import AdminCore
from kafka_edu.clients.admin.cluster_calls import (
    CLUSTER,
    ClusterDescription,
    describe_api_versions,
    describe_cluster,
)
from kafka_edu.clients.admin.config_calls import (
    AlterConfigOp,
    ConfigEntry,
    ConfigResource,
    alter_configs,
    describe_configs,
    incremental_alter_configs,
)
from kafka_edu.clients.admin.group_calls import (
    ConsumerGroupDescription,
    ConsumerGroupListing,
    alter_consumer_group_offsets,
    delete_consumer_group_offsets,
    delete_consumer_groups,
    describe_consumer_groups,
    list_consumer_group_offsets,
    list_groups_of,
)
from kafka_edu.clients.admin.log_dir_calls import (
    BrokerReplica,
    LogDirDescription,
    alter_replica_log_dirs,
    describe_log_dirs,
)
from kafka_edu.clients.admin.partition_calls import (
    ElectionType,
    PartitionReassignment,
    alter_partition_reassignments,
    delete_records,
    elect_leaders,
    list_offsets,
    list_partition_reassignments,
)
from kafka_edu.clients.admin.topic_calls import (
    CreatedTopic,
    NewPartitions,
    NewTopic,
    TopicDescription,
    TopicListing,
    create_partitions,
    create_topics,
    delete_topics,
    describe_topics,
    list_topics,
)
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.connection_shell import ConnectionShell
from kafka_edu.clients.consumer.offset_lookups import FoundOffset
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.metadata import NEVER
from kafka_edu.common.errors import Errors
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime, Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Transport
from kafka_edu.trace.tracer import Tracer

_numbers: Final = itertools.count(1)

K = TypeVar("K")
V = TypeVar("V")


class AdminStateException(ClientException):
    """The admin client is in a state in which it cannot do this."""

    def __init__(self, message: str, advice: str) -> None:
        super().__init__(Errors.INVALID_REQUEST, message, advice)


def already_closed() -> AdminStateException:
    """Return the error of a call after `close`."""
    return AdminStateException("This admin client has already been closed.", "Create a new client.")


class Admin:
    """Sends requests to a Kafka cluster, to read its state or to change it. One event loop uses it.

    `config` has Kafka's keys: docs/admin.md lists them. The simulator and tests use the other
    arguments: the network, the clock, the tracer and the random numbers. Each call takes at most
    `timeout_ms`, or default.api.timeout.ms.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        *,
        transport: Transport | None = None,
        time: Time | None = None,
        trace: Tracer | None = None,
        chance: random.Random | None = None,
    ) -> None:
        """Build an admin client; `start` or `async with` starts it. Raises ConfigException."""
        self.config = parse_admin_config(config, next(_numbers))
        self._time = time or SystemTime()
        self._core = AdminCore(self.config, chance or random.Random(), trace)
        self._shell = ConnectionShell(
            self._core.connections, transport or SocketTransport(), self._time, self._wake
        )
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._scheduled = False
        self._closed = False
        self._waiting: set[asyncio.Future[None]] = set()
        self._bug: Exception | None = None

    async def start(self) -> Self:
        """Bind the client to the running event loop."""
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return self

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections. Running calls end with AdminStateException."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._core.close(self._now())
        self._end_waiting()
        self._shell.perform()
        await self._shell.close()

    def _now(self) -> float:
        return self._time.hi_res_clock_ms()

    def _wake(self) -> None:
        """Run the core soon."""
        if not self._scheduled and not self._closed and self._loop is not None:
            self._scheduled = True
            self._loop.call_soon(self._turn)

    def _turn(self) -> None:
        """Run the core once, perform its effects, and set the timer for the next run."""
        self._scheduled = False
        if self._closed or self._loop is None:
            return
        now = self._now()
        try:
            self._core.run(now)
            self._shell.perform()
        except Exception as bug:  # after a bug, no call may wait for ever
            self._bug = bug
            self._end_waiting()
            raise
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = self._core.next_run_ms(now)
        if due < NEVER and not self._scheduled:
            self._timer = self._loop.call_later(max(due, 1) / 1000, self._turn)

    def _end_waiting(self) -> None:
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    def _check_usable(self) -> None:
        if self._loop is None:
            raise AdminStateException(
                "The admin client is not started.", "Use `async with Admin(...)`, or await start()."
            )
        if self._bug is not None:
            raise AdminStateException(
                f"The admin client has a bug: {self._bug!r}.", "Report it, and create a new client."
            ) from self._bug
        if self._closed:
            raise already_closed()

    async def ask(self, call: AdminCall[K, V], timeout_ms: float | None = None) -> Results[K, V]:
        """Start a call in the core, and wait until each item has its result or its error.

        All methods that send requests use this method. A program may also pass its own AdminCall,
        for example a call to a certain broker.
        """
        self._check_usable()
        ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        found: list[Results[K, V]] = []

        def done(results: Results[K, V]) -> None:
            found.append(results)
            if not ended.done():
                ended.set_result(None)

        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        self._waiting.add(ended)
        give_up = self._core.start(call, done, limit, self._now())
        self._wake()
        try:
            await ended
        finally:
            self._waiting.discard(ended)
            give_up()
        if not found:
            self._check_usable()
        return found[0]

    async def describe_cluster(self, *, timeout_ms: float | None = None) -> ClusterDescription:
        """Return the live brokers and the controller."""
        return (await self.ask(describe_cluster(), timeout_ms))[CLUSTER]

    async def describe_api_versions(
        self, brokers: Collection[int], *, timeout_ms: float | None = None
    ) -> Results[int, Mapping[int, tuple[int, int]]]:
        """Return the APIs of each broker: their keys, and the oldest and newest version of each."""
        return await self.ask(describe_api_versions(brokers), timeout_ms)

    async def list_topics(
        self, *, list_internal: bool = False, timeout_ms: float | None = None
    ) -> dict[str, TopicListing]:
        """Return all topics by name."""
        return (await self.ask(list_topics(list_internal), timeout_ms))[CLUSTER]

    async def describe_topics(
        self, topics: Collection[str], *, timeout_ms: float | None = None
    ) -> Results[str, TopicDescription]:
        """Return the leader, the replicas and the ISR of each partition. No topic is created."""
        return await self.ask(describe_topics(topics), timeout_ms)

    async def create_topics(
        self,
        topics: Collection[NewTopic],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> Results[str, CreatedTopic]:
        """Let the controller create topics. With `validate_only`, the controller only checks
        them.
        """
        return await self.ask(create_topics(topics, validate_only), timeout_ms)

    async def delete_topics(
        self, topics: Collection[str], *, timeout_ms: float | None = None
    ) -> Results[str, None]:
        """Let the controller delete topics."""
        return await self.ask(delete_topics(topics), timeout_ms)

    async def create_partitions(
        self,
        new_partitions: Mapping[str, NewPartitions],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> Results[str, None]:
        """Let the controller add partitions to topics."""
        return await self.ask(create_partitions(new_partitions, validate_only), timeout_ms)

    async def describe_configs(
        self,
        resources: Collection[ConfigResource],
        *,
        include_synonyms: bool = False,
        include_documentation: bool = False,
        timeout_ms: float | None = None,
    ) -> Results[ConfigResource, dict[str, ConfigEntry]]:
        """Return the configs of each topic or broker: name → config."""
        call = describe_configs(resources, include_synonyms, include_documentation)
        return await self.ask(call, timeout_ms)

    async def alter_configs(
        self,
        configs: Mapping[ConfigResource, Mapping[str, str]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> Results[ConfigResource, None]:
        """Replace all configs of each resource. Configs that are not given return to their
        defaults.
        """
        return await self.ask(alter_configs(configs, validate_only), timeout_ms)

    async def incremental_alter_configs(
        self,
        changes: Mapping[ConfigResource, Collection[AlterConfigOp]],
        *,
        validate_only: bool = False,
        timeout_ms: float | None = None,
    ) -> Results[ConfigResource, None]:
        """Change single configs, and keep the others. Needs brokers of 2.3 or newer."""
        return await self.ask(incremental_alter_configs(changes, validate_only), timeout_ms)

    async def list_offsets(
        self,
        partitions: Mapping[TopicPartition, int],
        *,
        read_committed: bool = False,
        timeout_ms: float | None = None,
    ) -> Results[TopicPartition, FoundOffset]:
        """Return an offset of each partition, chosen by a time in ms, or by EARLIEST or LATEST."""
        return await self.ask(list_offsets(partitions, read_committed), timeout_ms)

    async def delete_records(
        self, before: Mapping[TopicPartition, int], *, timeout_ms: float | None = None
    ) -> Results[TopicPartition, int]:
        """Delete the records before an offset (-1: all records).

        Return each partition's low watermark.
        """
        return await self.ask(delete_records(before), timeout_ms)

    async def elect_leaders(
        self,
        election_type: ElectionType,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Let the controller elect leaders. None means all partitions. Needs brokers of 2.2 or
        newer.
        """
        return (await self.ask(elect_leaders(election_type, partitions), timeout_ms))[CLUSTER]

    async def alter_partition_reassignments(
        self,
        reassignments: Mapping[TopicPartition, Sequence[int] | None],
        *,
        timeout_ms: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Move each partition to its list of brokers. None cancels a move. Needs brokers of 2.4 or
        newer.
        """
        return await self.ask(alter_partition_reassignments(reassignments), timeout_ms)

    async def list_partition_reassignments(
        self,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> dict[TopicPartition, PartitionReassignment]:
        """Return the partitions that are being moved. Needs brokers of 2.4 or newer."""
        call = list_partition_reassignments(partitions)
        return (await self.ask(call, timeout_ms))[CLUSTER]

    async def describe_log_dirs(
        self, brokers: Collection[int], *, timeout_ms: float | None = None
    ) -> Results[int, dict[str, LogDirDescription]]:
        """Return the log dirs of each broker by path, with their replicas."""
        return await self.ask(describe_log_dirs(brokers), timeout_ms)

    async def alter_replica_log_dirs(
        self, moves: Mapping[BrokerReplica, str], *, timeout_ms: float | None = None
    ) -> Results[BrokerReplica, None]:
        """Move replicas to other log dirs of their broker."""
        return await self.ask(alter_replica_log_dirs(moves), timeout_ms)

    async def list_consumer_groups(
        self, *, states: Collection[str] = (), timeout_ms: float | None = None
    ) -> Results[int, list[ConsumerGroupListing]]:
        """Return broker → the groups that the broker coordinates. With `states`, return only groups
        in one of these states.
        """
        limit = self.config.default_api_timeout_ms if timeout_ms is None else timeout_ms
        deadline = self._now() + limit
        nodes = (await self.describe_cluster(timeout_ms=limit)).nodes
        call = list_groups_of([node.id for node in nodes], states)
        return await self.ask(call, max(deadline - self._now(), 0))

    async def describe_consumer_groups(
        self, groups: Collection[str], *, timeout_ms: float | None = None
    ) -> Results[str, ConsumerGroupDescription]:
        """Return the state and the members of each group. A group that does not exist is Dead."""
        return await self.ask(describe_consumer_groups(groups), timeout_ms)

    async def list_consumer_group_offsets(
        self,
        group: str,
        partitions: Collection[TopicPartition] | None = None,
        *,
        timeout_ms: float | None = None,
    ) -> Results[TopicPartition, OffsetAndMetadata | None]:
        """Return the committed offsets of a group: of the given partitions, or of all partitions.

        The result of a partition without a committed offset is None.
        """
        return (await self.ask(list_consumer_group_offsets(group, partitions), timeout_ms))[group]

    async def alter_consumer_group_offsets(
        self,
        group: str,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        *,
        timeout_ms: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Commit offsets for a group that has no members."""
        return await self.ask(alter_consumer_group_offsets(group, offsets), timeout_ms)

    async def delete_consumer_group_offsets(
        self,
        group: str,
        partitions: Collection[TopicPartition],
        *,
        timeout_ms: float | None = None,
    ) -> Results[TopicPartition, None]:
        """Delete committed offsets of a group. Needs brokers of 2.4 or newer."""
        return await self.ask(delete_consumer_group_offsets(group, partitions), timeout_ms)

    async def delete_consumer_groups(
        self, groups: Collection[str], *, timeout_ms: float | None = None
    ) -> Results[str, None]:
        """Delete groups that have no members, and their offsets."""
        return await self.ask(delete_consumer_groups(groups), timeout_ms)
