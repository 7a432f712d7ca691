"""The facts about exercise 05-8's cluster that are graded, and the rules that grade them. This
module needs no running cluster.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...lab_cluster import TopicFacts
from ...lab_facts import all_run, isr_whole, left_alone, listed, none_lost, settings_kept
from ...runner.verdict import Step
from .material import SERVERS, TOPIC, Plan


class Facts(NamedTuple):
    """The state at one moment. If ZooKeeper has no majority, the fields after `pids` are empty."""

    servers: tuple[str, ...]
    """The state of each ZooKeeper server: leader, follower, or the reason why it does not serve."""
    server_pids: tuple[int, ...]
    states: tuple[str, ...]
    """The state of each broker, as the supervisor reports it: running, paused or stopped."""
    pids: tuple[int, ...]
    cluster_id: int = 0
    """The czxid of /cluster/id: the transaction that created it. 0 if there is no such znode."""
    topic: TopicFacts = TopicFacts(0)
    records: tuple[str, ...] = ()
    """The values of all records in the topic's log, in the order of their offsets."""


def serves(servers: Sequence[str]) -> bool:
    """Return whether a majority of the ZooKeeper servers serves, so that there is a leader."""
    return 2 * sum(one in ("leader", "follower") for one in servers) > SERVERS


def judge(plan: Plan, before: Facts, now: Facts) -> Iterator[Step]:
    """Check the state `now`, and yield each result. `before` is the state before the trouble."""
    idle = [
        f"zookeeper-{number} {state}"
        for number, state in enumerate(now.servers, 1)
        if state not in ("leader", "follower")
    ]
    if not serves(now.servers):
        says = "ZooKeeper has a majority"
        yield Step(says, False, f"{'; '.join(idle)}. Without one, nothing else can be seen")
        return
    yield Step("all three ZooKeeper servers serve", not idle, "; ".join(idle))
    kept = now.server_pids[plan.survivor - 1] == before.server_pids[plan.survivor - 1]
    yield Step(
        "the server that ran on was left alone",
        kept,
        "" if kept else f"zookeeper-{plan.survivor} was restarted, but only it still had the data",
    )
    yield _same_data(before, now)
    yield all_run("three", now.states)
    yield none_lost(TOPIC, before.records, now.records)
    yield settings_kept(before.topic.settings, now.topic.settings)
    yield left_alone({*range(3)} - {plan.leader}, before.pids, now.pids)
    yield isr_whole(before.topic.replicas, now.topic.isr)


def _same_data(before: Facts, now: Facts) -> Step:
    says = "ZooKeeper has the data of before"
    if now.cluster_id != before.cluster_id:
        return Step(says, False, "/cluster/id was made again: ZooKeeper began from nothing")
    if now.topic.created != before.topic.created:
        return Step(says, False, f"the topic {TOPIC} is gone, or another one")
    replicas = listed(now.topic.replicas)
    same = sorted(now.topic.replicas) == sorted(before.topic.replicas)
    return Step(says, same, f"the replicas of {TOPIC} are on the brokers {replicas}")
