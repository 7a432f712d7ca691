"""Request each act of the supervisor's table once, on one real cluster, and look for the act's
effect in the cluster's events.
"""

import re
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.instruments.trace_feed import now_us
from kafka_edu.supervisor.act_table import CLUSTER_ACTS, PROCESS_ACTS
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events import controller, reassignment, replication, server, supervisor, zk
from tests.cluster.watcher import Watcher
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.cluster

SLOW_MS = 150
PROPS = {
    "replica.lag.time.max.ms": "3000",
    "zookeeper.session.timeout.ms": "4000",
    "auto.leader.rebalance.enable": "false",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("acted", props=PROPS) as cluster:
        servers = cluster.bootstrap_servers
        make_assigned_topic(servers, "t", {0: [0, 1, 2]})
        make_assigned_topic(servers, "u", {0: [1, 2]}, {"min.insync.replicas": "1"})
        yield cluster


@pytest.fixture(scope="module")
def watcher(cluster: Cluster) -> Iterator[Watcher]:
    watcher = Watcher(cluster.folder)
    try:
        yield watcher
    finally:
        watcher.close()


def send(cluster: Cluster, topic: str, timeout_s: float = PATIENCE_S) -> int:
    """Produce one record with acks=all. Return how many ms its answer took."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all"})
    errors: list[object] = []
    producer.list_topics(timeout=timeout_s)
    producer.produce(topic, b"warm", partition=0)
    producer.flush(timeout_s)
    began = time.monotonic()
    producer.produce(topic, b"x", partition=0, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(timeout_s) == 0
    assert errors == [None]
    return int((time.monotonic() - began) * 1000)


def in_sync(cluster: Cluster, topic: str) -> set[int]:
    """Return the ISR of a topic's partition 0."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
    return set(admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions[0].isrs)


def links(cluster: Cluster) -> list[tuple[int, int, str]]:
    return [(link.broker, link.other, link.state) for link in cluster.status().links]


def test_links_are_slowed_cut_and_healed_and_a_restart_forgets_them(
    cluster: Cluster, watcher: Watcher
) -> None:
    since = now_us()
    values = {"broker": 1, "other": 0, "delay_ms": SLOW_MS}
    assert "slow by 150 ms" in cluster.perform("slow-link", values)
    assert links(cluster) == [(0, 1, f"slow by {SLOW_MS} ms")]
    changed = watcher.wait(
        lambda e: isinstance(e.event, supervisor.LinkChanged), "the link is slow", since
    )
    assert changed.event == supervisor.LinkChanged(broker=0, other=1, delay_ms=SLOW_MS, cut=False)
    wait_for(
        lambda: send(cluster, "t") >= SLOW_MS,
        "broker 1, in the ISR, gets the record over the slow link",
    )

    cluster.perform("cut-link", {"broker": 0, "other": 1})
    assert links(cluster) == [(0, 1, "cut")]
    watcher.wait(
        lambda e: (
            isinstance(e.event, replication.IsrShrunk)
            and (e.event.topic, 1 in e.event.after) == ("t", False)
        ),
        "broker 1 leaves the ISR of t-0, behind the cut",
        since,
    )
    healed = now_us()
    cluster.perform("heal-link", {"broker": 0, "other": 1})
    assert links(cluster) == []
    watcher.wait(
        lambda e: (
            isinstance(e.event, replication.IsrExpanded)
            and (e.event.topic, 1 in e.event.after) == ("t", True)
        ),
        "broker 1 is back in the ISR",
        healed,
    )

    cluster.perform("slow-link", {"broker": 1, "other": 2, "delay_ms": 20})
    restarted = now_us()
    cluster.perform("restart", {"broker": 2})
    watcher.wait(
        lambda e: (
            e.broker == 1
            and isinstance(e.event, server.LinkFaultChanged)
            and (e.event.delay_ms, e.event.cut) == (0, False)
        ),
        "broker 1 heals its end, because broker 2 knows of no fault when it starts",
        restarted,
    )
    watcher.wait(
        lambda e: e.event == supervisor.LinkChanged(broker=1, other=2, delay_ms=0, cut=False),
        "the link is whole again",
        restarted,
    )
    assert links(cluster) == []
    cluster.wait_ready()


def test_after_a_reset_the_followers_fetch_again(cluster: Cluster, watcher: Watcher) -> None:
    since = now_us()
    assert "between brokers 0 and 1 ended with an error" in cluster.perform(
        "reset-link", {"broker": 1, "other": 0}
    )
    watcher.wait(
        lambda e: (
            e.broker == 1 and isinstance(e.event, server.LinkReset) and e.event.connections > 0
        ),
        "broker 1, which follows broker 0, loses its connections to it",
        since,
    )
    assert links(cluster) == []
    send(cluster, "t")


def test_a_link_of_which_one_end_cannot_change_stays_as_it_was(cluster: Cluster) -> None:
    cluster.perform("stop", {"broker": 2})
    with pytest.raises(
        ClusterError,
        match="is still whole, because broker 2 could not change its end: broker 2 is stopped",
    ):
        cluster.perform("cut-link", {"broker": 1, "other": 2})
    assert links(cluster) == []
    cluster.perform("start", {"broker": 2})
    cluster.wait_ready()


def test_settings(cluster: Cluster, watcher: Watcher) -> None:
    since = now_us()
    cluster.perform("broker-config", {"broker": 0, "setting": "num.io.threads=4"})
    watcher.wait(
        lambda e: (
            e.broker == 0
            and isinstance(e.event, server.BrokerConfigChanged)
            and any((key, after) == ("num.io.threads", "4") for key, _, after in e.event.changes)
        ),
        "broker 0 has four io threads",
        since,
    )
    cluster.perform("topic-config", {"topic": "t", "setting": "retention.ms=60000"})
    watcher.wait(
        lambda e: (
            isinstance(e.event, server.EntityConfigWritten)
            and e.event.entity == "topics/t"
            and ("retention.ms", "60000") in e.event.configs
        ),
        "the topic's configuration is written",
        since,
    )
    cluster.perform("capture", {"clients": "nobody"})
    with pytest.raises(ClusterError, match="KEY=VALUE"):
        cluster.perform("topic-config", {"topic": "t", "setting": "retention.ms"})


def test_a_partition_is_moved_and_its_preferred_leader_elected(
    cluster: Cluster, watcher: Watcher
) -> None:
    since = now_us()
    cluster.perform("reassign", {"partition": "t-0", "replicas": "2,0,1"})
    watcher.wait(
        lambda e: (
            isinstance(e.event, reassignment.ReassignmentCompleted)
            and e.event.replicas == (2, 0, 1)
        ),
        "t-0 has moved",
        since,
    )
    assert "t-0" in cluster.perform("elect-preferred", {"partition": "t-0"})
    watcher.wait(
        lambda e: (
            isinstance(e.event, controller.LeaderElected)
            and (e.event.topic, e.event.new_leader) == ("t", 2)
        ),
        "the first of the new replicas leads",
        since,
    )
    assert cluster.perform("elect-preferred", {"partition": "t-0"}) == "no election was needed"
    with pytest.raises(ClusterError, match=r"is not a partition, because .*: write one as web-0"):
        cluster.perform("reassign", {"partition": "t", "replicas": "0"})


def test_a_topic_is_created_grows_and_is_deleted(cluster: Cluster, watcher: Watcher) -> None:
    since = now_us()
    said = cluster.perform("create-topic", {"topic": "v", "partitions": "1:2,2:0"})
    assert said == "topic v is created, with 2 partitions"
    elected = watcher.wait(
        lambda e: isinstance(e.event, controller.LeaderElected) and e.event.topic == "v",
        "v has a leader",
        since,
    )
    assert isinstance(elected.event, controller.LeaderElected)
    assert elected.event.replicas in ((1, 2), (2, 0))
    with pytest.raises(ClusterError, match="already exists"):
        cluster.perform("create-topic", {"topic": "v", "partitions": "1"})
    cluster.perform("add-partitions", {"topic": "v", "partitions": "3"})
    watcher.wait(
        lambda e: (
            isinstance(e.event, controller.LeaderElected)
            and (e.event.topic, e.event.partition) == ("v", 2)
        ),
        "the new partition has a leader",
        since,
    )
    with pytest.raises(ClusterError, match="currently has 3 partitions"):
        cluster.perform("add-partitions", {"topic": "v", "partitions": "2"})
    assert cluster.perform("delete-topic", {"topic": "v"}) == "topic v is to be deleted"
    watcher.wait(
        lambda e: (
            isinstance(e.event, controller.TopicDeletionChanged)
            and (e.event.topic, e.event.step) == ("v", "complete")
        ),
        "v is deleted",
        since,
    )
    cluster.perform("create-topic", {"topic": "w", "partitions": "2"})
    cluster.perform("delete-topic", {"topic": "w"})


def test_a_session_and_the_controller(cluster: Cluster, watcher: Watcher) -> None:
    since = now_us()
    said = cluster.perform("expire-session", {"broker": 0})
    assert re.fullmatch("the session 0x[0-9a-f]+ of broker 0 has ended", said)
    watcher.wait(
        lambda e: isinstance(e.event, server.SessionLost) and e.event.broker_id == 0,
        "broker 0 lost its session",
        since,
    )
    watcher.wait(
        lambda e: isinstance(e.event, server.BrokerRegistered) and e.event.broker_id == 0,
        "broker 0 registers again, in a new session",
        since,
    )
    cluster.wait_ready()

    since = now_us()
    cluster.perform("delete-controller", {})
    watcher.wait(
        lambda e: isinstance(e.event, controller.ControllerElected), "a controller again", since
    )
    before = cluster.wait_ready()
    since = now_us()
    cluster.perform("write-controller", {"broker": (before + 1) % 3})
    watcher.wait(
        lambda e: isinstance(e.event, controller.ControllerResigned) and e.broker == before,
        "the controller resigns when /controller names another",
        since,
    )
    watcher.wait(
        lambda e: isinstance(e.event, controller.ControllerElected),
        "the znode is deleted by the one who resigned, and there is an election",
        since,
    )
    cluster.wait_ready()


def _alone(envelope: Envelope) -> bool:
    match envelope.event:
        case replication.IsrShrunk(topic="u", after=(1,)):
            return True
        case controller.ReplicaRemovedFromIsr(topic="u", isr=(1,)):
            return True
    return False


def test_an_unclean_election_after_kills_and_starts(cluster: Cluster, watcher: Watcher) -> None:
    """u-0 has replicas on brokers 1 and 2. Broker 2 is killed, broker 1 continues alone and is
    stopped, and broker 2 starts again.
    """
    wait_for(lambda: in_sync(cluster, "u") == {1, 2}, "u-0 has both replicas in its ISR")
    since = now_us()
    cluster.perform("pause", {"broker": 2})
    cluster.perform("resume", {"broker": 2})
    cluster.perform("kill", {"broker": 2})
    watcher.wait(_alone, "broker 1 is alone in the ISR of u-0", since)
    send(cluster, "u")
    cluster.perform("stop", {"broker": 1})
    cluster.perform("start", {"broker": 2})

    def elected() -> str:
        try:
            return cluster.perform("elect-unclean", {"partition": "u-0"})
        except ClusterError:  # the controller does not know broker 2 yet
            return ""

    assert "u-0" in wait_for(elected, "the unclean election was refused all the time")
    election = watcher.wait(
        lambda e: isinstance(e.event, controller.LeaderElected) and e.event.unclean,
        "an unclean election",
        since,
    )
    assert isinstance(election.event, controller.LeaderElected)
    assert (election.event.topic, election.event.new_leader) == ("u", 2)
    cluster.start(1)


def test_a_broker_whose_machine_stands_still_for_longer_than_its_session(
    cluster: Cluster, watcher: Watcher
) -> None:
    since = now_us()
    session_ms = int(PROPS["zookeeper.session.timeout.ms"])
    cluster.perform("stall", {"broker": 1, "stall_ms": 4 * session_ms, "every_ms": 500_000})
    assert "broker-1 stops for" in str(cluster.status().stalls[0])
    began = watcher.wait(
        lambda e: isinstance(e.event, supervisor.ProcessStalled), "broker 1 stands still", since
    )
    watcher.wait(lambda e: isinstance(e.event, zk.SessionExpired), "its session ends", since)
    assert cluster.status().broker(1).state == "running", "nobody has paused it"
    assert cluster.perform("steady", {"broker": 1}) == "broker-1 runs without stalls"
    over = watcher.wait(
        lambda e: isinstance(e.event, supervisor.ProcessStallOver), "it goes on", since
    )
    assert over.cause == began.seq
    watcher.wait(
        lambda e: isinstance(e.event, server.BrokerRegistered) and e.event.broker_id == 1,
        "it registers again",
        since,
    )
    assert not cluster.status().stalls
    cluster.wait_ready()


def test_what_makes_no_sense_is_refused_in_words(cluster: Cluster) -> None:
    for action, values, words in (
        ("cut-link", {"broker": 1, "other": 1}, "both name the same broker"),
        ("cut-link", {"broker": 1, "other": 7}, "there is no broker 7; there are 0, 1, 2"),
        ("slow-link", {"broker": 0, "other": 1, "delay_ms": 0}, "at least 1 and at most 60,000"),
        ("reassign", {"partition": "t-0", "replicas": "one"}, "is not a list of broker ids"),
        ("cut-clients", {"broker": 1}, "does not go through a relay.*cluster up --with-relays"),
        ("stall", {"broker": 0, "stall_ms": 9, "every_ms": 9}, "smaller than every_ms"),
        ("fly", {}, "there is no action 'fly'"),
    ):
        with pytest.raises(ClusterError, match=words):
            cluster.perform(action, values)


def test_each_act_of_the_table_was_asked_for_in_words_and_done(watcher: Watcher) -> None:
    """This test runs last: it checks the events of all acts that the tests above have requested."""
    asked = watcher.done((*PROCESS_ACTS, *CLUSTER_ACTS))
    assert asked["slow-link"].startswith("slow the link between brokers")
