"""Reassign partitions through ZooKeeper, as Kafka's tool of 2.0 does.

It reads the topics' znodes, writes throttles as configs, and writes the wanted assignment into
/admin/reassign_partitions. The controller carries it out. Only one reassignment can exist at a
time. While one exists, --execute changes only the throttle. (Kafka: ReassignPartitionsCommand.scala
of 2.0.1)
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.server.admin.admin_zk_client import AdminZkClient, RackAwareMode
from kafka_edu.tools.admin_client import open_admin
from kafka_edu.tools.reassignment_file import (
    Proposal,
    Replica,
    check_proposal,
    parse_brokers,
    parse_proposal,
    parse_topics,
)
from kafka_edu.tools.reassignment_plan import (
    CLIENT_ID,
    LOG_DIRS_RATE,
    THROTTLED_RATES,
    THROTTLED_REPLICAS,
    Assignment,
    Throttle,
    print_current,
    print_generated,
    propose,
    throttled,
)
from kafka_edu.tools.replica_log_dirs import LogDirs, alter_log_dirs, describe_log_dirs
from kafka_edu.tools.tool import command_failed
from kafka_edu.zk.kafka_zk_client import KafkaZkClient
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

COMPLETED: Final = "completed successfully"
IN_PROGRESS: Final = "is still in progress"
FAILED: Final = "failed"
RETRY_S: Final = 0.1
_NO_BROKERS: Final = (
    "bootstrap-server needs to be provided in order to reassign replica to the specified log"
    " directory"
)


class ZooKeeperReassignments:
    """One run of the tool. Its methods raise ToolError, AdminOperationError, ZkError.

    `bootstrap`, the brokers' address, is needed only if log directories are named. "" means that
    there is none.
    """

    def __init__(self, zk: KafkaZkClient, bootstrap: str) -> None:
        self._zk = zk
        self._bootstrap = bootstrap
        self._random = Random()
        self._admin = AdminZkClient(zk, self._random)

    async def _current(self, topics: Collection[str]) -> dict[TopicPartition, tuple[int, ...]]:
        found = await self._zk.get_assignment_for_topics(topics)
        return {
            TopicPartition(topic, number): a.replicas
            for topic, assignment in found.items()
            for number, a in assignment.partitions.items()
        }

    async def generate(self, topics_text: str, brokers_text: str, rack_aware: bool) -> None:
        brokers = parse_brokers(brokers_text)
        topics = parse_topics(topics_text)
        current = await self._current(topics)
        racks = await self._admin.get_broker_racks(
            RackAwareMode.ENFORCED if rack_aware else RackAwareMode.DISABLED, brokers
        )
        print_generated(current, propose(current, racks, self._random))

    # Execute.

    async def execute(self, text: str, throttle: Throttle, timeout_ms: int) -> None:
        proposal = await self._parse_and_check(text)
        if await self._zk.get_partition_reassignment() is not None:
            print("There is an existing assignment running.")
            await self._limit(proposal, throttle)
            return
        print_current(await self._current(proposal.topics))
        if max(throttle) >= 0:
            print(
                "Warning: You must run Verify periodically, until the reassignment completes, to"
                " ensure the throttle is removed. You can also alter the throttle by rerunning the"
                " Execute command passing a new value."
            )
        await self._throttle(proposal, throttle)
        if await self._order(proposal, timeout_ms):
            print("Successfully started reassignment of partitions.")
        else:
            listed = ", ".join(
                f"({tp},List({', '.join(map(str, replicas))}))" for tp, replicas in proposal.entries
            )
            print(f"Failed to reassign partitions ListBuffer({listed})")

    async def _parse_and_check(self, text: str) -> Proposal:
        proposal = parse_proposal(text)
        check_proposal(proposal, "Partition reassignment data file is empty")
        current = await self._current(proposal.topics)
        if unknown := [str(tp) for tp, _ in proposal.entries if tp not in current]:
            raise command_failed(
                "The proposed assignment contains non-existent partitions:"
                f" ListBuffer({', '.join(unknown)})"
            )
        live = await self._zk.get_broker_ids()
        if strangers := dict.fromkeys(
            str(b) for _, replicas in proposal.entries for b in replicas if b not in live
        ):
            raise command_failed(
                f"The proposed assignment contains non-existent brokerIDs: {','.join(strangers)}"
            )
        return proposal

    async def _throttle(self, proposal: Proposal, throttle: Throttle) -> None:
        """Write the lists of throttled replicas of the topics whose replicas move.

        The present replicas are throttled when they send, and the new replicas when they receive.
        """
        if throttle.inter_broker >= 0:
            current, proposed = await self._current(proposal.topics), proposal.partitions
            arriving = {
                tp: tuple(r for r in replicas if r not in current[tp])
                for tp, replicas in proposed.items()
            }
            giving = {tp: replicas for tp, replicas in current.items() if arriving.get(tp)}
            for topic in proposal.topics:
                values = throttled(giving, topic), throttled(arriving, topic)
                configs = await self._zk.get_entity_configs("topics", topic)
                await self._admin.change_topic_config(
                    topic, {**configs, **dict(zip(THROTTLED_REPLICAS, values, strict=True))}
                )
        await self._limit(proposal, throttle)
        if throttle.inter_broker >= 0:
            print(f"The inter-broker throttle limit was set to {throttle.inter_broker} B/s")
        if throttle.log_dirs >= 0:
            print(f"The replica-alter-dir throttle limit was set to {throttle.log_dirs} B/s")

    async def _limit(self, proposal: Proposal, throttle: Throttle) -> None:
        """Set the throttle's rates on every broker that has or gets a replica."""
        rates = (
            dict.fromkeys(THROTTLED_RATES, str(throttle.inter_broker))
            if throttle.inter_broker >= 0
            else {}
        )
        if throttle.log_dirs >= 0:
            rates[LOG_DIRS_RATE] = str(throttle.log_dirs)
        if not rates:
            return
        sets = [*(await self._current(proposal.topics)).values(), *proposal.partitions.values()]
        for broker_id in dict.fromkeys(b for replicas in sets for b in replicas):
            configs = await self._zk.get_entity_configs("brokers", str(broker_id))
            await self._admin.change_entity_config("brokers", str(broker_id), {**configs, **rates})

    async def _order(self, proposal: Proposal, timeout_ms: int) -> bool:
        """Write the wanted assignment.

        Return whether all replicas got into their log directories in time.

        If log directories are named, the tool first sends them to the brokers. It sends them again
        until all replicas exist.
        """
        if proposal.log_dirs and not self._bootstrap:
            raise command_failed(_NO_BROKERS)
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout_ms / 1000
        if proposal.log_dirs:
            async with open_admin(self._bootstrap, {}, CLIENT_ID) as admin:
                await alter_log_dirs(admin, proposal.log_dirs)
        try:
            await self._zk.create_partition_reassignment(proposal.partitions)
        except ZkError as error:
            if error.code is not ZkErrorCode.NODE_EXISTS:
                raise
            running = await self._zk.get_partition_reassignment() or {}
            listed = ", ".join(
                f"{tp} -> ArrayBuffer({', '.join(map(str, replicas))})"
                for tp, replicas in running.items()
            )
            raise command_failed(
                f"Partition reassignment currently in progress for Map({listed})."
                " Aborting operation"
            ) from None
        remaining = dict(proposal.log_dirs)
        while remaining and loop.time() < end:
            async with open_admin(self._bootstrap, {}, CLIENT_ID) as admin:
                for replica in await alter_log_dirs(admin, remaining):
                    del remaining[replica]
            if remaining:
                await asyncio.sleep(RETRY_S)
        return not remaining

    # Verify.

    async def verify(self, text: str) -> None:
        print("Status of partition reassignment: ")
        proposal = parse_proposal(text)
        wanted = proposal.partitions
        running = await self._zk.get_partition_reassignment() or {}
        current = await self._current(proposal.topics)
        results = {
            str(tp): self._state_of(tp, replicas, running, current)
            for tp, replicas in wanted.items()
        }
        moves = await self._check_log_dirs(proposal.log_dirs)
        for tp, result in results.items():
            print(f"Reassignment of partition {tp} {result}")
        for replica, result in moves.items():
            print(f"Reassignment of replica {replica} {result}")
        if {*results.values(), *moves.values()} <= {COMPLETED}:
            await self._remove_throttle(proposal.topics)

    @staticmethod
    def _state_of(
        tp: TopicPartition, wanted: tuple[int, ...], running: Assignment, current: Assignment
    ) -> str:
        if tp in running:
            return IN_PROGRESS
        if current.get(tp, ()) == wanted:
            return COMPLETED
        are, shall_be = ",".join(map(str, current.get(tp, ()))), ",".join(map(str, wanted))
        print(
            f"ERROR: Assigned replicas ({are}) don't match the list of replicas for reassignment"
            f" ({shall_be}) for partition {tp}"
        )
        return FAILED

    async def _check_log_dirs(self, wanted: Mapping[Replica, str]) -> dict[Replica, str]:
        if not wanted:
            return {}
        if not self._bootstrap:
            raise command_failed(_NO_BROKERS)
        async with open_admin(self._bootstrap, {}, CLIENT_ID) as admin:
            found = await describe_log_dirs(admin, wanted)
        results = {}
        for replica, log_dir in wanted.items():
            results[replica], complaint = log_dir_state(replica, found.get(replica), log_dir)
            if complaint:
                print(complaint)
        return results

    async def _remove_throttle(self, topics: Sequence[str]) -> None:
        """Remove the throttle after all replicas have moved: rates and lists of throttled replicas.

        The rates are removed from all brokers, because it is not known which brokers had them.
        """
        changed = False
        for broker_id in await self._zk.get_broker_ids():
            configs = await self._zk.get_entity_configs("brokers", str(broker_id))
            left = {
                key: value
                for key, value in configs.items()
                if key not in (*THROTTLED_RATES, LOG_DIRS_RATE)
            }
            if left != configs:
                await self._admin.change_entity_config("brokers", str(broker_id), left)
                changed = True
        for topic in topics:
            configs = await self._zk.get_entity_configs("topics", topic)
            left = {key: value for key, value in configs.items() if key not in THROTTLED_REPLICAS}
            if left != configs:
                await self._admin.change_topic_config(topic, left)
                changed = True
        if changed:
            print("Throttle was removed.")


def log_dir_state(replica: Replica, found: LogDirs | None, wanted: str) -> tuple[str, str]:
    """Return state and text of a replica that should be in the log directory `wanted`. No I/O."""
    on_broker = f"Partition {replica.topic}-{replica.partition} on broker {replica.broker_id}"
    nowhere = (
        f"Partition {replica.topic}-{replica.partition} is not found in any live log dir on broker"
        f" {replica.broker_id}."
    )
    match found:
        case None:
            return FAILED, nowhere
        case LogDirs(current=""):
            return FAILED, f"{nowhere} There is likely offline log directory on the broker."
        case LogDirs(future=future) if future:
            return (
                (IN_PROGRESS, "")
                if future == wanted
                else (FAILED, f"{on_broker} is being moved to log dir {future} instead of {wanted}")
            )
        case LogDirs(current=current):
            return (
                (COMPLETED, "")
                if current == wanted
                else (FAILED, f"{on_broker} is not being moved from log dir {current} to {wanted}")
            )
