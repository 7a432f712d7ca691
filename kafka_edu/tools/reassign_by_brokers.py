"""Reassign partitions by requests to the brokers, as Kafka's tool does since 2.5.

The controller accepts a new assignment for each partition, even during a running reassignment. It
also lists and cancels running reassignments. This needs no special znode. (Kafka:
ReassignPartitionsCommand.scala of 2.8.2; KIP-455)
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.config_calls import AlterConfigOp, ConfigResource
from kafka_edu.clients.admin.node import Node
from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.describe_configs import ResourceType
from kafka_edu.protocol.messages.incremental_alter_configs import OpType
from kafka_edu.tools.reassignment_file import (
    Proposal,
    Replica,
    check_proposal,
    parse_brokers,
    parse_proposal,
    parse_topics,
)
from kafka_edu.tools.reassignment_plan import (
    LOG_DIRS_RATE,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
    Throttle,
    print_current,
    print_generated,
    propose,
    throttled,
)
from kafka_edu.tools.replica_log_dirs import LogDirs, alter_log_dirs, describe_log_dirs
from kafka_edu.tools.tool import (
    ToolError,
    admin_operation,
    command_failed,
    java_class,
    text_of,
)

_IN_THE_WAY: Final = (
    "Cannot execute because there is an existing partition assignment.  Use --additional to"
    " override this and create a new partition assignment in addition to the existing one. The"
    " --additional flag can also be used to change the throttle by resubmitting the current"
    " reassignment."
)


class TerseError(Exception):
    """A failure whose message is printed without the name of an exception.

    (Kafka: TerseReassignmentFailureException)
    """


class BrokerReassignments:
    """One run of the tool. Its methods raise ToolError, TerseError, KafkaException."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    async def _nodes(self) -> dict[int, Node]:
        """Return the brokers that are alive, by their ids."""
        return {node.id: node for node in (await self._admin.describe_cluster()).nodes}

    async def _running(self) -> dict[TopicPartition, ReplicaAssignment]:
        running = await self._admin.list_partition_reassignments()
        return {tp: ReplicaAssignment(*each) for tp, each in running.items()}

    async def _alter(
        self, wanted: Mapping[TopicPartition, Sequence[int] | None]
    ) -> Mapping[TopicPartition, KafkaException]:
        """Send new assignments to the controller. Return the partitions that it refused.

        None instead of replicas cancels the partition's reassignment.
        """
        ordered = dict(sorted(wanted.items()))
        return (await self._admin.alter_partition_reassignments(ordered)).errors

    async def _current(
        self, topics: Collection[str], *, needed: bool
    ) -> dict[TopicPartition, tuple[int, ...]]:
        """Return the current assignment of `topics`.

        If `needed` is true, a topic that does not exist raises UNKNOWN_TOPIC_OR_PARTITION.
        Otherwise it is left out. Any other error is always raised.
        """
        found = await self._admin.describe_topics(sorted(topics))
        for error in found.errors.values():
            if error.error is not Errors.UNKNOWN_TOPIC_OR_PARTITION:
                raise _in_execution(error)
            if needed:
                raise _in_execution(
                    KafkaException(error.error, "This server does not host this topic-partition.")
                )
        return {
            TopicPartition(name, each.partition): tuple(node.id for node in each.replicas)
            for name in sorted(found.values)
            for each in found[name].partitions
        }

    async def generate(self, topics_text: str, brokers_text: str, rack_aware: bool) -> None:
        wanted = parse_brokers(brokers_text)
        current = await self._current(parse_topics(topics_text), needed=True)
        racks = {
            node.id: node.rack if rack_aware else None
            for node in (await self._nodes()).values()
            if node.id in wanted
        }
        if any(racks.values()) and not all(racks.values()):
            raise admin_operation(
                "Not all brokers have rack information. Add --disable-rack-aware in command line to"
                " make replica assignment without rack information.",
            )
        print_generated(current, propose(current, racks, Random()))

    async def list(self) -> None:
        running = await self._running()
        if not running:
            print("No partition reassignments found.")
            return
        print("Current partition reassignments:")
        for tp, (replicas, adding, removing) in sorted(running.items()):
            words = f"{tp}: replicas: {_joined(replicas)}."
            words += f" adding: {_joined(adding)}." if adding else ""
            print(words + (f" removing: {_joined(removing)}." if removing else ""))

    # Execute.

    async def execute(
        self, text: str, throttle: Throttle, additional: bool, timeout_ms: int
    ) -> None:
        proposal = parse_proposal(text)
        check_proposal(proposal, "Partition reassignment list cannot be empty")
        running = await self._running()
        if running and not additional:
            raise TerseError(_IN_THE_WAY)
        alive = await self._nodes()
        if strangers := [b for _, replicas in proposal.entries for b in replicas if b not in alive]:
            raise command_failed(f"Unknown broker id {strangers[0]}")
        current = await self._current(proposal.topics, needed=True)
        if unknown := [tp for tp in proposal.partitions if tp not in current]:
            raise _in_execution(
                KafkaException(
                    Errors.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition: {unknown[0]}"
                )
            )
        print_current({tp: current[tp] for tp in proposal.partitions})
        if max(throttle) >= 0:
            print(
                "Warning: You must run --verify periodically, until the reassignment completes, to"
                " ensure the throttle is removed."
            )
        await self._throttle(proposal, running, current, throttle, alive)
        if refused := await self._alter(proposal.partitions):
            lines = "\n".join(f"{tp}: {text_of(error)}" for tp, error in sorted(refused.items()))
            raise TerseError(f"Error reassigning partition(s):\n{lines}")
        plural = "s" if len(proposal.entries) > 1 else ""
        print(
            f"Successfully started partition reassignment{plural} for"
            f" {','.join(map(str, sorted(proposal.partitions)))}"
        )
        if proposal.log_dirs:
            await self._move_log_dirs(proposal, timeout_ms)

    async def _throttle(
        self,
        proposal: Proposal,
        running: Mapping[TopicPartition, ReplicaAssignment],
        current: Mapping[TopicPartition, tuple[int, ...]],
        throttle: Throttle,
        alive: Collection[int],
    ) -> None:
        """Set the throttle for the new reassignments and the running ones.

        For each topic of these reassignments, write the list of throttled replicas again. For each
        broker with such a replica, write the rates, but not for a broker that is down.
        """
        if throttle.inter_broker >= 0:
            leaders: dict[TopicPartition, tuple[int, ...]] = {}
            followers: dict[TopicPartition, tuple[int, ...]] = {}
            for tp in dict.fromkeys([*running, *proposal.partitions]):
                now = running.get(tp) or ReplicaAssignment(current[tp])
                sources = now.origin_replicas
                arriving = {*now.adding_replicas, *proposal.partitions.get(tp, ())}.difference(
                    sources
                )
                leaders[tp], followers[tp] = tuple(sorted(sources)), tuple(sorted(arriving))
            for topic in dict.fromkeys(tp.topic for tp in leaders):
                values = throttled(leaders, topic), throttled(followers, topic)
                await self._configure(
                    ResourceType.TOPIC, topic, dict(zip(THROTTLED_REPLICAS, values, strict=True))
                )
            moving = sorted(
                {b for replicas in (*leaders.values(), *followers.values()) for b in replicas}
            )
            for broker_id in filter(alive.__contains__, moving):
                await self._configure(
                    ResourceType.BROKER,
                    str(broker_id),
                    dict.fromkeys(THROTTLED_RATES, str(throttle.inter_broker)),
                )
            print(f"The inter-broker throttle limit was set to {throttle.inter_broker} B/s")
        if throttle.log_dirs >= 0:
            for broker_id in sorted({replica.broker_id for replica in proposal.log_dirs}):
                await self._configure(
                    ResourceType.BROKER, str(broker_id), {LOG_DIRS_RATE: str(throttle.log_dirs)}
                )
            print(f"The replica-alter-dir throttle limit was set to {throttle.log_dirs} B/s")

    async def _move_log_dirs(self, proposal: Proposal, timeout_ms: int) -> None:
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_ms / 1000
        remaining, begun = dict(proposal.log_dirs), False
        while remaining and (not begun or loop.time() < end):
            begun = True
            moved = await alter_log_dirs(self._admin, remaining)
            if moved:
                print(
                    f"Successfully started log directory move{'s' if len(moved) > 1 else ''} for:"
                    f" {','.join(map(str, sorted(moved)))}"
                )
            for replica in moved:
                del remaining[replica]
            if remaining:
                await asyncio.sleep(0.1)
        if remaining:
            raise TerseError(
                f"Timed out before log directory move{'s' if len(remaining) > 1 else ''} could be"
                f" started for: {_names(remaining)}"
            )

    async def _configure(
        self, kind: ResourceType, name: str, values: Mapping[str, str | None]
    ) -> None:
        """Set the configs that have a value, and delete the configs with None."""
        resource = ConfigResource(kind, name)
        changes = [
            AlterConfigOp(key, OpType.DELETE if value is None else OpType.SET, value)
            for key, value in values.items()
        ]
        refused = (await self._admin.incremental_alter_configs({resource: changes})).errors
        if refused:
            raise _in_execution(refused[resource])

    # Verify and cancel.

    async def verify(self, text: str, preserve_throttles: bool) -> None:
        proposal = parse_proposal(text)
        running = await self._running()
        current = await self._current(proposal.topics, needed=False)
        print("Status of partition reassignment:")
        for tp, wanted in sorted(proposal.partitions.items()):
            if tp in running:
                print(f"Reassignment of partition {tp} is still in progress.")
            elif current.get(tp, ()) == wanted:
                print(f"Reassignment of partition {tp} is complete.")
            else:
                print(
                    f"There is no active reassignment of partition {tp}, but replica set is"
                    f" {_joined(current.get(tp, ()))} rather than {_joined(wanted)}."
                )
        moves = await describe_log_dirs(self._admin, proposal.log_dirs)
        print(
            "\n".join(
                log_dir_words(replica, moves.get(replica), log_dir)
                for replica, log_dir in sorted(proposal.log_dirs.items())
            )
        )
        on_the_way = any(moves[replica].future for replica in moves)
        if not running and not on_the_way and not preserve_throttles:
            await self._clear_throttles(proposal)

    async def cancel(self, text: str, preserve_throttles: bool) -> None:
        """Cancel the reassignments of the partitions in the file, as far as they are running."""
        proposal = parse_proposal(text)
        running = await self._running()
        chosen: dict[TopicPartition, None] = {
            tp: None for tp in sorted(proposal.partitions) if tp in running
        }
        if not chosen:
            print("None of the specified partition reassignments are active.")
        elif refused := await self._alter(chosen):
            lines = "\n".join(f"{tp}: {text_of(error)}" for tp, error in sorted(refused.items()))
            raise TerseError(
                f"Error cancelling partition reassignment{'s' if len(refused) > 1 else ''}"
                f" for:\n{lines}"
            )
        else:
            print(
                f"Successfully cancelled partition reassignment{'s' if len(chosen) > 1 else ''}"
                f" for: {','.join(map(str, chosen))}"
            )
        print("None of the specified partition moves are active.")
        if not preserve_throttles:
            await self._clear_throttles(proposal)

    async def _clear_throttles(self, proposal: Proposal) -> None:
        alive = await self._nodes()
        brokers = dict.fromkeys(
            [*sorted(alive), *(b for _, replicas in proposal.entries for b in replicas)]
        )
        print(
            f"Clearing broker-level throttles on broker{'' if len(brokers) == 1 else 's'}"
            f" {_names(brokers)}"
        )
        for broker_id in filter(alive.__contains__, brokers):
            await self._configure(
                ResourceType.BROKER,
                str(broker_id),
                dict.fromkeys((*THROTTLED_RATES, LOG_DIRS_RATE)),
            )
        topics = sorted(proposal.topics)
        print(
            f"Clearing topic-level throttles on topic{'' if len(topics) == 1 else 's'}"
            f" {_names(topics)}"
        )
        for topic in topics:
            await self._configure(ResourceType.TOPIC, topic, dict.fromkeys(THROTTLED_REPLICAS))


