"""unclean.leader.election.enable (spec L2): its cost, counted on the replica that loses records.

The cost is compared with what an acks=all producer was promised. One partition on three brokers,
min.insync.replicas 1. The followers die. The leader continues alone and acknowledges, so each of
its records is committed. Then the leader dies, and a follower without these records returns.
"""

from collections.abc import Iterator

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_edu.sim.sim_client import Acked, SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.controller import LeaderElected, LeaderElectionFailed
from kafka_edu.trace.events.replication import UncleanTruncation

T0 = TopicPartition("t", 0)
TOPIC, BROKER = 2, 4
UNCLEAN = "unclean.leader.election.enable"
#: Where the switch is set: resource type and name. "" means all brokers.
SWITCHES = [(TOPIC, "t"), (BROKER, "")]


class Story:
    def __init__(self, protocol: str) -> None:
        self.cluster = SimCluster(
            7,
            (1, 2, 3),
            {"inter.broker.protocol.version": protocol, "auto.leader.rebalance.enable": "false"},
        )
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        assert (
            self.cluster.run_as(self.client.process, self.client.create_topic("t", 1, 3))
            is Errors.NONE
        )
        self.cluster.advance(2000)
        self.leader = self.led_by()
        self.others = [broker for broker in self.cluster.brokers if broker != self.leader]
        self.acked: list[Acked] = []

    def led_by(self) -> int:
        return self.cluster.run_as(self.client.process, self.client.leader_of(T0))

    def produce(self, *values: str) -> None:
        for value in values:
            answer = self.client.produce(T0, value, -1)
            self.cluster.advance(1500)
            assert answer.acked is not None
            assert answer.acked.error is Errors.NONE
            self.acked.append(answer.acked)

    def consumed(self) -> list[str]:
        return [
            value for _, value in self.cluster.run_as(self.client.process, self.client.consume(T0))
        ]

    def die(self, broker: int) -> None:
        self.cluster.kill(broker)
        self.cluster.advance(20_000)  # its session, and the rounding of ZooKeeper's clock

    def switch_on(self, resource_type: int, name: str, at: int | None = None) -> None:
        """Set the key as `kafka-configs --alter --add-config unclean.leader.election.enable=true`
        does. This tool asks the brokers since Kafka 2.3.
        """
        (alive,) = (
            [broker.id for broker in self.cluster.brokers.values() if broker.server is not None]
            if at is None
            else [at]
        )
        config = AlterableConfig(name=UNCLEAN, config_operation=0, value="true")
        request = IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    resource_type=resource_type, resource_name=name, configs=[config]
                )
            ],
            validate_only=False,
        )

        async def ask() -> IncrementalAlterConfigsResponse:
            client = NetworkClient(self.cluster.network.transport(), "admin")
            await client.connect("127.0.0.1", self.cluster.port(alive), 1000)
            return await client.ask(request, 1, IncrementalAlterConfigsResponse, 10_000)

        answer = self.cluster.run_as(self.client.process, ask())
        assert [response.error_code for response in answer.responses] == [0]
        self.cluster.advance(2000)

    def unclean_truncations(self) -> dict[int, UncleanTruncation]:
        return {
            e.broker: e.event
            for e in self.cluster.facts(UncleanTruncation)
            if isinstance(e.event, UncleanTruncation)
        }


@pytest.fixture(params=["2.8", "2.0"])
def story(request: pytest.FixtureRequest) -> Iterator[Story]:
    """Truncation by the fetch itself, and by OffsetForLeaderEpoch."""
    story = Story(request.param)
    yield story
    story.cluster.close()


def leave_it_to_one_that_is_behind(story: Story) -> int:
    """Return the broker that came back without the last acknowledged records."""
    story.produce("a", "b")
    for broker in story.others:
        story.die(broker)
    story.produce("c", "d", "e", "f", "g")
    story.cluster.advance(5_000)  # the high watermark is checkpointed
    story.die(story.leader)
    survivor = story.others[0]
    story.cluster.start(survivor)
    story.cluster.advance(3_000)
    return survivor


