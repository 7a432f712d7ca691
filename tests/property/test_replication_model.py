"""Three brokers under faults: whatever was acknowledged to an acks=all producer, or shown to a
consumer, stays (spec R1–R4).

Hypothesis drives real ReplicaManagers, Partitions, Logs and ReplicaFetchers. It produces and
fetches, and loses or delays answers. It kills brokers and starts them again with older high
watermarks. The controller's news reaches some brokers late, and ZooKeeper may answer late.
Elections are clean: the leader comes from the ISR in ZooKeeper.
"""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from kafka_edu.common.errors import Errors
from kafka_edu.log.leader_epoch_file_cache import EpochEntry
from kafka_edu.protocol.messages.fetch import FetchResponse
from kafka_edu.replication.replica_fetcher import ReplicaFetcher
from kafka_edu.replication.truncation import OffsetTruncationState
from kafka_edu.sim.stepped_cluster import ModelBroker, Produced, SteppedCluster, T

pytestmark = pytest.mark.faults  # too long for the fast suite

BROKERS = st.integers(0, 2)


class ReplicationModel(RuleBasedStateMachine):
    """The cluster, and what must never be forgotten."""

    protocol = (2, 3)
    news_may_be_late = True

    def __init__(self) -> None:
        super().__init__()
        self.cluster = SteppedCluster(3, protocol=self.protocol)
        self.count = 0
        self.produced: list[tuple[str, Produced]] = []
        self.committed: dict[int, str] = {}
        self.last_hw: dict[tuple[int, int, ModelBroker], int] = {}
        self.in_flight: dict[int, tuple[ReplicaFetcher, list[FetchResponse]]] = {}
        self.hw_at_death: dict[int, int] = {}

    @initialize()
    def create_the_topic(self) -> None:
        self.cluster.elect(0, (0, 1, 2))

    # What brokers and clients do.

    @rule(acks=st.lists(st.sampled_from([1, -1]), min_size=1, max_size=3))
    def produce(self, acks: list[int]) -> None:
        for each in acks:
            if self.leads(self.cluster.leader):
                value = f"v{self.count}"
                self.count += 1
                answer = self.cluster.produce(value, acks=each)
                if each == -1:
                    self.produced.append((value, answer))

    @rule(brokers=st.lists(BROKERS, min_size=1, max_size=6))
    def fetch(self, brokers: list[int]) -> None:
        for broker in brokers:
            fetcher = self.idle_fetcher(broker)
            if fetcher is not None and self.cluster.brokers[fetcher.leader].alive:
                self.cluster.look_up_epochs(broker)
                self.cluster.receive(broker, self.cluster.send_fetch(broker))
            elif fetcher is not None:
                fetcher.on_no_answer()

    @rule(broker=BROKERS)
    def truncate(self, broker: int) -> None:
        """Let the follower look up epochs, and do nothing further."""
        fetcher = self.idle_fetcher(broker)
        if fetcher is not None and self.cluster.brokers[fetcher.leader].alive:
            self.cluster.look_up_epochs(broker)

    @rule(values=st.integers(1, 2))
    def run_smoothly(self, values: int) -> None:
        """Produce, and let all followers catch up."""
        self.produce([-1] * values)
        self.fetch([0, 1, 2] * 3)
        self.zookeeper_answers()

    @rule(broker=BROKERS)
    def fetch_and_lose_the_answer(self, broker: int) -> None:
        fetcher = self.idle_fetcher(broker)
        if fetcher is not None and self.cluster.brokers[fetcher.leader].alive:
            self.cluster.send_fetch(broker)
            fetcher.on_no_answer()

    @rule(broker=BROKERS)
    def fetch_and_delay_the_answer(self, broker: int) -> None:
        fetcher = self.idle_fetcher(broker)
        if (
            fetcher is not None
            and self.cluster.brokers[fetcher.leader].alive
            and (answer := self.cluster.send_fetch(broker))
        ):
            self.in_flight[broker] = (fetcher, answer)

    @rule(broker=BROKERS)
    def deliver(self, broker: int) -> None:
        fetcher, answer = self.in_flight.pop(broker, (None, []))
        if (
            fetcher is not None
            and self.cluster.brokers[broker].alive
            and self.cluster.fetcher(broker) is fetcher
        ):
            self.cluster.receive(broker, answer)

    @rule(ms=st.sampled_from([500, 6_000, 12_000]))
    def time_passes(self, ms: int) -> None:
        self.cluster.time.advance(ms)
        for broker in self.cluster.brokers:
            if broker.alive:
                broker.manager.isr_updates.maybe_shrink_isr()

    @rule()
    def zookeeper_answers(self) -> None:
        for broker in self.cluster.brokers:
            if not broker.alive:
                broker.proposals.clear()
        self.cluster.settle_isr()

    # What befalls them.

    @rule(broker=BROKERS)
    def kill(self, broker: int) -> None:
        model = self.cluster.brokers[broker]
        if model.alive:
            self.hw_at_death[broker] = model.hw if model.manager.partitions.get(T) else 0
            model.alive = False
            self.in_flight.pop(broker, None)

    @rule(broker=BROKERS, told=st.sets(BROKERS))
    def kill_and_elect(self, broker: int, told: set[int]) -> None:
        self.kill(broker)
        self.controller_reacts(told)

    @rule(broker=BROKERS, lag=st.integers(0, 3))
    def bounce(self, broker: int, lag: int) -> None:
        self.kill(broker)
        self.start_again(broker, lag)

    @rule(broker=BROKERS, lag=st.integers(0, 3))
    def a_follower_bounces_before_the_controller_notices(self, broker: int, lag: int) -> None:
        """Restart a follower. It stays in the ISR, although its high watermark is an old one."""
        if broker != self.cluster.state.leader and self.cluster.brokers[broker].alive:
            self.kill(broker)
            self.cluster.brokers[broker].restart(max(self.hw_at_death[broker] - lag, 0))
            self.cluster.tell(broker)

    @rule(told=st.sets(BROKERS))
    def controller_reacts(self, told: set[int]) -> None:
        """Let the controller react. If the leader is gone, the first live member of the ISR leads.
        If a follower is gone, it leaves the ISR.
        """
        cluster = self.cluster
        state = cluster.state
        live_isr = tuple(b for b in state.isr if cluster.brokers[b].alive)
        if not live_isr or live_isr == state.isr:
            return
        leader = state.leader if state.leader in live_isr else min(live_isr)
        cluster.elect(leader, live_isr, notified=sorted(told) if self.news_may_be_late else None)

    @rule(broker=BROKERS)
    def preferred_leader_election(self, broker: int) -> None:
        cluster = self.cluster
        if (
            broker in cluster.state.isr
            and cluster.brokers[broker].alive
            and cluster.brokers[cluster.state.leader].alive
        ):
            cluster.elect(broker, cluster.state.isr)

    @rule()
    def late_news_arrive(self) -> None:
        for broker in self.cluster.brokers:
            if broker.alive:
                self.cluster.tell(broker.id)

    @precondition(lambda self: any(not broker.alive for broker in self.cluster.brokers))
    @rule(broker=BROKERS, lag=st.integers(0, 3))
    def start_again(self, broker: int, lag: int) -> None:
        """Start a broker again, after the controller has noticed its death. If the ISR has no other
        live member, this broker leads again.
        """
        cluster = self.cluster
        if cluster.brokers[broker].alive:
            return
        self.controller_reacts(set())
        cluster.brokers[broker].restart(max(self.hw_at_death[broker] - lag, 0))
        if (
            not any(cluster.brokers[b].alive for b in cluster.state.isr if b != broker)
            and broker in cluster.state.isr
        ):
            cluster.elect(broker, (broker,))
        else:
            cluster.tell(broker)

    # What must hold.

    def leads(self, broker: ModelBroker) -> bool:
        """Return whether this broker is alive, and is the leader in the newest leader epoch."""
        partition = broker.manager.partitions.get(T)
        return (
            broker.alive
            and partition is not None
            and partition.is_leader
            and partition.leader_epoch == self.cluster.state.leader_epoch
        )

    def idle_fetcher(self, broker: int) -> ReplicaFetcher | None:
        return (
            self.cluster.fetcher(broker)
            if self.cluster.brokers[broker].alive and broker not in self.in_flight
            else None
        )

    @invariant()
    def offsets_are_in_order_and_the_mark_never_falls_on_a_leader(self) -> None:
        for broker in self.cluster.brokers:
            partition = broker.manager.partitions.get(T)
            if broker.alive and partition is not None and partition.log is not None:
                assert partition.log.log_start_offset <= broker.hw <= broker.leo
                assert partition.log.high_watermark == broker.hw
                if partition.is_leader:
                    key = (broker.id, partition.leader_epoch, broker)
                    assert broker.hw >= self.last_hw.get(key, 0)
                    self.last_hw[key] = broker.hw

    @invariant()
    def what_was_committed_stays(self) -> None:
        leader = self.cluster.leader if self.cluster.state.leader >= 0 else None
        if leader is None or not self.leads(leader):
            return
        values = leader.values()
        for offset, value in self.committed.items():
            assert values[offset] == value, (offset, value, values)
        for value, answer in self.produced:
            if answer.error() is Errors.NONE:
                assert values[answer.base_offset] == value
        for offset in range(leader.hw):
            self.committed.setdefault(offset, values[offset])

    @invariant()
    def all_of_the_isr_have_what_was_committed(self) -> None:
        """Check every member, because any of them may lead next."""
        for member in self.cluster.state.isr:
            broker = self.cluster.brokers[member]
            partition = broker.manager.partitions.get(T)
            if broker.alive and partition is not None and partition.log is not None:
                values = broker.values()
                for offset, value in self.committed.items():
                    assert offset < len(values), (member, offset, values)
                    assert values[offset] == value, (member, offset, value, values)

    @invariant()
    def no_cut_is_called_unclean(self) -> None:
        """Check that no broker has emitted UncleanTruncation: because all elections are clean, no
        broker may cut off records that it knew to be committed.
        """
        for broker in self.cluster.brokers:
            assert not [e for e in broker.ring.events if e.name == "UncleanTruncation"]

    def teardown(self) -> None:
        """Check that all logs are the same when all faults have ended."""
        cluster = self.cluster
        if cluster.state.leader < 0:
            return
        self.in_flight.clear()
        for broker in cluster.brokers:
            self.start_again(broker.id, 0)
        self.controller_reacts({0, 1, 2})
        self.late_news_arrive()
        for _ in range(6):
            cluster.time.advance(1_001)
            for broker in cluster.brokers:
                if (fetcher := cluster.fetcher(broker.id)) is not None:
                    fetcher.on_no_answer()
                cluster.fetch(broker.id)
            cluster.settle_isr()
        self.what_was_committed_stays()
        logs = [broker.values() for broker in cluster.brokers]
        assert logs[0] == logs[1] == logs[2]
        assert sorted(cluster.state.isr) == [0, 1, 2]
        assert {broker.hw for broker in cluster.brokers} == {cluster.leader.leo}


