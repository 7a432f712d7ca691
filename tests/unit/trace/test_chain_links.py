"""Links between processes. In these traces a wrong event looks like the cause: a sibling of the
cause, the latest event before, or an event with the same number.
"""

from typing import Final, NamedTuple

import pytest

from kafka_edu.trace.chain_links import LinkKind, peer_of
from kafka_edu.trace.event import CLIENT, SUPERVISOR, ZOOKEEPER, Envelope, Event, Source
from kafka_edu.trace.events.client import RecordAcknowledged
from kafka_edu.trace.events.controller import (
    ControllerEventQueued,
    ControllerEventStarted,
    ControllerRequestFailed,
    ControllerRequestSent,
    ControllerResponseReceived,
    LeaderElected,
    ZkWatchFired,
)
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.replication import BecameLeader, FetcherFailed
from kafka_edu.trace.events.server import (
    BrokerRegistered,
    ProduceAnswered,
    RequestDequeued,
    ServerStarting,
    ServerStopping,
)
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessStarted,
)
from kafka_edu.trace.events.zk import (
    SessionDisconnected,
    SessionExpired,
    SessionMoved,
    WatchFired,
    ZnodeChanged,
    ZnodeCreated,
)
from kafka_edu.trace.reader import History, Link, link_fault


class Story:
    """Emits facts of several processes, one after the other, a millisecond apart."""

    def __init__(self) -> None:
        self.history = History()
        self._seqs: dict[Source, int] = {}
        self.now_us = 0

    def tell(self, teller: Source | int, event: Event, cause: Envelope | None = None) -> Envelope:
        source = Source.of_broker(teller) if isinstance(teller, int) else teller
        self.now_us += 1000
        self._seqs[source] = seq = self._seqs.get(source, 0) + 1
        envelope = Envelope(source, seq, cause.seq if cause else 0, 0, self.now_us, event)
        self.history.add(envelope)
        return envelope

    def starts(self, broker: int, pid: int, session: int) -> None:
        """A new life of a broker: it counts its facts from 1 again."""
        self._seqs[Source.of_broker(broker)] = 0
        self.tell(broker, ServerStarting(api_level="2.8", pid=pid))
        self.tell(
            broker,
            BrokerRegistered(
                broker_id=broker, broker_epoch=session, end_points=(), session_id=session
            ),
        )

    def causes(self, envelope: Envelope, kind: LinkKind | None = None) -> list[Envelope]:
        return [
            link.cause
            for link in self.history.parents(envelope)
            if kind is None or link.kind is kind
        ]


@pytest.fixture
def story() -> Story:
    return Story()


def fired(path: str, session: int, zxid: int, type: str = "CHILDREN_CHANGED") -> WatchFired:
    return WatchFired(path=path, kind="child", cnxn=1, type=type, session_id=session, zxid=zxid)


def notified(path: str, session: int, after: int, type: str = "CHILDREN_CHANGED") -> ZkWatchFired:
    return ZkWatchFired(path=path, type=type, session_id=session, after_zxid=after)


def test_of_two_watches_on_one_path_each_is_linked_to_its_own(story: Story) -> None:
    """The second watch fired before the broker heard of the first one. So the latest event before a
    notification is not always its cause.
    """
    first = story.tell(ZOOKEEPER, fired("/brokers/ids", 7, 90))
    second = story.tell(ZOOKEEPER, fired("/brokers/ids", 7, 95))
    hears_first = story.tell(1, notified("/brokers/ids", 7, 89))
    hears_second = story.tell(1, notified("/brokers/ids", 7, 92))
    assert story.causes(hears_first) == [first]
    assert story.causes(hears_second) == [second]
    assert [link.effect for link in story.history.children(first)] == [hears_first]


def test_a_watch_of_another_session_or_type_is_no_cause(story: Story) -> None:
    story.tell(ZOOKEEPER, fired("/controller", 8, 90, "DELETED"))
    story.tell(ZOOKEEPER, fired("/controller", 7, 90, "DATA_CHANGED"))
    story.tell(ZOOKEEPER, fired("/brokers/ids", 7, 90, "DELETED"))
    hears = story.tell(1, notified("/controller", 7, 89, "DELETED"))
    assert story.causes(hears) == []
    assert story.history.beginning(hears) == "no change in ZooKeeper is known for this watch"


