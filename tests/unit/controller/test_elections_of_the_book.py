"""The elections of the book, sentence by sentence: who leads, and the reason that is given.

(000 §6.4.3; 003, 分區leader的選舉.) The book's cluster has brokers 0, 1 and 2, and a topic
"topic-leader" of three partitions with three replicas each.
"""

from collections.abc import Sequence

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.controller.leader_election import (
    ElectionStrategy,
    Explanation,
    elect,
    explain,
    first_leader,
)

TOPIC_LEADER = {0: (1, 2, 0), 1: (2, 0, 1), 2: (0, 1, 2)}


def decide(
    strategy: ElectionStrategy,
    isr: Sequence[int],
    assignment: Sequence[int],
    live: Sequence[int],
    going: Sequence[int] = (),
    unclean: bool = False,
    old_leader: int = 0,
) -> tuple[LeaderAndIsr | None, Explanation]:
    elected = elect(
        strategy, LeaderAndIsr(old_leader, 0, tuple(isr), 0), assignment, live, going, unclean
    )
    return elected, explain(
        strategy, isr, assignment, live, going, unclean, elected.leader if elected else None
    )


def test_6_4_3_a_new_partition_is_led_by_the_first_live_one_of_ar() -> None:
    """创建分区 … OfflinePartitionLeaderElectionStrategy."""
    assert (
        first_leader((1, 2, 0), (1, 2, 0)).why
        == "the partition is new, and 1 is the first of AR [1, 2, 0] that is alive"
    )
    why, passed_over = first_leader((1, 2, 0), (2, 0))
    assert why == "the partition is new, and 2 is the first of AR [1, 2, 0] that is alive"
    assert passed_over == (
        (1, "it is not alive"),
        (0, "it could lead too, but comes after 2 in AR"),
    )
    assert (
        first_leader((1, 2, 0), ()).why
        == "the partition is new, and no replica of AR [1, 2, 0] is alive"
    )


@pytest.mark.parametrize(
    ("partition", "isr", "leader"), [(0, (2, 0, 1), 1), (1, (2, 0, 1), 2), (2, (0, 2, 1), 1)]
)
def test_6_4_3_by_the_order_of_ar_and_not_of_the_isr(
    partition: int, isr: tuple[int, ...], leader: int
) -> None:
    """注意这里是根据AR的顺序而不是ISR的顺序进行选举的.

    When broker 0 goes, only partition 2 gets a new leader: broker 1, although broker 2 comes first
    in the ISR.
    """
    elected, said = decide(ElectionStrategy.OFFLINE_PARTITION, isr, TOPIC_LEADER[partition], (1, 2))
    assert elected is not None
    assert elected.leader == leader
    assert 0 not in elected.isr
    assert dict(said.passed_over)[0] == "it is not alive"


def test_6_4_3_the_isr_s_order_is_named_where_it_would_have_decided_otherwise() -> None:
    elected, said = decide(ElectionStrategy.OFFLINE_PARTITION, (0, 2, 1), (0, 1, 2), (1, 2))
    assert elected == LeaderAndIsr(1, 1, (2, 1), 0)
    assert said == Explanation(
        "1 is the first of AR [0, 1, 2] that is alive and in the ISR [0, 2, 1]",
        (
            (0, "it is not alive"),
            (
                2,
                "it could lead too, but comes after 1 in AR; the order of the ISR does not count",
            ),
        ),
    )


def test_6_4_3_alive_is_not_enough() -> None:
    """查找第一个存活的副本,并且这个副本在ISR集合中."""
    elected, said = decide(ElectionStrategy.OFFLINE_PARTITION, (0, 2), (0, 1, 2), (1, 2))
    assert elected is not None
    assert elected.leader == 2
    assert (
        dict(said.passed_over)[1]
        == "it is not in the ISR: it may lack records that were acknowledged"
    )


def test_6_4_3_nobody_of_the_isr_is_there_and_unclean_is_false() -> None:
    """unclean.leader.election.enable 默认值为 false."""
    elected, said = decide(ElectionStrategy.OFFLINE_PARTITION, (0,), (0, 1, 2), (1, 2))
    assert elected is None
    assert (
        said.why
        == "no replica of AR [0, 1, 2] is alive and in the ISR [0], and an unclean election is not"
        " allowed: the partition waits for its ISR"
    )
    assert [broker for broker, _ in said.passed_over] == [0, 1, 2]


