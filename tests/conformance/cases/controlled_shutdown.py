"""ControlledShutdown requests from any client for any broker, as §6.4.2 of the book proposes."""

from typing import Final

from kafka_edu.protocol.messages.controlled_shutdown import ControlledShutdownRequest
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.conformance.cases.admin_topics import create
from tests.conformance.replay import Asker

SETTINGS: Final[dict[str, str]] = {}
DIFFERENT: Final[dict[str, str]] = {
    "an unknown broker with an epoch, ControlledShutdownRequest v2": (
        "STALE_BROKER_EPOCH, where Apache Kafka's look-up fails"
    ),
    "an unknown broker with an epoch, ControlledShutdownRequest v3": (
        "STALE_BROKER_EPOCH, where Apache Kafka's look-up fails"
    ),
}
LONG_AGO: Final = 0
AHEAD: Final = 1 << 40


def ask_all(asker: Asker) -> None:
    asker.ask("create", create("l", 2), 4)
    for version in range(4):
        for broker_id in (7, -1):
            asker.ask(
                f"broker {broker_id}", ControlledShutdownRequest(broker_id=broker_id), version
            )
    for version in (2, 3):
        asker.ask(
            "an unknown broker with an epoch",
            ControlledShutdownRequest(broker_id=7, broker_epoch=AHEAD),
            version,
        )
        asker.ask(
            "a life of long ago",
            ControlledShutdownRequest(broker_id=0, broker_epoch=LONG_AGO),
            version,
        )
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name="l")])
    asker.ask("its partitions", metadata, 8)
    for version in range(4):
        asker.ask("the only broker", ControlledShutdownRequest(broker_id=0), version)
    for version in (2, 3):
        asker.ask(
            "an epoch to come", ControlledShutdownRequest(broker_id=0, broker_epoch=AHEAD), version
        )
    asker.ask("who is alone leads on", metadata, 8)
    asker.ask("create, while the only broker is going", create("m", 1), 4)
    asker.ask(
        "a topic that nobody may lead", MetadataRequest(topics=[MetadataRequestTopic(name="m")]), 8
    )