def log_dir_words(replica: Replica, found: LogDirs | None, wanted: str) -> str:
    """Return the text about a replica that should be in the log directory `wanted`. No I/O."""
    partition = f"Partition {replica.topic}-{replica.partition}"
    match found:
        case None:
            return (
                f"{partition} cannot be found in any live log directory on broker"
                f" {replica.broker_id}."
            )
        case LogDirs(current=""):
            where = (
                f"is not found in any live log dir on broker {replica.broker_id}. There is likely"
                " an offline log directory on the broker."
            )
            return f"{partition} {where}"
        case LogDirs(future=future) if future == wanted:
            return f"Reassignment of replica {replica} is still in progress."
        case LogDirs(future=future) if future:
            return (
                f"{partition} on broker {replica.broker_id} is being moved to log dir {future}"
                f" instead of {wanted}."
            )
        case LogDirs(current=current) if current == wanted:
            return f"Reassignment of replica {replica} completed successfully."
        case LogDirs(current=current):
            return (
                f"{partition} on broker {replica.broker_id} is not being moved from log dir"
                f" {current} to {wanted}."
            )


def _in_execution(error: KafkaException) -> ToolError:
    """Return the error in the form in which Java shows the failure of a future."""
    return ToolError(
        "java.util.concurrent.ExecutionException", f"{java_class(error)}: {error.message}"
    )


def _joined(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers))


def _names(things: Collection[object]) -> str:
    return ",".join(map(str, things))