def test_6_4_3_nobody_of_the_isr_is_there_and_unclean_is_true() -> None:
    """从AR列表中找到第一个存活的副本即为leader."""
    elected, said = decide(
        ElectionStrategy.OFFLINE_PARTITION, (0,), (0, 1, 2), (1, 2), unclean=True
    )
    assert elected == LeaderAndIsr(1, 1, (1,), 0)
    assert (
        said.why
        == "no replica of AR [0, 1, 2] is alive and in the ISR [0]; an unclean election is allowed,"
        " and 1 is the first of AR that is alive: records that it lacks are lost"
    )
    assert dict(said.passed_over)[0] == "it is in the ISR, but not alive"
    nobody, said = decide(ElectionStrategy.OFFLINE_PARTITION, (0,), (0, 1, 2), (), unclean=True)
    assert nobody is None
    assert said.why == "no replica of AR [0, 1, 2] is alive"


def test_6_4_3_reassignment_takes_the_first_of_the_new_ar() -> None:
    """从重分配的AR列表中找到第一个存活的副本,且这个副本在目前的ISR列表中."""
    elected, said = decide(ElectionStrategy.REASSIGN_PARTITION, (0, 1, 4), (3, 4), (0, 1, 3, 4))
    assert elected is not None
    assert elected.leader == 4
    assert said.why == "4 is the first of the new AR [3, 4] that is alive and in the ISR [0, 1, 4]"
    nobody, said = decide(ElectionStrategy.REASSIGN_PARTITION, (0, 1), (3, 4), (0, 1, 3, 4))
    assert nobody is None
    assert said.why == "no replica of the new AR [3, 4] is alive and in the ISR [0, 1]"


def test_003_the_preferred_replica_is_the_first_of_ar() -> None:
    """直接將優先副本設置為leader即可,AR集合中的第一個副本即為優先副本."""
    elected, said = decide(
        ElectionStrategy.PREFERRED_REPLICA, (1, 2, 0), (0, 1, 2), (0, 1, 2), old_leader=1
    )
    assert elected is not None
    assert elected.leader == 0
    assert (
        said.why
        == "0 is the preferred replica, the first of AR [0, 1, 2], and alive and in the ISR [1,"
        " 2, 0]"
    )
    assert set(dict(said.passed_over).values()) == {"it is not the first of AR"}
    nobody, said = decide(
        ElectionStrategy.PREFERRED_REPLICA, (1, 2), (0, 1, 2), (0, 1, 2), old_leader=1
    )
    assert nobody is None
    behind = "it is not in the ISR: it may lack records that were acknowledged"
    assert (
        said.why
        == f"0 is the preferred replica, the first of AR [0, 1, 2], but {behind}: the leader stays"
    )
    nobody, said = decide(
        ElectionStrategy.PREFERRED_REPLICA, (1, 2, 0), (0, 1, 2), (1, 2), old_leader=1, going=(0,)
    )
    assert nobody is None
    assert (
        said.why
        == "0 is the preferred replica, the first of AR [0, 1, 2], but its broker is shutting down:"
        " the leader stays"
    )


def test_6_4_3_a_controlled_shutdown_passes_over_the_broker_that_goes() -> None:
    """与此同时还要确保这个副本不处于正在被关闭的节点上."""
    elected, said = decide(
        ElectionStrategy.CONTROLLED_SHUTDOWN, (0, 2, 1), (0, 1, 2), (0, 1, 2), going=(0,)
    )
    assert elected == LeaderAndIsr(1, 1, (2, 1), 0)
    assert (
        said.why
        == "1 is the first of AR [0, 1, 2] that is alive, in the ISR [0, 2, 1] and not shutting"
        " down"
    )
    assert dict(said.passed_over)[0] == "its broker is shutting down"
    nobody, said = decide(
        ElectionStrategy.CONTROLLED_SHUTDOWN, (0,), (0, 1, 2), (0, 1, 2), going=(0,)
    )
    assert nobody is None
    assert said.why == "no replica of AR [0, 1, 2] is alive, in the ISR [0] and not shutting down"