class TruncationOnFetchModel(ReplicationModel):
    protocol = (2, 8)


class Protocol20Model(ReplicationModel):
    """The protocol of 2.0, before KIP-320: fetches are not fenced by epoch. Therefore in this model
    all brokers hear of an election at once.
    """

    protocol = (2, 0)
    news_may_be_late = False


SETTINGS = settings(
    max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)

TestReplication = ReplicationModel.TestCase
TestReplication.settings = SETTINGS
TestTruncationOnFetch = TruncationOnFetchModel.TestCase
TestTruncationOnFetch.settings = SETTINGS
TestProtocol20 = Protocol20Model.TestCase
TestProtocol20.settings = SETTINGS


def a_mark_that_lags(model: ReplicationModel) -> None:
    """Bring the model into a state where the high watermarks of the two followers lag. Both
    followers have the record v1, but do not know that it is committed. They restart and look up
    epochs, and the leader dies before they fetch.
    """
    model.create_the_topic()
    model.run_smoothly(1)
    model.produce([-1])
    for _ in range(2):
        model.fetch([1, 2])
    model.what_was_committed_stays()
    assert model.committed == {0: "v0", 1: "v1"}
    assert [broker.hw for broker in model.cluster.brokers] == [2, 1, 1]
    for broker in (1, 2):
        model.a_follower_bounces_before_the_controller_notices(broker, 0)
        model.truncate(broker)
    model.kill_and_elect(0, {1, 2})