def test_a_watch_below_the_range_is_no_cause(story: Story) -> None:
    story.tell(ZOOKEEPER, fired("/brokers/ids", 7, 90))
    hears = story.tell(1, notified("/brokers/ids", 7, 90))
    assert story.causes(hears) == []


def test_a_watch_that_was_set_again_is_linked_to_the_change_that_was_missed(story: Story) -> None:
    story.tell(
        ZOOKEEPER,
        ZnodeCreated(
            path="/brokers/topics/a", zxid=80, session_id=1, ephemeral=False, data_length=0, data=""
        ),
    )
    missed = story.tell(
        ZOOKEEPER,
        ZnodeCreated(
            path="/brokers/topics/b", zxid=81, session_id=1, ephemeral=False, data_length=0, data=""
        ),
    )
    again = story.tell(ZOOKEEPER, fired("/brokers/topics", 7, 81))
    hears = story.tell(1, notified("/brokers/topics", 7, 79))
    assert story.history.chain(hears) == [missed, again, hears]


def sent(
    correlation_id: int, local: str = "127.0.0.1:5000", broker_id: int = 2
) -> ControllerRequestSent:
    return ControllerRequestSent(
        broker_id=broker_id,
        api_key=4,
        api_version=5,
        correlation_id=correlation_id,
        local=local,
        partitions=1,
        queue_size=1,
    )


def received(correlation_id: int, peer: str = "127.0.0.1:5000") -> RequestReceived:
    return RequestReceived(
        connection_id=f"127.0.0.1:9094-{peer}-3",
        correlation_id=correlation_id,
        api_key=4,
        api_version=5,
        client_id="controller-1",
        size_bytes=1,
        processor=0,
        queue_size=0,
    )


def answered_on(connection_id: str, correlation_id: int = 0, api_key: int = 4) -> ResponseSent:
    return ResponseSent(
        connection_id=connection_id,
        correlation_id=correlation_id,
        api_key=api_key,
        size_bytes=1,
        request_queue_us=0,
        local_us=0,
        remote_us=0,
        response_queue_us=0,
        send_us=0,
        total_us=0,
    )


def test_requests_are_linked_by_connection_and_correlation_id_also_to_oneself(story: Story) -> None:
    first, other, itself = (
        story.tell(1, sent(0)),
        story.tell(1, sent(0, "127.0.0.1:5001", 3)),
        story.tell(1, sent(0, "127.0.0.1:5002", 1)),
    )
    second = story.tell(1, sent(1))
    at_two, at_three, at_one = (
        story.tell(2, received(0)),
        story.tell(3, received(0, "127.0.0.1:5001")),
        story.tell(1, received(0, "127.0.0.1:5002")),
    )
    later = story.tell(2, received(1))
    assert [story.causes(e) for e in (at_two, at_three, at_one, later)] == [
        [first],
        [other],
        [itself],
        [second],
    ]


def test_a_port_that_is_used_again_is_another_connection(story: Story) -> None:
    old_sent = story.tell(1, sent(0))
    old_received = story.tell(2, received(0))
    old_answer = story.tell(
        2,
        answered_on("127.0.0.1:9094-127.0.0.1:5000-3"),
    )
    new_sent = story.tell(1, sent(0))
    new_received = story.tell(2, received(0))
    new_answer = story.tell(
        2,
        answered_on("127.0.0.1:9094-127.0.0.1:5000-4"),
    )
    answered = ControllerResponseReceived(
        broker_id=2, api_key=4, correlation_id=0, local="127.0.0.1:5000", error_code=0, took_us=1
    )
    old_heard, new_heard = story.tell(1, answered, old_sent), story.tell(1, answered, new_sent)
    assert story.causes(old_received) == [old_sent]
    assert story.causes(new_received) == [new_sent]
    assert story.causes(old_heard) == [old_answer, old_sent]
    assert story.causes(new_heard) == [new_answer, new_sent]


def test_the_peer_of_a_connection_whose_hosts_have_hyphens() -> None:
    assert peer_of("broker-1.my-net:9092-client-7:40001-12") == "client-7:40001"
    assert peer_of("[::1]:9092-[::1]:40001-0") == "[::1]:40001"
    assert peer_of("") == ""


