"""Three brokers with different listeners, and Metadata's answer through each listener (spec B4).

broker   INSIDE (between brokers too)   OUTSIDE
0        advertised                     advertised, under a name of its own
1        advertised                     none
2        advertised                     listens, but is not advertised
"""

from collections.abc import Mapping
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

BROKERS: Final = 3
TOPIC: Final = "t"
ASSIGNMENT: Final = ((0, 1), (1, 0), (2, 0), (2, 1))
OUTSIDE_NAME: Final = "kafka.invalid"
OUTSIDE_PORT: Final = 29_999
VERSIONS: Final = (0, 1, 5, 6)
DOORS: Final = (("INSIDE", 0), ("OUTSIDE", 0), ("OUTSIDE", 2))


def properties(
    broker: int, inside: Mapping[int, int], outside: Mapping[int, int]
) -> dict[str, str]:
    """Return the broker's listener settings. `inside` and `outside` are ports by broker."""
    here = f"INSIDE://127.0.0.1:{inside[broker]}"
    listeners = here if broker == 1 else f"{here},OUTSIDE://127.0.0.1:{outside[broker]}"
    found = {
        "listeners": listeners,
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
    }
    if broker == 0:
        found["advertised.listeners"] = f"{here},OUTSIDE://{OUTSIDE_NAME}:{OUTSIDE_PORT}"
    if broker == 2:
        found["advertised.listeners"] = here
    return found


def create_topic() -> CreateTopicsRequest:
    """Return the request, in version 2, for the controller."""
    assignments = [
        CreatableReplicaAssignment(partition_index=i, broker_ids=list(brokers))
        for i, brokers in enumerate(ASSIGNMENT)
    ]
    topic = CreatableTopic(
        name=TOPIC, num_partitions=-1, replication_factor=-1, assignments=assignments, configs=[]
    )
    return CreateTopicsRequest(topics=[topic], timeout_ms=20_000)


def metadata() -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])


def told(response: MetadataResponse, inside: Mapping[int, int]) -> list[str]:
    """Return the brokers and partitions of an answer as lines, with names in place of ports."""
    names = {port: f"inside-{broker}" for broker, port in inside.items()} | {
        OUTSIDE_PORT: "outside"
    }
    lines = [
        f"  broker {b.node_id} {b.host}:{names[b.port]}"
        for b in sorted(response.brokers, key=lambda b: b.node_id)
    ]
    for p in sorted(response.topics[0].partitions, key=lambda p: p.partition_index):
        error = Errors.of(p.error_code).name
        lines.append(
            f"  {TOPIC}-{p.partition_index} {error} leader {p.leader_id} replicas {p.replica_nodes}"
            f" isr {p.isr_nodes} offline {p.offline_replicas}"
        )
    return lines
