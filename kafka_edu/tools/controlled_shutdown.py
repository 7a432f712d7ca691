"""Let the controller move a broker's leaderships to other brokers, as before the broker stops.

Book 000 §6.4.2 proposes such a program (spec G4). ControlledShutdownRequest names a broker, but it
does not prove that this broker sent it. So any client may send it to the controller for any broker.
The named broker keeps running and is not informed. Afterwards it leads no partition that has
another replica in sync. The controller gives it no leadership until the broker is restarted or the
controller changes. The broker follows the partitions that it led before. The controller orders it
to stop following all its other partitions, and it leaves their ISRs.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.options import OptionParser, check_required
from kafka_edu.tools.tool import ToolCommand, run_tool

if TYPE_CHECKING:
    from kafka_edu.clients.admin.brokers import Brokers
    from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownResponse

PURPOSE: Final = (
    "This tool has the controller move a broker's leaders away, without stopping the broker."
)
NOT_CHECKED: Final = -1


async def broker_epoch(connect: str, broker_id: int) -> int:
    """Return the broker's epoch: the czxid of its registration. -1: it is not registered.

    Raises ToolError.
    """
    from kafka_edu.tools.zookeeper import zookeeper

    async with zookeeper(connect) as zk:
        broker = await zk.get_broker(broker_id)
    return NOT_CHECKED if broker is None else broker.epoch


def error_of(answer: "ControlledShutdownResponse") -> Errors:
    """Return the response's error.

    A broker that is not the controller answers STALE_CONTROLLER_EPOCH. Another broker must then get
    the request.
    """
    error = Errors.of(answer.error_code)
    return Errors.NOT_CONTROLLER if error is Errors.STALE_CONTROLLER_EPOCH else error


async def shut_down(
    servers: str, client_id: str, broker_id: int, epoch: int
) -> list[TopicPartition]:
    """Send the request to the controller and print the result.

    Return the partitions whose leadership could not be moved. Raises KafkaException, OSError,
    ToolError.
    """
    from kafka_edu.protocol.messages.controlled_shutdown import (
        ControlledShutdownRequest,
        ControlledShutdownResponse,
    )
    from kafka_edu.tools.tool import connect_brokers

    async with connect_brokers(servers, client_id) as brokers:
        request = ControlledShutdownRequest(broker_id=broker_id, broker_epoch=epoch)
        answer = await brokers.ask_controller(request, ControlledShutdownResponse, error_of)
        if answer.error_code:
            raise KafkaException(Errors.of(answer.error_code))
        remaining = sorted(
            TopicPartition(each.topic_name, each.partition_index)
            for each in answer.remaining_partitions
        )
        print(
            f"Controller {brokers.nodes[brokers.controller_id]} moved the leaders of broker"
            f" {broker_id} away."
        )
        print(f"Partitions remaining: {_listed(remaining)}")
        alone = await _led_alone(brokers, broker_id)
        if alone:
            print(f"Not counted, because no other replica could lead: {_listed(alone)}")
        if not remaining:
            print(
                f"Broker {broker_id} keeps running. The controller gives it no leadership until it"
                " is started again, or the controller changes."
            )
    return remaining


async def _led_alone(brokers: "Brokers", broker_id: int) -> list[TopicPartition]:
    """Return the partitions whose only replica is on that broker (the third case in the book).

    The controller's answer does not include them.
    """
    topics = (await brokers.metadata(None)).topics
    return sorted(
        TopicPartition(topic.name, partition.partition_index)
        for topic in topics
        for partition in topic.partitions
        if partition.replica_nodes == [broker_id]
    )


def _listed(partitions: Sequence[TopicPartition]) -> str:
    return ", ".join(map(str, partitions)) or "none"


def main(words: Sequence[str]) -> int:
    """Run the tool. Return 1 if a leadership remains or the controller refused, else 0."""
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
        given = parser.parse(words)
        check_required(given, bootstrap_server, broker)
        broker_id = given.one(broker)
        hosts = given.value(connect)
        epoch = asyncio.run(broker_epoch(hosts, broker_id)) if hosts else NOT_CHECKED
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
