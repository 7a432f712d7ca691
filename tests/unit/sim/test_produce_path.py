"""docs/produce-path.md, compared with the real path of one produce request with acks=all."""

import re
from pathlib import Path

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.events.network import RequestReceived
from kafka_edu.trace.events.purgatory import OperationCompleted, OperationWatched

ROOT = Path(__file__).parents[3]


def documented_hops() -> list[tuple[str, str]]:
    """Return (class, event) of each row in the page's table. After the event of a delayed operation
    comes the name of its purgatory.
    """
    rows = re.findall(
        r"^\| \d+ \| (\w+) \|.*\| `(\w+)`(.*) \|$",
        (ROOT / "docs" / "produce-path.md").read_text(encoding="utf-8"),
        re.M,
    )
    return [(where, name + purgatory) for where, name, purgatory in rows]


def waiting_fetches(events: list[Envelope]) -> int:
    """Return how many fetches still wait for records after these events."""
    found: dict[type, set[tuple[int, int]]] = {OperationWatched: set(), OperationCompleted: set()}
    for told in events:
        if (
            isinstance(told.event, OperationWatched | OperationCompleted)
            and told.event.purgatory == "Fetch"
        ):
            found[type(told.event)].add((told.broker, told.event.operation))
    return len(found[OperationWatched] - found[OperationCompleted])


@pytest.mark.parametrize("seed", range(4))
def test_the_page_tells_the_hops_in_the_order_in_which_they_happen(seed: int) -> None:
    cluster = SimCluster(seed, (1, 2, 3), level=Level.HOPS)
    cluster.start_all()
    client = SimClient(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 1, 3)) is Errors.NONE
    cluster.advance(1000)
    # Repeat until both followers' fetches wait when the produce comes. Sometimes one of them was
    # just answered, and the follower has not sent the next fetch yet.
    while True:
        before = len(cluster.sink.events)
        answer = client.produce(TopicPartition("t", 0), "hello", -1)
        cluster.advance(100)
        assert answer.acked is not None
        assert answer.acked.error is Errors.NONE
        told = cluster.sink.events[before:]
        produce = next(
            e
            for e in told
            if isinstance(e.event, RequestReceived) and e.event.api_key == ApiKey.PRODUCE
        )
        if waiting_fetches(cluster.sink.events[: before + told.index(produce)]) == 2:
            break
    leader = produce.broker
    connection = produce.event.connection_id if isinstance(produce.event, RequestReceived) else ""

    def of_this_request(envelope: Envelope) -> bool:
        event = envelope.event
        if hasattr(event, "connection_id"):
            return bool(event.connection_id == connection)
        return True

    def name(envelope: Envelope) -> str:
        purgatory = getattr(envelope.event, "purgatory", "")
        return f"{envelope.name} of {purgatory}" if purgatory else envelope.name

    happened = [
        ("leader" if e.broker == leader else "follower", name(e))
        for e in told[told.index(produce) :]
        if of_this_request(e)
    ]
    hops = documented_hops()
    assert len(hops) == 12
    position = 0
    for hop in hops:
        assert hop in happened[position:], f"{hop} does not come after {happened[position - 1]}"
        position = happened.index(hop, position) + 1


def test_every_module_on_the_page_exists() -> None:
    for module in re.findall(
        r"`(\w+/[\w/]+\.py)`", (ROOT / "docs" / "produce-path.md").read_text(encoding="utf-8")
    ):
        assert (ROOT / "kafka_edu" / module).exists() or (ROOT / module).exists(), module
