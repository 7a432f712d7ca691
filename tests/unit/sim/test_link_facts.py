"""The facts about links come from the network, so they say the true state of each link."""

import pytest

from kafka_edu.common.link_faults import Link, LinkFault
from kafka_edu.sim.scenario.language import parse
from kafka_edu.sim.scenario.scenario_run import ScenarioRun
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.supervisor import LinkChanged

RUN = """\
> cluster brokers=3 sim.cluster=real
{acts}
> run 3s
> settle 1s
"""
CUT = LinkFault(cut=True)


def changes(*acts: str) -> list[tuple[str, str]]:
    """Play a run with these acts. Return its changes of links, each with the link's new state."""
    facts: list[Envelope] = []
    run = ScenarioRun(parse(RUN.format(acts="\n".join(f"> {act}" for act in acts)), "links"), 1)
    run.cluster.sink.listeners.append(facts.append)
    result = run.play()
    assert result.holds, result.violations
    assert run.cluster.link_faults() == {}, "every link is whole at the end of the run"
    return [
        (str(Link(e.broker, e.other, e.side)), str(LinkFault(e.delay_ms, e.cut)))
        for e in (fact.event for fact in facts)
        if isinstance(e, LinkChanged)
    ]


def test_the_end_of_one_fault_does_not_hide_another_one() -> None:
    link = "between brokers 0 and 1"
    assert changes(
        "at 200ms delay-link 1 0 by 50ms for 600ms",
        "at 400ms cut 0 1 for 200ms",
        "at 500ms cut-one-way 1 0 for 700ms",
    ) == [
        (link, "slow by 50 ms"),
        (link, "cut"),
        (link, "cut"),  # not slow any more, and the one-way cut holds on
        (link, "whole"),
    ]


@pytest.mark.parametrize("one_way", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_link_is_whole_when_the_last_of_its_cuts_has_ended(
    one_way: tuple[bool, bool], order: tuple[int, int]
) -> None:
    cluster = SimCluster(1)
    ends = [cluster.cut(1, 2, one_way=one_way[0]), cluster.cut(2, 1, one_way=one_way[1])]
    ends[order[0]]()
    assert cluster.link_faults() == {Link(1, 2): LinkFault(cut=True)}
    ends[order[0]]()  # it has ended already, and ends no other cut
    assert cluster.link_faults() == {Link(1, 2): LinkFault(cut=True)}
    ends[order[1]]()
    assert cluster.link_faults() == {}
    cluster.close()


def test_a_cut_after_a_repair_by_hand_is_ended_only_by_its_owner() -> None:
    cluster = SimCluster(1)
    before = cluster.cut(1, 2)
    cluster.mend(1, 2)
    assert cluster.link_faults() == {}
    after = cluster.cut(1, 2)
    before()
    assert cluster.link_faults() == {Link(1, 2): LinkFault(cut=True)}
    after()
    assert cluster.link_faults() == {}
    cluster.close()


def test_a_one_way_cut_and_an_isolated_broker_are_facts_of_each_link() -> None:
    assert changes(
        "at 200ms cut-one-way 2 1", "at 300ms heal 1 2", "at 400ms isolate 1 for 100ms"
    ) == [
        ("between brokers 1 and 2", "cut"),
        ("between brokers 1 and 2", "whole"),
        ("between brokers 0 and 1", "cut"),
        ("between brokers 1 and 2", "cut"),
        ("between brokers 0 and 1", "whole"),
        ("between brokers 1 and 2", "whole"),
    ]


def test_a_broker_that_starts_again_has_a_whole_link_to_zookeeper() -> None:
    link = "between broker 2 and ZooKeeper"
    assert changes(
        "at 200ms cut-zookeeper 2 for 2s",
        "at 400ms kill 2 for 200ms",
    ) == [(link, "cut"), (link, "whole")]


def test_the_cluster_knows_the_faults_of_the_links_of_its_brokers() -> None:
    cluster = SimCluster(1)
    one, two, three = (broker.process for broker in cluster.brokers.values())
    network = cluster.network
    network.cut(two, one, one_way=True)
    network.slow_down(three, two, (10, 40))
    network.slow_down(two, one, (5, 20))
    assert cluster.link_faults() == {Link(1, 2): LinkFault(20, True), Link(2, 3): LinkFault(40)}
    cluster.mend(1, 2)
    network.speed_up(two, three)
    assert cluster.link_faults() == {Link(1, 2): LinkFault(20)}
    network.speed_up(two, one)
    assert cluster.link_faults() == {}
    cluster.close()
