"""A client reaches its bootstrap server and then cannot reach the broker: the advertised address is
not the address that the client connected to (spec B4; docs/listeners.md).
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient

from kafka_edu.common.ports import free_ports
from kafka_edu.supervisor.cluster import start_cluster
from kafka_edu.supervisor.cluster_spec import HOST, Wish
from tests.interop.client_contract import create_topic, rd, read_to_end
from tests.waiting import PATIENCE_S, wait_for

TOPIC: Final = "doors"
GIVE_UP_MS: Final = 2_000
pytestmark = pytest.mark.interop


class Doors(NamedTuple):
    """A broker with five listeners: the port of each, and the address that each advertises."""

    ports: dict[str, int]
    advertised: dict[str, str]

    def servers(self, name: str) -> str:
        return f"127.0.0.1:{self.ports[name]}"


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    names = ("INSIDE", "NAMED", "ELSEWHERE", "CLOSED", "SILENT")
    free = free_ports(HOST)
    ports = {name: next(free) for name in names}
    advertised = {
        "INSIDE": f"127.0.0.1:{ports['INSIDE']}",
        "NAMED": f"localhost:{ports['NAMED']}",
        "ELSEWHERE": f"kafka.invalid:{ports['ELSEWHERE']}",
        "CLOSED": f"127.0.0.1:{next(free)}",
    }
    props = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://{where}" for name, where in advertised.items()),
        "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in names),
        "inter.broker.listener.name": "INSIDE",
    }
    cluster = start_cluster(
        "doors",
        Wish(1, ports["INSIDE"], None, props),
        tmp_path_factory.mktemp("doors"),
        temporary=True,
    )
    try:
        cluster.wait_ready()
        found = Doors(ports, advertised)
        create_topic(found.servers("INSIDE"), TOPIC, 1)
        yield found
    finally:
        cluster.down(delete=True)


class Produced(NamedTuple):
    """The outcome for one record, and the client's log messages."""

    brokers: dict[int, str]
    """The brokers as this listener's Metadata names them."""
    error: KafkaError | None
    errors: set[str]


def produce(servers: str, value: bytes, why: str | None = None) -> Produced:
    """Produce one record. With `why`, the producer gives it up soon, and the function waits for
    that error, because a name service may take some time.
    """
    errors: set[str] = set()
    fates: list[KafkaError | None] = []
    give_up_ms = PATIENCE_S * 1000 if why is None else GIVE_UP_MS
    producer = Producer(
        rd(servers, message_timeout_ms=give_up_ms)
        | {"error_cb": lambda error: errors.add(error.name())}
    )
    brokers = {
        broker.id: f"{broker.host}:{broker.port}"
        for broker in producer.list_topics(timeout=PATIENCE_S).brokers.values()
    }
    producer.produce(TOPIC, value, partition=0, on_delivery=lambda error, _: fates.append(error))
    producer.flush(PATIENCE_S)
    (fate,) = fates

    def said() -> bool:
        producer.poll(0)
        return not why or why in errors

    wait_for(said, f"it says {why}")
    return Produced(brokers, fate, errors)


@pytest.mark.parametrize("door", ["INSIDE", "NAMED"])
def test_a_door_that_is_advertised_as_it_can_be_reached(doors: Doors, door: str) -> None:
    assert produce(doors.servers(door), door.encode()) == Produced(
        {0: doors.advertised[door]}, None, set()
    )


@pytest.mark.parametrize(("door", "why"), [("ELSEWHERE", "_RESOLVE"), ("CLOSED", "_TRANSPORT")])
def test_a_client_bootstraps_and_then_cannot_reach_the_advertised_address(
    doors: Doors, door: str, why: str
) -> None:
    produced = produce(doors.servers(door), b"never", why)
    assert produced.brokers == {0: doors.advertised[door]}
    assert produced.error is not None
    assert produced.error.code() == KafkaError._MSG_TIMED_OUT


def test_a_listener_that_is_not_advertised_lists_no_broker(doors: Doors) -> None:
    """The connection works. But the partition has no leader for a client of this listener, and
    Metadata lists no broker that the client could use instead.
    """
    partition = (
        AdminClient(rd(doors.servers("SILENT")))
        .list_topics(TOPIC, timeout=PATIENCE_S)
        .topics[TOPIC]
        .partitions[0]
    )
    assert partition.leader == -1
    assert partition.error is not None
    assert partition.error.name() in ("LISTENER_NOT_FOUND", "LEADER_NOT_AVAILABLE")
    produced = produce(doors.servers("SILENT"), b"never", "")
    assert produced.brokers == {}
    assert produced.error is not None
    assert produced.error.code() == KafkaError._MSG_TIMED_OUT


def test_what_was_produced_by_any_door_is_in_the_one_log(doors: Doors) -> None:
    for number, door in enumerate(("INSIDE", "NAMED", "NAMED")):
        assert produce(doors.servers(door), f"again {number}".encode()).error is None
    values = read_to_end(doors.servers("NAMED"), TOPIC, "read_committed", 1, 3)
    assert values[-3:] == ["again 0", "again 1", "again 2"]
    assert "never" not in values