def test_numbers_of_an_earlier_life_are_not_those_of_this_one(story: Story) -> None:
    story.starts(1, 100, 7)
    old = story.tell(1, ControllerEventQueued(name="Startup", detail="", queue_size=1))
    story.starts(1, 101, 8)
    new = story.tell(1, ControllerEventQueued(name="Startup", detail="", queue_size=1))
    started = story.tell(1, ControllerEventStarted(name="Startup", detail="", queued_us=1), new)
    assert old.seq == new.seq
    assert story.causes(started) == [new]
    assert story.history.children(old) == ()


def test_a_session_ends_with_its_own_process(story: Story) -> None:
    story.starts(1, 100, 7)
    story.starts(2, 200, 8)
    ended = [
        story.tell(
            SUPERVISOR,
            ProcessEnded(
                process=f"broker-{b}",
                child=Source.of_broker(b),
                pid=pid,
                code=0,
                signal="SIGKILL",
                asked=False,
            ),
        )
        for b, pid in ((2, 200), (1, 100))
    ]
    lost = story.tell(
        ZOOKEEPER, SessionDisconnected(session_id=8, cnxn=3, reason="connection lost")
    )
    assert story.causes(lost) == [ended[0]]


def test_a_connection_that_broke_while_the_process_ran_is_not_linked_to_its_end(
    story: Story,
) -> None:
    story.starts(1, 100, 7)
    broke = story.tell(
        ZOOKEEPER, SessionDisconnected(session_id=7, cnxn=3, reason="connection lost")
    )
    story.tell(ZOOKEEPER, SessionMoved(session_id=7, cnxn=4, peer="127.0.0.1:1", timeout_ms=6000))
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)))
    lost = story.tell(
        ZOOKEEPER, SessionDisconnected(session_id=7, cnxn=4, reason="connection lost")
    )
    ended = story.tell(
        SUPERVISOR,
        ProcessEnded(
            process="broker-1",
            child=Source.of_broker(1),
            pid=100,
            code=0,
            signal="SIGKILL",
            asked=True,
        ),
        asked,
    )
    assert story.causes(broke) == []
    assert story.causes(lost) == [ended], "ZooKeeper may see the end before the supervisor does"


def test_a_connection_lost_before_the_kill_was_asked_for_is_not_its_work(story: Story) -> None:
    story.starts(1, 100, 7)
    lost = story.tell(
        ZOOKEEPER, SessionDisconnected(session_id=7, cnxn=3, reason="connection lost")
    )
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)))
    story.tell(
        SUPERVISOR,
        ProcessEnded(
            process="broker-1",
            child=Source.of_broker(1),
            pid=100,
            code=0,
            signal="SIGKILL",
            asked=True,
        ),
        asked,
    )
    assert story.causes(lost) == []


def test_a_connection_lost_before_the_broker_spoke_last_is_not_the_kills_work(story: Story) -> None:
    story.starts(1, 100, 7)
    lost = story.tell(
        ZOOKEEPER, SessionDisconnected(session_id=7, cnxn=3, reason="connection lost")
    )
    story.tell(1, ControllerEventQueued(name="Startup", detail="", queue_size=1))
    story.tell(
        SUPERVISOR,
        ProcessEnded(
            process="broker-1",
            child=Source.of_broker(1),
            pid=100,
            code=0,
            signal="SIGKILL",
            asked=False,
        ),
    )
    assert story.causes(lost) == []


def test_a_pause_is_a_cause_only_while_it_lasts(story: Story) -> None:
    story.starts(1, 100, 7)
    paused = story.tell(
        SUPERVISOR, ProcessPaused(process="broker-1", child=Source.of_broker(1), pid=100)
    )
    expired = story.tell(ZOOKEEPER, SessionExpired(session_id=7, timeout_ms=6000))
    assert story.causes(expired) == [paused]
    story.starts(2, 200, 8)
    story.tell(SUPERVISOR, ProcessPaused(process="broker-2", child=Source.of_broker(2), pid=200))
    story.tell(SUPERVISOR, ProcessResumed(process="broker-2", child=Source.of_broker(2), pid=200))
    assert story.causes(story.tell(ZOOKEEPER, SessionExpired(session_id=8, timeout_ms=6000))) == []


