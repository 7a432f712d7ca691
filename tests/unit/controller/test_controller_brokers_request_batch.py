"""The requests of one event, gathered by broker."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_a_broker_that_changes_its_listeners_is_made_known(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.sent()

    async def change() -> None:
        data, _ = await cluster.hand.get("/brokers/ids/2")
        await cluster.hand.set("/brokers/ids/2", data.replace(b"9094", b"9999"))

    cluster.run(change())
    cluster.settle()
    broker_id, request = cluster.requests[0]
    assert broker_id == 1
    assert [[e.port for e in b.endpoints] for b in request.live_brokers] == [[9093], [9999]]  # type: ignore[attr-defined]


def test_at_level_2_0_the_requests_are_those_of_2_0(cluster_2_0: "ControllerCluster") -> None:
    cluster = cluster_2_0
    cluster.start(1)
    cluster.create_topic("t", [1])
    first = cluster.requests[1][1]
    assert [p.topic_name for p in first.ungrouped_partition_states] == ["t"]  # type: ignore[attr-defined]
    assert (
        cluster.run(cluster.hand.get("/brokers/topics/t"))[0]
        == b'{"version":1,"partitions":{"0":[1]}}'
    )
