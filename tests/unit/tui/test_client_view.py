"""The Client screen's state: kafka-edu's own producers and consumers, and foreign clients, whose
software is not kafka-edu's.
"""

from typing import Final

import pytest

from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.trace.event import Envelope, Event, Source, SourceKind
from kafka_edu.trace.events.consumer import (
    ConsumedPartition,
    ConsumerCommitted,
    ConsumerDescription,
    ConsumerSampled,
    ConsumerSnapshot,
    MembershipChanged,
)
from kafka_edu.trace.events.group import (
    GroupDescription,
    GroupMembers,
    GroupMembersSampled,
    MemberState,
)
from kafka_edu.trace.events.network import (
    ClientRequests,
    ClientRequestsSampled,
    ClientRequestsSnapshot,
)
from kafka_edu.trace.events.producer import (
    BatchFailed,
    BatchRetried,
    ClientClosed,
    ClientDisconnected,
    ClientLink,
    PartitionBuffer,
    ProducerDescription,
    ProducerSampled,
    ProducerSnapshot,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from tui.view_model.client_view import ClientsView, ClientView, Origin, Role, Seen, lag_of
from tui.view_model.groups_view import GroupsView
from tui.widgets.client_board import ClientChoice

CLIENT: Final = Source(SourceKind.CLIENT, 1)
SECOND: Final = 1_000_000
RETRIED: Final = BatchRetried(
    client="shop", topic="web", partition=0, batch=4, attempts=1, error="NETWORK_EXCEPTION"
)


def buffer(**changed: object) -> PartitionBuffer:
    usual = PartitionBuffer(
        "web", 0, 1, 1, 4_000, 4_000, 40, 3, 0, "linger", 2, 0, 7, 300, 43, 4_300, 5
    )
    return usual._replace(**changed)  # type: ignore[arg-type]  # a test names the fields


def producer(**changed: object) -> ProducerDescription:
    usual = ProducerDescription(
        client="shop",
        acks=-1,
        batch_size=16_384,
        linger_ms=5,
        buffer_memory=1_000_000,
        buffer_used=16_384,
        waiting_sends=0,
        max_in_flight=5,
        delivery_timeout_ms=120_000,
        oldest_ms=3,
        producer_id=7,
        epoch=0,
        acked=100,
        failed=0,
        retried=0,
        partitions=(buffer(),),
        links=(ClientLink(1, "READY", 2, 3, 0),),
    )
    return usual._replace(**changed)  # type: ignore[arg-type]  # a test names the fields


def position(**changed: object) -> ConsumedPartition:
    usual = ConsumedPartition("web", 0, 1, "Fetching", False, 90, 80, 100)
    return usual._replace(**changed)  # type: ignore[arg-type]  # a test names the fields


def consumer(**changed: object) -> ConsumerDescription:
    usual = ConsumerDescription(
        client="reader",
        group="readers",
        state="Stable",
        member_id="reader-1",
        generation=3,
        assignor="range",
        coordinator=2,
        session_timeout_ms=10_000,
        session_left_ms=9_000,
        heartbeat_interval_ms=3_000,
        heartbeat_waits=False,
        max_poll_interval_ms=20_000,
        polled_ms_ago=50,
        auto_commit_ms=5_000,
        records=10,
        buffered=0,
        partitions=(position(),),
        links=(),
        coordinator_link=(),
    )
    return usual._replace(**changed)  # type: ignore[arg-type]  # a test names the fields


class Look:
    """A view, and the events that it gets."""

    def __init__(self) -> None:
        self.groups = GroupsView()
        self.view = ClientsView(self.groups)
        self.now_us = SECOND

    def tell(self, event: Event, source: Source = CLIENT, after_us: int = 1_000) -> None:
        self.now_us += after_us
        envelope = Envelope(source, 1, 0, self.now_us // 1000, self.now_us, event)
        if type(event) in GroupsView.READS:
            self.groups.apply(envelope)
        if type(event) in ClientsView.READS:
            self.view.apply(envelope)
        self.view.advance(self.now_us)

    @property
    def one(self) -> ClientView:
        (view,) = self.view.clients()
        return view

    @property
    def answer(self) -> tuple[str, str]:
        return self.view.answer()


@pytest.fixture
def look() -> Look:
    return Look()


def test_a_late_subscriber_has_a_client_from_its_snapshot(look: Look) -> None:
    look.tell(SnapshotBegins(as_of=0))
    look.tell(ProducerSnapshot(producer=producer()))
    look.tell(ConsumerSnapshot(consumer=consumer()))
    look.tell(SnapshotEnds(events=2))
    roles = [(view.key.role, view.key.client) for view in look.view.clients()]
    assert roles == [(Role.PRODUCER, "shop"), (Role.CONSUMER, "reader")]
    kind, words = look.answer
    assert kind == "ok"
    assert words == "2 clients without trouble: 0/s acked, the largest lag is 10"


def test_a_new_snapshot_keeps_the_news_and_drops_who_is_gone(look: Look) -> None:
    for name in ("shop", "gone"):
        look.tell(ProducerSampled(producer=producer(client=name)))
    look.tell(RETRIED)
    look.tell(SnapshotBegins(as_of=1))
    assert len(look.view.clients()) == 2, "nobody is forgotten before the snapshot is whole"
    look.tell(ProducerSnapshot(producer=producer()))
    look.tell(SnapshotEnds(events=2))
    assert look.one.key.client == "shop"
    assert len(look.one.news) == 1


def test_a_closed_client_and_those_of_an_ended_process_are_gone(look: Look) -> None:
    for name in ("a", "b"):
        look.tell(ProducerSampled(producer=producer(client=name)))
    look.tell(ProducerSampled(producer=producer()), Source(SourceKind.CLIENT, 2))
    look.tell(ClientClosed(client="a"))
    assert [view.key.client for view in look.view.clients()] == ["b", "shop"]
    look.tell(LinkLost(reason="ended"))
    assert look.one.key.source == Source(SourceKind.CLIENT, 2)


@pytest.mark.parametrize(
    ("closed", "left"), [("consumer", Role.PRODUCER), ("producer", Role.CONSUMER)]
)
def test_a_producer_and_a_consumer_may_have_one_client_id(
    look: Look, closed: str, left: Role
) -> None:
    """When one of the two clients closes, the other one stays on the screen. Requests with their
    client id are not shown as requests of a foreign client.
    """
    look.tell(ProducerSampled(producer=producer(client="shop")))
    look.tell(ConsumerSampled(consumer=consumer(client="shop")))
    look.tell(ClientClosed(client="shop", role=closed))
    assert look.one.key.role is left
    asked = ClientRequests("shop", 5, 500, 0, 5)
    look.tell(ClientRequestsSampled(requests=asked), Source.of_broker(1))
    assert look.view.seen() == []
    look.tell(LinkLost(reason="ended"))
    assert look.view.clients() == []


def test_the_rate_and_the_curve_of_the_memory_come_from_samples(look: Look) -> None:
    look.tell(ProducerSampled(producer=producer(acked=0, buffer_used=100)))
    look.tell(ProducerSampled(producer=producer(acked=50, buffer_used=900)), after_us=100_000)
    look.tell(ProducerSampled(producer=producer(acked=500, buffer_used=300)), after_us=900_000)
    assert look.one.rate.now == 500
    assert list(look.one.fills) == [900, 300], "the most of each half second"


def test_a_batch_that_cannot_go_is_the_answer(look: Look) -> None:
    stuck = buffer(wait="no leader", age_ms=2_500, records=12)
    look.tell(ProducerSampled(producer=producer(partitions=(buffer(), stuck))))
    kind, words = look.answer
    assert kind == "warning"
    assert words == ("producer shop holds 12 records back for 2.5 s: web-0: no leader is known")
    look.tell(ProducerSampled(producer=producer(waiting_sends=2, partitions=(stuck,))))
    kind, words = look.answer
    assert kind == "error", "a program that waits is worse than a batch that does"
    assert words.startswith("producer shop: 2 calls of send() wait for memory")


def test_a_retry_is_told_for_a_while_and_a_failure_is_worse(look: Look) -> None:
    look.tell(ProducerSampled(producer=producer(retried=1)))
    look.tell(RETRIED)
    kind, words = look.answer
    assert kind == "warning"
    assert words.startswith("producer shop has sent 1 batch again")
    assert look.view.glow.glows("partition", look.one.key, "web", 0)
    look.tell(ProducerSampled(producer=producer(retried=1)), after_us=11 * SECOND)
    assert look.answer[0] == "ok"
    look.tell(
        BatchFailed(
            client="shop", topic="web", partition=0, batch=4, records=12, error="TimeoutException"
        )
    )
    look.tell(ProducerSampled(producer=producer(failed=12)))
    assert look.answer == ("error", "producer shop gave up batches: 12 records failed")


def test_the_same_news_is_kept_once_with_its_number(look: Look) -> None:
    look.tell(ProducerSampled(producer=producer()))
    lost = ClientDisconnected(client="shop", broker_id=2, local="", reason="refused", in_flight=0)
    for _ in range(3):
        look.tell(lost)
        look.tell(RETRIED)
    assert [news.times for news in look.one.news] == [3, 3]
    assert not look.one.news[0].words.startswith("shop"), "the line above names the client"


def test_the_poll_clock_and_the_session_run_out(look: Look) -> None:
    look.tell(ConsumerSampled(consumer=consumer(polled_ms_ago=12_000)))
    assert look.answer == (
        "warning",
        "consumer reader has not called poll() for 12 s: it leaves its group in 8.0 s"
        " (max.poll.interval.ms)",
    )
    look.tell(ConsumerSampled(consumer=consumer(polled_ms_ago=17_000)))
    assert look.answer[0] == "error"
    left = consumer(polled_ms_ago=21_000, state="Unjoined", member_id="", session_left_ms=-1)
    look.tell(ConsumerSampled(consumer=left))
    assert look.answer == (
        "error",
        "consumer reader left its group: max.poll.interval.ms was over before poll()",
    )
    look.tell(ConsumerSampled(consumer=consumer(session_left_ms=2_000)))
    kind, words = look.answer
    assert kind == "warning"
    assert words.endswith("its session ends in 2.0 s")


def test_a_consumer_that_rebalances_says_so(look: Look) -> None:
    look.tell(ConsumerSampled(consumer=consumer(state="PreparingRebalance")))
    assert look.answer == ("warning", "consumer reader rebalances: PreparingRebalance")


def test_the_lag_is_known_only_with_position_and_high_watermark() -> None:
    assert lag_of(consumer()) == 10
    assert lag_of(consumer(partitions=(position(position=-1),))) == -1
    assert lag_of(consumer(partitions=(position(), position(high_watermark=-1)))) == 10


def test_a_commit_glows_and_one_that_failed_is_news(look: Look) -> None:
    look.tell(ConsumerSampled(consumer=consumer()))
    look.tell(
        ConsumerCommitted(client="reader", group="readers", offsets=(("my-web-0", 90),), error="")
    )
    assert look.view.glow.glows("committed", look.one.key, "my-web", 0)
    assert not look.one.news
    look.tell(
        ConsumerCommitted(client="reader", group="readers", offsets=(), error="UNKNOWN_MEMBER_ID")
    )
    assert look.one.news[-1].kind == "error"


def test_of_facts_alone_the_state_is_known_and_no_sample(look: Look) -> None:
    look.tell(
        MembershipChanged(
            client="reader",
            group="readers",
            before="Assigning",
            after="Stable",
            member_id="m",
            generation=1,
            reason="SyncGroup brought the assignment",
        )
    )
    assert look.one.consumer is None
    assert look.one.state == "Stable"


def test_an_old_sample_is_no_present_state(look: Look) -> None:
    look.tell(ProducerSampled(producer=producer()))
    look.view.advance(look.now_us + 3 * SECOND)
    assert look.answer == ("warning", "producer shop has reported nothing for 3.0 s")


def members(*clients: str) -> GroupMembersSampled:
    states = tuple(
        MemberState(f"{c}-1", "", c, "/127.0.0.1", 10_000, 1_000, "", ("web",), (("web", (0, 1)),))
        for c in clients
    )
    identities = tuple((state.member, "", state.client_id, "/127.0.0.1") for state in states)
    description = GroupDescription(
        "readers", 3, "Stable", 1, "consumer", "range", states[0].member, identities, 0, 0
    )
    return GroupMembersSampled(state=GroupMembers(description, 5, 10_000, states, (), (), ()))


def test_a_foreign_client_is_seen_by_its_requests(look: Look) -> None:
    broker = Source.of_broker(1)
    for made in (0, 20):
        asked = ClientRequests("kcat", made, 100 * made, 0, 5)
        look.tell(ClientRequestsSampled(requests=asked), broker, after_us=SECOND)
    (seen,) = look.view.seen()
    assert (seen.key.client, seen.story) == ("kcat", None)
    assert seen.asked[0].rates(look.now_us) == (20, 2_000, 0)
    assert look.answer == ("ok", "no client reports itself; brokers see 1 client")
    look.view.advance(look.now_us + 3 * SECOND)
    assert seen.asked[0].rates(look.view.now_us) == (0, 0, 0), "no sample: no requests"
    look.view.advance(look.now_us + 61 * SECOND)
    assert look.view.seen() == []


def test_a_client_that_reports_itself_is_not_foreign_too(look: Look) -> None:
    look.tell(ProducerSampled(producer=producer()))
    asked = ClientRequests("shop", 5, 500, 0, 5)
    look.tell(ClientRequestsSampled(requests=asked), Source.of_broker(1))
    assert look.view.seen() == []


def test_a_client_of_ours_that_has_ended_is_no_foreign_client(look: Look) -> None:
    broker = Source.of_broker(1)
    look.tell(ProducerSampled(producer=producer()))
    look.tell(ClientRequestsSampled(requests=ClientRequests("shop", 5, 500, 0, 5)), broker)
    look.tell(ClientClosed(client="shop"))
    look.tell(
        ClientRequestsSampled(requests=ClientRequests("shop", 6, 600, 0, 5)), broker, SECOND // 2
    )
    look.view.advance(look.now_us + 30 * SECOND)
    assert look.view.seen() == [], "these were its last requests"
    again = ClientRequestsSampled(requests=ClientRequests("shop", 7, 700, 0, 5))
    look.tell(again, broker, 31 * SECOND)
    assert len(look.view.seen()) == 1, "now somebody else has this client.id"


@pytest.mark.parametrize(
    ("software", "origin"),
    [
        ("kafka-edu 0.1.0", Origin.UNTRACED),
        ("librdkafka 2.3.0", Origin.FOREIGN),
        ("", Origin.FOREIGN),
    ],
)
def test_a_client_of_ours_that_ended_before_anybody_looked_is_not_foreign(
    look: Look, software: str, origin: Origin
) -> None:
    """Brokers remember the client's requests, and the name of its software. This name tells whether
    the client is one of kafka-edu's.
    """
    asked = ClientRequests("shop", 5, 500, 0, 5, software)
    look.tell(ClientRequestsSnapshot(requests=asked), Source.of_broker(1))
    (seen,) = look.view.seen()
    assert (seen.key.client, seen.origin) == ("shop", origin)
    look.tell(members("shop", "till"), Source.of_broker(2))
    asked = ClientRequests("till", 0, 0, 9, 5, software)
    look.tell(ClientRequestsSnapshot(requests=asked), Source.of_broker(1))
    assert {each.origin for each in look.view.seen() if each.key.client == "till"} == {origin}


def test_a_member_of_ours_that_asks_nothing_for_long_stays_ours_and_chosen(look: Look) -> None:
    look.tell(members("kcat", "shop"), Source.of_broker(2))
    choice = ClientChoice()
    choice.settle([*look.view.seen()])
    choice.key = choice.rows[1].key
    asked = ClientRequests("shop", 0, 0, 9, 5, "kafka-edu 0.1.0")
    look.tell(ClientRequestsSampled(requests=asked), Source.of_broker(1))
    for seconds in (0, 61):
        look.view.advance(look.now_us + seconds * SECOND)
        assert choice.settle([*look.view.seen()]) == 1, "the cursor stays"
        chosen = choice.row
        assert isinstance(chosen, Seen)
        assert (chosen.key.client, chosen.kind) == ("shop", "untraced")
    assert chosen.asked == (), "the sample itself is too old"


def test_the_client_of_a_member_is_the_one_that_reports_this_member_id(look: Look) -> None:
    look.tell(ConsumerSampled(consumer=consumer()))
    other = consumer(client="other", member_id="reader-2")
    look.tell(ConsumerSampled(consumer=other))
    found = look.view.of_member("readers", "reader-2")
    assert isinstance(found, ClientView)
    assert found.key.client == "other"
    assert look.view.of_member("writers", "reader-2") is None
    assert look.view.of_member("readers", "reader-3") is None


def test_a_broker_that_is_gone_says_nothing_of_a_client(look: Look) -> None:
    for broker in (1, 2):
        asked = ClientRequests("kcat", 5, 500, 0, 5)
        look.tell(ClientRequestsSampled(requests=asked), Source.of_broker(broker))
    look.tell(LinkLost(reason="killed"), Source.of_broker(2))
    (seen,) = look.view.seen()
    assert [each.broker for each in seen.asked] == [1]


def test_a_foreign_member_is_seen_by_its_coordinator(look: Look) -> None:
    look.tell(ConsumerSampled(consumer=consumer()))
    look.tell(members("reader", "kcat"), Source.of_broker(2))
    asked = ClientRequests("kcat", 0, 0, 9, 5)
    look.tell(ClientRequestsSampled(requests=asked), Source.of_broker(1))
    (seen,) = look.view.seen()
    assert (seen.key.client, seen.key.group) == ("kcat", "readers"), "once, and reader is ours"
    assert [each.requests.fetches for each in seen.asked] == [9]
    assert [tp for tp, _, _ in seen.offsets] == [("web", 0), ("web", 1)]
    assert seen.member is not None
    assert seen.member.heard_ms_ago == 1_000
    assert look.view.of_member("readers", seen.member.member) == seen