def elected(epoch: int, partition: int = 0) -> LeaderElected:
    path = f"/brokers/topics/t/partitions/{partition}/state"
    return LeaderElected(
        topic="t",
        partition=partition,
        strategy="OfflinePartition",
        replicas=(1, 2),
        isr_before=(1, 2),
        live=(2,),
        old_leader=1,
        new_leader=2,
        isr=(2,),
        leader_epoch=epoch,
        unclean=False,
        controller_epoch=1,
        zk_path=path,
        zk_version=epoch,
    )


def leads(epoch: int) -> BecameLeader:
    return BecameLeader(
        topic="t",
        partition=0,
        leader_epoch=epoch,
        controller_epoch=1,
        start_offset=0,
        high_watermark=0,
        isr=(2,),
        replicas=(1, 2),
        zk_version=epoch,
    )


class Led(NamedTuple):
    election: Envelope
    role: Envelope


def lead(story: Story, epoch: int, correlation_id: int) -> Led:
    started = story.tell(1, ControllerEventStarted(name="TopicChange", detail="", queued_us=1))
    election = story.tell(1, elected(epoch), started)
    story.tell(1, elected(epoch, partition=1), started)
    story.tell(1, sent(correlation_id), started)
    arrived = story.tell(2, received(correlation_id))
    dequeued = story.tell(
        2,
        RequestDequeued(
            connection_id="", correlation_id=correlation_id, api_key=4, handler=0, queued_us=0
        ),
        arrived,
    )
    return Led(election, story.tell(2, leads(epoch), dequeued))


def test_a_topic_that_is_created_again_has_the_same_epoch_twice(story: Story) -> None:
    first, second = lead(story, 0, 0), lead(story, 0, 1)
    assert story.causes(first.role, LinkKind.ELECTION) == [first.election]
    assert story.causes(second.role, LinkKind.ELECTION) == [second.election]


def test_where_it_cannot_be_decided_there_is_no_link(story: Story) -> None:
    for _ in range(2):
        story.tell(1, elected(0))
    assert story.causes(story.tell(2, leads(0))) == []


def test_a_write_is_linked_to_what_made_its_own_broker_write(story: Story) -> None:
    story.starts(1, 100, 7)
    story.starts(2, 200, 8)
    mine, others = (
        story.tell(1, ControllerEventStarted(name="BrokerChange", detail="", queued_us=1)),
        story.tell(1, ControllerEventStarted(name="TopicChange", detail="", queued_us=1)),
    )
    path = "/brokers/topics/t/partitions/0/state"
    stray = story.tell(
        ZOOKEEPER, ZnodeChanged(path=path, zxid=90, session_id=8, version=1, data_length=0, data="")
    )
    election = story.tell(1, elected(1), mine)
    assert story.causes(stray) == [], "session 8 is broker 2's"
    write = story.tell(
        ZOOKEEPER, ZnodeChanged(path=path, zxid=91, session_id=7, version=2, data_length=0, data="")
    )
    second = story.tell(1, elected(2), others)
    assert story.causes(write) == [others]
    assert story.causes(second) == [write, others]
    assert story.causes(election, LinkKind.CAUSE) == [mine]


def test_an_ack_is_linked_to_the_response_that_held_its_offset(story: Story) -> None:
    responses = []
    for number, first in enumerate((0, 10, 20)):
        answered = story.tell(
            1,
            ProduceAnswered(
                connection_id="c",
                correlation_id=number,
                acks=-1,
                partitions=(
                    ("t", 0, first, first + 10, "NONE"),
                    ("t", 1, first, first + 10, "NONE"),
                ),
            ),
        )
        responses.append(
            story.tell(
                1,
                answered_on("c", number, api_key=0),
                answered,
            )
        )
    acks = [
        story.tell(CLIENT, RecordAcknowledged(client="p", topic="t", partition=0, offset=offset))
        for offset in (9, 10, 29)
    ]
    assert [story.causes(ack) for ack in acks] == [[response] for response in responses]
    assert (
        story.causes(
            story.tell(CLIENT, RecordAcknowledged(client="p", topic="t", partition=0, offset=30))
        )
        == []
    )


def test_an_offset_that_was_given_out_twice_is_linked_to_nothing(story: Story) -> None:
    for broker in (1, 2):
        answered = story.tell(
            broker,
            ProduceAnswered(
                connection_id="c", correlation_id=0, acks=-1, partitions=(("t", 0, 5, 6, "NONE"),)
            ),
        )
        story.tell(
            broker,
            answered_on("c", 0, api_key=0),
            answered,
        )
    assert (
        story.causes(
            story.tell(CLIENT, RecordAcknowledged(client="p", topic="t", partition=0, offset=5))
        )
        == []
    )


