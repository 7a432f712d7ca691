"""Let the controller move a broker's leaderships to other brokers, as if the broker were about to
stop.

Book 000 §6.4.2 proposes such a program (spec G4). ControlledShutdownRequest names a broker, but it
does not prove that this broker sent it. So any client may send it to the controller for any broker.
The named broker keeps running and is not informed. Afterwards the named broker leads no partition
that has a second replica in sync. The controller gives it no leadership until the broker is
restarted or the controller changes. The broker follows the partitions that it led before. For all
its other partitions, the controller orders it to stop following, and it leaves their ISRs.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.options import OptionParser, check_required
from kafka_edu.tools.tool import ToolCommand, run_tool

if TYPE_CHECKING:
    from kafka_edu.clients.admin.admin import Admin

PURPOSE: Final = (
    "This tool has the controller move a broker's leaders away, without stopping the broker."
)


async def broker_epoch(connect: str, broker_id: int) -> int:
    """Return the broker's epoch: the czxid of its registration. -1 if it is not registered.

    Raises ToolError.
    """
    from kafka_edu.protocol.messages.controlled_shutdown import EPOCH_NOT_CHECKED
    from kafka_edu.tools.zookeeper import zookeeper

    async with zookeeper(connect) as zk:
        broker = await zk.get_broker(broker_id)
    return EPOCH_NOT_CHECKED if broker is None else broker.epoch


async def shut_down(
    servers: str, client_id: str, broker_id: int, epoch: int
) -> Sequence[TopicPartition]:
    """Send the request to the controller and print the result.

    Return the partitions whose leadership could not be moved. Raises KafkaException,
    AdminTimeoutError, ToolError.
    """
    from kafka_edu.clients.admin.cluster_calls import CLUSTER
    from kafka_edu.clients.admin.cluster_calls import controlled_shutdown as call
    from kafka_edu.tools.admin_client import open_admin

    async with open_admin(servers, {}, client_id) as admin:
        controller, remaining = (await admin.ask(call(broker_id, epoch)))[CLUSTER]
        print(f"Controller {controller} moved the leaders of broker {broker_id} away.")
        print(f"Partitions remaining: {_listed(remaining)}")
        alone = await _led_alone(admin, broker_id)
        if alone:
            print(f"Not counted, because no other replica could lead: {_listed(alone)}")
        if not remaining:
            print(
                f"Broker {broker_id} keeps running. The controller gives it no leadership until it"
                " is started again, or the controller changes."
            )
    return remaining


async def _led_alone(admin: "Admin", broker_id: int) -> list[TopicPartition]:
    """Return the partitions whose only replica is on that broker (the third case in the book).

    The controller's answer does not include these partitions.
    """
    names = await admin.list_topics(list_internal=True)
    topics = (await admin.describe_topics(names)).existing()
    return sorted(
        TopicPartition(topic.name, each.partition)
        for topic in topics.values()
        for each in topic.partitions
        if [replica.id for replica in each.replicas] == [broker_id]
    )


def _listed(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions)) or "none"


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 1 if a leadership remains or the controller refused, otherwise 0."""
    parser = OptionParser()
    bootstrap_server = parser.text(
        "bootstrap-server",
        "REQUIRED: The broker to ask for the controller.",
        "server(s) to use for bootstrapping",
    )
    broker = parser.integer(
        "broker", "REQUIRED: The id of the broker whose leaders are to move.", "broker id"
    )
    connect = parser.text(
        "zookeeper",
        "ZooKeeper's host:port, or several: the broker's epoch is read there, and checked by the"
        " controller. Without it, -1 is sent.",
        "hosts",
    )
    client_id = parser.text("client-id", "The client id of the tool.", "id")

    def run() -> int:
        from kafka_edu.protocol.messages.controlled_shutdown import EPOCH_NOT_CHECKED

        given = parser.parse(words)
        check_required(given, bootstrap_server, broker)
        broker_id = given.one(broker)
        hosts = given.value(connect)
        epoch = asyncio.run(broker_epoch(hosts, broker_id)) if hosts else EPOCH_NOT_CHECKED
        return (
            1
            if asyncio.run(
                shut_down(
                    given.one(bootstrap_server),
                    given.value(client_id) or "controlled-shutdown",
                    broker_id,
                    epoch,
                )
            )
            else 0
        )

    return run_tool(parser, words, run, PURPOSE)


controlled_shutdown = ToolCommand("controlled-shutdown", main, PURPOSE)