def test_the_model_holds_where_the_mark_lags() -> None:
    model = Protocol20Model()
    a_mark_that_lags(model)
    model.what_was_committed_stays()
    model.teardown()


def test_the_model_notices_truncation_to_the_high_watermark(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Break the truncation on purpose: cut at the high watermark. The model must notice this,
    otherwise it would prove nothing.
    """

    def cut_at_mark(
        _: int, __: int, mark: int, end: int, ___: Sequence[EpochEntry]
    ) -> OffsetTruncationState:
        return OffsetTruncationState(min(mark, end), complete=True)

    monkeypatch.setattr(
        "kafka_edu.replication.replica_fetcher.offset_truncation_state", cut_at_mark
    )
    model = Protocol20Model()
    a_mark_that_lags(model)
    with pytest.raises((AssertionError, IndexError)):
        model.what_was_committed_stays()


def test_the_model_notices_a_mark_that_does_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "kafka_edu.replication.high_watermark.leader_high_watermark",
        lambda log_end_offset, *_: log_end_offset,
    )
    model = Protocol20Model()
    model.create_the_topic()
    model.produce([-1])
    model.what_was_committed_stays()
    model.kill_and_elect(0, {1, 2})
    with pytest.raises((AssertionError, IndexError)):
        model.what_was_committed_stays()


def test_the_model_notices_a_follower_that_joins_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_that_fetches_from_behind() -> ReplicationModel:
        model = ReplicationModel()
        model.create_the_topic()
        model.run_smoothly(1)
        model.kill(2)
        model.controller_reacts({0, 1, 2})
        model.run_smoothly(2)
        model.what_was_committed_stays()
        model.start_again(2, 0)
        model.truncate(2)
        model.fetch_and_lose_the_answer(2)
        model.zookeeper_answers()
        return model

    one_that_fetches_from_behind().all_of_the_isr_have_what_was_committed()
    monkeypatch.setattr("kafka_edu.replication.isr.may_join_isr", lambda *_: True)
    with pytest.raises(AssertionError):
        one_that_fetches_from_behind().all_of_the_isr_have_what_was_committed()
