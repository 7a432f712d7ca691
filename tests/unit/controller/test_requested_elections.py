"""auto.leader.rebalance as a pure function of the context: the measurement and the decision."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.cluster.broker import Broker
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_context import ControllerContext
from kafka_edu.controller.requested_elections import (
    ElectionType,
    LeaderImbalance,
    measure_imbalance,
)
from kafka_edu.trace.events.controller import (
    ElectionsHeld,
)
from kafka_edu.zk.zk_data import TopicAssignment
from tests.unit.controller.test_terms_of_office import T0

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def context_of(
    leaders: list[tuple[int, tuple[int, ...]]], live: tuple[int, ...] = (1, 2)
) -> ControllerContext:
    """Return a context with partitions of "t" with AR [2, 1], each with a leader and an ISR."""
    context = ControllerContext(1, 1)
    context.set_live_brokers(Broker(broker_id, ()) for broker_id in live)
    context.add_topic("t", TopicAssignment.of({number: [2, 1] for number in range(len(leaders))}))
    for number, (leader, isr) in enumerate(leaders):
        state = LeaderAndIsr(leader, 0, isr, 0)
        context.put_partition_leadership_info(
            TopicPartition("t", number), LeaderIsrAndControllerEpoch(state, 1)
        )
    return context


BOTH = (2, 1)


@pytest.mark.parametrize(("elsewhere", "given_back"), [(0, 0), (1, 0), (2, 2), (10, 10)])
def test_an_imbalance_of_ten_percent_is_accepted(elsewhere: int, given_back: int) -> None:
    context = context_of([(1 if number < elsewhere else 2, BOTH) for number in range(10)])
    (measured,) = measure_imbalance(context, 10)
    assert measured[:3] == (2, 10, elsewhere)
    assert measured.to_give_back == tuple(
        TopicPartition("t", number) for number in range(given_back)
    )


def test_only_where_the_preferred_replica_is_alive_and_in_sync() -> None:
    assert measure_imbalance(context_of([(1, BOTH), (1, (1,))]), 10) == [
        LeaderImbalance(2, 2, 2, (TopicPartition("t", 0),))
    ]
    assert measure_imbalance(context_of([(1, BOTH)], live=(1,)), 10)[0].to_give_back == ()


def test_not_while_replicas_are_being_moved_nor_of_a_topic_that_is_being_deleted() -> None:
    context = context_of([(1, BOTH)])
    context.partitions_being_reassigned.add(TopicPartition("other", 0))
    assert measure_imbalance(context, 10) == [LeaderImbalance(2, 1, 1, ())]
    context.partitions_being_reassigned.clear()
    context.topics_to_be_deleted.add("t")
    assert measure_imbalance(context, 10) == []


@given(
    st.lists(
        st.tuples(st.sampled_from((1, 2)), st.sampled_from((BOTH, (1,), (2,)))).filter(
            lambda state: state[0] in state[1]
        ),
        max_size=30,
    ),
    st.integers(0, 100),
)
def test_leaderships_given_back_are_led_elsewhere_and_can_move(
    leaders: list[tuple[int, tuple[int, ...]]], allowed: int
) -> None:
    for broker_id, preferred, elsewhere, to_give_back in measure_imbalance(
        context_of(leaders), allowed
    ):
        assert (broker_id, preferred) == (2, len(leaders))
        assert elsewhere == sum(leader != 2 for leader, _ in leaders)
        for tp in to_give_back:
            leader, isr = leaders[tp.partition]
            assert leader != 2
            assert 2 in isr
        if elsewhere * 100 <= preferred * allowed:
            assert not to_give_back


def test_preferred_replica_election_by_znode(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    for _ in range(2):  # the watch is set again
        cluster.run(cluster.controller.controller.controlled_shutdown(2, -1))
        cluster.kill(2)
        cluster.start(2)
        cluster.write_isr(T0, [1, 2])
        cluster.run(
            cluster.admin.create_preferred_replica_election([T0, TopicPartition("unknown", 7)])
        )
        cluster.settle()
        assert cluster.states()[0].startswith("t-0 leader=2 ")
        assert cluster.run(cluster.hand.exists("/admin/preferred_replica_election")) is None


def test_requested_elections_return_the_result_of_each(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1], [1, 2])
    asked = [T0, TopicPartition("t", 1), TopicPartition("gone", 0)]
    cluster.run(cluster.admin.create_preferred_replica_election(asked))
    cluster.settle()
    refused = (
        ("t-0", "ELECTION_NOT_NEEDED"),
        ("t-1", "ELECTION_NOT_NEEDED"),
        ("gone-0", "UNKNOWN_TOPIC_OR_PARTITION"),
    )
    (held,) = [e for e in cluster.controller.facts("ElectionsHeld") if isinstance(e, ElectionsHeld)]
    assert (held.trigger, held.election_type, held.asked, held.elected) == (
        "/admin/preferred_replica_election",
        "preferred",
        3,
        0,
    )
    assert sorted(held.refused) == sorted(refused)
    results = cluster.run(cluster.controller.controller.elect_leaders([T0], ElectionType.UNCLEAN))
    assert {str(tp): result.error.name for tp, result in results.items()} == {
        "t-0": "ELECTION_NOT_NEEDED"
    }
