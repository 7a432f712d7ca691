"""Make the preferred replicas leaders again (Kafka: kafka-preferred-replica-election.sh).

It writes the znode /admin/preferred_replica_election and exits. The controller reads the znode,
elects leaders, and deletes the znode. Like Kafka's tool, it exits with 0 even after a failure.
(Kafka: PreferredReplicaLeaderElectionCommand.scala of 2.0)
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.election_file import EXAMPLE, PREFERRED_2_0, parse_partitions
from kafka_edu.tools.options import OptionParser, UsageError, check_required
from kafka_edu.tools.tool import (
    ToolCommand,
    ToolError,
    command_failed,
    java_class,
    read_text_file,
    run_tool,
    text_of,
)

PURPOSE: Final = (
    "This tool causes leadership for each partition to be transferred back to the 'preferred"
    " replica', it can be used to balance leadership among the servers."
)


async def order_elections(connect: str, wanted: Sequence[TopicPartition] | None) -> None:
    """Write the `wanted` partitions into the znode, without those that do not exist, and print
    them.

    `wanted` None means all partitions. Raises ToolError.
    """
    from kafka_edu.tools.zookeeper import zookeeper
    from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

    async with zookeeper(connect) as zk:
        assignments = await zk.get_assignment_for_topics(await zk.get_all_topics_in_cluster())
        there = {
            TopicPartition(topic, number)
            for topic, assignment in assignments.items()
            for number in assignment.partitions
        }
        listed = sorted(there) if wanted is None else wanted
        chosen = [tp for tp in listed if tp in there]
        try:
            await zk.create_preferred_replica_election(chosen)
        except ZkError as error:
            if error.code is not ZkErrorCode.NODE_EXISTS:
                raise
            running = ",".join(map(str, await zk.get_preferred_replica_election() or []))
            raise command_failed(
                "Admin command failed\nCaused by: kafka.admin.AdminOperationException: Preferred"
                f" replica leader election currently in progress for {running}. Aborting operation",
            ) from None
        print(f"Created preferred replica election path with {','.join(map(str, chosen))}")
        print(
            "Successfully started preferred replica election for partitions"
            f" Set({', '.join(map(str, chosen))})"
        )
        for tp in listed:
            if tp not in there:
                print(
                    f"Skipping preferred replica leader election for partition {tp} since it"
                    " doesn't exist."
                )


def main(words: Sequence[str]) -> int:
    parser = OptionParser()
    json_file = parser.text(
        "path-to-json-file",
        f"A file that says which partitions are meant, as in\n{EXAMPLE}\nAll, if there is none.",
        "list of partitions for which preferred replica leader election needs to be triggered",
    )
    connect = parser.text("zookeeper", "REQUIRED: ZooKeeper's host:port, or several.", "urls")

    def run() -> int:
        from kafka_edu.zk.zk_client import ZkError

        if not words:
            raise UsageError(PURPOSE)
        given = parser.parse(words)
        check_required(given, connect)
        try:
            file = given.value(json_file)
            wanted = parse_partitions(read_text_file(file), PREFERRED_2_0) if file else None
            asyncio.run(order_elections(given.one(connect), wanted))
        except (ToolError, ZkError, OSError) as failed:
            print(
                f"Failed to start preferred replica election\n{java_class(failed)}:"
                f" {text_of(failed)}"
            )
        return 0

    return run_tool(parser, words, run, PURPOSE)


preferred_replica_election = ToolCommand("preferred-replica-election", main, PURPOSE)