@pytest.mark.parametrize(("resource_type", "name"), SWITCHES)
def test_the_switch_brings_the_partition_back_and_what_it_loses_is_counted(
    story: Story, resource_type: int, name: str
) -> None:
    survivor = leave_it_to_one_that_is_behind(story)
    assert story.led_by() == -1, "it waits for its ISR"
    *_, failed = [e.event for e in story.cluster.facts(LeaderElectionFailed)]
    assert isinstance(failed, LeaderElectionFailed)
    assert failed.isr == (story.leader,)
    assert (
        survivor,
        "it is not in the ISR: it may lack records that were acknowledged",
    ) in failed.passed_over

    story.switch_on(resource_type, name)
    assert story.led_by() == survivor
    elected = story.cluster.facts(LeaderElected)[-1].event
    assert isinstance(elected, LeaderElected)
    assert elected.unclean
    assert (elected.isr_before, elected.isr, elected.old_leader) == (
        (story.leader,),
        (survivor,),
        -1,
    )
    assert elected.why.endswith(
        f"an unclean election is allowed, and {survivor} is the first of AR that is alive: records"
        " that it lacks are lost"
    )
    story.produce("x")
    assert not story.unclean_truncations(), (
        "nobody has lost anything yet but the cluster: the former leader is away"
    )

    story.cluster.start(story.leader)
    story.cluster.advance(20_000)
    consumed = story.consumed()
    lost = [acked for acked in story.acked if acked.value not in consumed]
    assert [acked.value for acked in lost] == ["c", "d", "e", "f", "g"]
    told = story.unclean_truncations()[story.leader]
    assert told.records == len(lost)
    assert (told.after, told.before) == (lost[0].offset, lost[-1].offset + 1)
    assert (told.leader, told.leader_epoch) == (survivor, elected.leader_epoch)
    assert told.high_watermark == told.before, (
        "all of them were committed, and its last checkpoint had them"
    )
    assert not told.exact, (
        "it was started again since: more may have been committed after that checkpoint"
    )
    assert consumed == ["a", "b", "x"]


def test_without_it_the_partition_waits_and_nothing_is_lost(story: Story) -> None:
    leave_it_to_one_that_is_behind(story)
    story.cluster.advance(60_000)
    assert story.led_by() == -1
    story.cluster.start(story.leader)
    story.cluster.advance(20_000)
    assert story.led_by() == story.leader
    assert story.consumed() == ["a", "b", "c", "d", "e", "f", "g"]
    assert not story.unclean_truncations()
    assert not [
        e
        for e in story.cluster.facts(LeaderElected)
        if isinstance(e.event, LeaderElected) and e.event.unclean
    ]


def test_every_former_replica_that_loses_records_counts_its_own(story: Story) -> None:
    """Two ISR members die one after the other. The one that dies first has fewer records."""
    story.produce("a")
    behind, middle = story.others
    story.die(behind)
    story.produce("b", "c")
    story.cluster.advance(6_000)  # the follower's mark is checkpointed too
    story.die(middle)
    story.produce("d")
    story.cluster.advance(5_000)
    story.die(story.leader)
    story.cluster.start(behind)
    story.cluster.advance(3_000)
    story.switch_on(TOPIC, "t")
    for broker in (middle, story.leader):
        story.cluster.start(broker)
    story.cluster.advance(20_000)
    assert story.consumed() == ["a"]
    assert {broker: told.records for broker, told in story.unclean_truncations().items()} == {
        middle: 2,
        story.leader: 3,
    }


def test_a_leader_that_only_lost_its_session_counts_exactly(story: Story) -> None:
    """The old leader stands still while another one is elected. Then it continues. The high
    watermark in its memory is the one at the time of the election.
    """
    survivor, other = story.others
    story.produce("a")
    story.die(survivor)
    story.die(other)
    story.produce("b", "c")
    story.cluster.pause(story.leader)
    story.cluster.advance(20_000)
    story.cluster.start(survivor)
    story.cluster.advance(3_000)
    story.switch_on(TOPIC, "t", at=survivor)
    assert story.led_by() == survivor
    story.cluster.resume(story.leader)
    story.cluster.advance(20_000)
    assert story.consumed() == ["a"]
    told = story.unclean_truncations()[story.leader]
    assert (told.records, told.exact) == (2, True)