def test_a_cause_that_is_not_there_is_named(story: Story) -> None:
    lone = Envelope(
        Source.of_broker(1),
        9,
        4,
        0,
        1,
        ControllerEventQueued(name="Startup", detail="", queue_size=1),
    )
    story.history.add(lone)
    assert story.history.is_cut_off(lone)
    assert (
        story.history.beginning(lone)
        == "its cause, number 4 of the same process, is not among these events"
    )


def test_the_check_of_a_link_does_not_trust_who_made_it(story: Story) -> None:
    watch, hears = story.tell(ZOOKEEPER, fired("/a", 7, 90)), story.tell(1, notified("/a", 7, 90))
    key = (("session", 7), ("path", "/a"), ("type", "CHILDREN_CHANGED"))
    assert (
        link_fault(Link(LinkKind.WATCH, key, watch, hears))
        == "the watch saw zxid 90, which is not above 90"
    )
    other = story.tell(1, notified("/b", 7, 80))
    assert "not on both ends" in link_fault(Link(LinkKind.WATCH, key, watch, other))
    assert "the effect names 0" in link_fault(Link(LinkKind.CAUSE, (), hears, other))


BROKER_2: Final = Source.of_broker(2)
FAILED: Final = FetcherFailed(leader=2, reason="LinkLostError: closed by the other side")


def ended(asked: bool) -> ProcessEnded:
    return ProcessEnded(
        process="broker-2", child=BROKER_2, pid=57, code=-9, signal="SIGKILL", asked=asked
    )


def test_a_fetch_that_a_dead_leader_did_not_answer_is_linked_to_its_end(story: Story) -> None:
    """The follower sees the connection close before the supervisor sees the end of the process."""
    story.starts(2, 57, 7)
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=BROKER_2))
    early = story.tell(0, FAILED)
    end = story.tell(SUPERVISOR, ended(True), asked)
    later = story.tell(1, FAILED)
    sent = story.tell(1, ControllerRequestFailed(broker_id=2, api_key=6, reason="refused"))
    for effect in (early, later, sent):
        (link,) = story.history.parents(effect)
        assert (link.kind, link.cause, link.key_text) == (
            LinkKind.PROCESS,
            end,
            "broker 2, pid 57",
        )
        assert link_fault(link) == ""
    assert [link.effect for link in story.history.children(end)] == [early, later, sent]
    assert story.history.chain(early) == [asked, end, early]
    assert early in list(story.history.early_effects(end))
    story.tell(SUPERVISOR, ProcessStarted(process="broker-2", child=BROKER_2, pid=58))
    assert story.causes(story.tell(0, FAILED)) == [], "it runs again: something else is wrong"


def test_a_fetch_that_failed_before_is_not_linked_to_the_end(story: Story) -> None:
    story.starts(2, 57, 7)
    before_it_was_asked = story.tell(0, FAILED)
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=BROKER_2))
    while_it_spoke = story.tell(0, FAILED)
    story.tell(2, ServerStopping(broker_id=2, reason="asked"))
    story.tell(SUPERVISOR, ended(True), asked)
    assert story.causes(before_it_was_asked) == []
    assert story.causes(while_it_spoke) == []


def test_an_end_that_nobody_asked_for_is_the_cause_within_one_attempt(story: Story) -> None:
    story.starts(2, 57, 7)
    long_before = story.tell(0, FAILED)
    story.now_us += 1_000_000
    just_before = story.tell(0, FAILED)
    end = story.tell(SUPERVISOR, ended(False))
    assert story.causes(long_before) == []
    assert story.causes(just_before) == [end]


def test_a_paused_leader_does_not_answer_until_it_goes_on(story: Story) -> None:
    story.starts(2, 57, 7)
    pause = story.tell(SUPERVISOR, ProcessPaused(process="broker-2", child=BROKER_2, pid=57))
    assert story.causes(story.tell(0, FAILED)) == [pause]
    story.tell(SUPERVISOR, ProcessResumed(process="broker-2", child=BROKER_2, pid=57))
    assert story.causes(story.tell(0, FAILED)) == []
