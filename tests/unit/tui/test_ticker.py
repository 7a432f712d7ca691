"""The ticker: sentences, causes, one line for equal facts about many things, and chains across
processes.
"""

import pytest

from kafka_edu.instruments.chain import chain_of
from kafka_edu.instruments.link_events import LinkLost
from kafka_edu.instruments.sentences import fact_text, sentence, teller
from kafka_edu.trace.event import (
    SUPERVISOR,
    Envelope,
    Source,
    SourceKind,
)
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    ControllerEventStarted,
    ControllerRequestSent,
    LeaderElected,
    LeaderElectionFailed,
)
from kafka_edu.trace.events.reassignment import (
    ReassignmentCompleted,
    ReassignmentRefused,
    ReassignmentStarted,
    ReassignmentWaits,
)
from kafka_edu.trace.events.replication import (
    BecameLeader,
    FetcherFailed,
    HighWatermarkAdvanced,
    IsrExpanded,
    IsrShrunk,
)
from kafka_edu.trace.events.server import BrokerSnapshot, ControlledShutdownAttempted
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    ActionDone,
    ProcessEnded,
    SupervisorStarted,
)
from kafka_edu.trace.events.timer import TimerSampled, TimerState
from kafka_edu.trace.events.zk import SessionDisconnected, SessionExpired
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.usual_events import ELECTED, killed
from tui.model import Model
from tui.view_model.ticker import LineLog, Ticker
from tui.widgets.event_text import fitted
from tui.widgets.ticker_lines import TickerLines


def elected(partition: int, new: int = 2) -> LeaderElected:
    path = f"/brokers/topics/web/partitions/{partition}/state"
    return ELECTED._replace(partition=partition, new_leader=new, zk_path=path)


def snapshot_of_a_broker(session_id: int, pid: int) -> BrokerSnapshot:
    return BrokerSnapshot(
        broker_id=1,
        broker_epoch=5,
        state="RunningAsBroker",
        cluster_id="x",
        end_points=(),
        rack=None,
        pid=pid,
        session_id=session_id,
    )


def lines(story: Story) -> list[str]:
    ticker = Ticker()
    for envelope in story.envelopes:
        ticker.apply(envelope)
    return [
        f"{teller(line.envelope.source)}: {line.text}"
        + (f" because {line.because}" if line.because else "")
        for line in ticker.lines
    ]


def test_elections_of_one_moment_are_one_line_with_their_cause() -> None:
    story = Story()
    for partition in range(5):
        story.tell(0, elected(partition), after_ms=2)
    story.tell(0, elected(5, new=0))
    assert lines(story) == [
        "b0: leader of web-0, web-1, web-2 and 2 more broker 1 → 2 because broker 1 is gone",
        "b0: leader of web-5 broker 1 → 0 because broker 1 is gone",
    ]


@pytest.mark.parametrize(
    ("strategy", "replicas", "live", "going", "reason"),
    [
        ("OfflinePartition", (1, 2, 0), (0, 2), (), "broker 1 is gone"),
        ("ControlledShutdown", (1, 2, 0), (0, 1, 2), (1,), "broker 1 is about to go"),
        ("ReassignPartition", (2, 0), (0, 2), (), "it is moved away from broker 1"),
        ("PreferredReplica", (2, 1, 0), (0, 1, 2), (), "it is the preferred replica"),
    ],
)
def test_why_another_leads(
    strategy: str,
    replicas: tuple[int, ...],
    live: tuple[int, ...],
    going: tuple[int, ...],
    reason: str,
) -> None:
    story = Story()
    story.tell(
        0, elected(0)._replace(strategy=strategy, replicas=replicas, live=live, shutting_down=going)
    )
    assert lines(story) == [f"b0: leader of web-0 broker 1 → 2 because {reason}"]


def test_an_election_that_fails_does_not_take_a_leader_away() -> None:
    story = Story()
    failed = LeaderElectionFailed(
        topic="web",
        partition=0,
        strategy="OfflinePartition",
        replicas=(1, 2),
        isr=(1,),
        live=(2,),
        reason="nobody may",
    )
    story.tell(0, failed)
    story.tell(0, failed._replace(strategy="PreferredReplica"))
    assert lines(story) == [
        "b0: ✕ no leader for web-0 because nobody may",
        "b0: no other leader for web-0 because nobody may",
    ]


def test_a_move_is_told_from_its_order_to_its_end() -> None:
    story = Story()
    story.tell(
        0,
        ReassignmentStarted(
            topic="web",
            partition=0,
            ordered_by="api",
            before=(0, 1),
            replicas=(1, 2, 0),
            adding=(2,),
            removing=(0,),
        ),
    )
    story.tell(
        0, ReassignmentWaits(topic="web", partition=0, isr=(0, 1), target=(1, 2), missing=(2,))
    )
    story.tell(0, ReassignmentCompleted(topic="web", partition=0, replicas=(1, 2), leader=1))
    story.tell(
        0,
        ReassignmentRefused(
            topic="web",
            partition=1,
            target=(9,),
            error_code=39,
            reason="these brokers are not alive: [9]",
        ),
    )
    assert lines(story) == [
        "b0: moves web-0 from brokers 0, 1 to brokers 1, 2 because an admin client ordered it",
        "b0: move of web-0 waits until broker 2 is in sync",
        "b0: has moved web-0 to brokers 1, 2",
        "b0: ✗ does not move web-1 because these brokers are not alive: [9]",
    ]


def test_the_same_thing_much_later_is_another_line() -> None:
    story = Story()
    story.tell(0, elected(0))
    story.tell(0, elected(1), after_ms=5_000)
    assert len(lines(story)) == 2


def test_what_is_told_again_and_again_is_one_line_with_a_count() -> None:
    story = Story()
    for _ in range(3):
        story.tell(
            0,
            FetcherFailed(
                leader=1, reason="ConnectionRefusedError: [Errno 111] Connect call failed"
            ),
            after_ms=2_000,
        )
    assert lines(story) == [
        "b0: cannot fetch from broker 1 (×3) because connection refused: nobody listens there"
    ]


def test_a_broker_that_goes_in_good_order_says_how_it_went() -> None:
    story = Story()
    story.tell(
        2,
        ControlledShutdownAttempted(
            attempt=1, controller_id=0, error="STALE_CONTROLLER_EPOCH", partitions_remaining=0
        ),
    )
    story.tell(
        2,
        ControlledShutdownAttempted(
            attempt=2, controller_id=1, error="NONE", partitions_remaining=3
        ),
        after_ms=5_000,
    )
    story.tell(
        2,
        ControlledShutdownAttempted(
            attempt=3, controller_id=1, error="NONE", partitions_remaining=0
        ),
        after_ms=5_000,
    )
    assert lines(story) == [
        "b2: got no permission to stop, attempt 1 because STALE_CONTROLLER_EPOCH",
        "b2: got no permission to stop, attempt 2 because 3 partitions could not be moved",
        "b2: may go, as controller 1 answers: its leaders have moved",
    ]


def test_an_isr_grows_on_many_partitions_in_one_line() -> None:
    story = Story()
    for partition in range(2):
        story.tell(
            2,
            IsrExpanded(
                topic="web",
                partition=partition,
                leader_epoch=8,
                before=(2, 0),
                after=(2, 0, 1),
                zk_version=5,
                reason=f"1 has caught up: LEO {partition}, HW {partition}",
            ),
        )
    assert lines(story) == [
        "b2: ISR of web-0, web-1 grows {0,2} → {0,1,2} because broker 1 has caught up"
    ]


def test_a_cause_without_words_is_passed_over_for_the_one_before() -> None:
    story = Story()
    failed = story.tell(0, BrokerFailed(broker_id=1, shutting_down=False))
    started = story.tell(
        0, ControllerEventStarted(name="BrokerChange", detail="", queued_us=5), cause=failed
    )
    story.tell(
        0,
        IsrShrunk(
            topic="web",
            partition=0,
            leader_epoch=8,
            before=(0, 1),
            after=(0,),
            zk_version=5,
            reason="",
        ),
        cause=started,
    )
    assert lines(story)[-1] == "b0: ISR of web-0 shrinks {0,1} → {0} because broker 1 is gone"


def test_gauges_and_quiet_facts_leave_no_line() -> None:
    story = Story()
    story.tell(
        0,
        TimerSampled(
            state=TimerState(
                timer="Produce",
                now_ms=5,
                current_time_ms=5,
                tasks=0,
                queued_buckets=0,
                next_bucket_ms=None,
                inserted_total=0,
                cancelled_total=0,
                expired_total=0,
                demoted_total=0,
            )
        ),
    )
    story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)))
    story.tell(1, LinkLost("closed"))
    assert lines(story) == []


def test_a_kill_tells_what_came_of_it() -> None:
    story = Story()
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)))
    story.tell(SUPERVISOR, killed(1), cause=asked)
    story.tell(
        SUPERVISOR,
        ActionDone(
            action="kill", target=Source.of_broker(1), ok=True, message="broker-1 killed by SIGKILL"
        ),
        cause=asked,
    )
    again = story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)))
    story.tell(
        SUPERVISOR,
        ActionDone(
            action="kill", target=Source.of_broker(1), ok=False, message="broker-1 is stopped"
        ),
        cause=again,
    )
    assert lines(story) == [
        "sup: broker 1 killed by SIGKILL because somebody asked for it",
        "sup: ✗ refused: kill broker 1 is stopped because somebody asked to kill it",
    ]


def test_a_chain_goes_from_process_to_process_and_on_to_what_followed() -> None:
    story = Story()
    failed = story.tell(0, BrokerFailed(broker_id=1, shutting_down=False))
    election = story.tell(0, elected(0), after_ms=2, cause=failed)
    leads = story.tell(
        2,
        BecameLeader(
            topic="web",
            partition=0,
            leader_epoch=8,
            controller_epoch=4,
            start_offset=80,
            high_watermark=80,
            isr=(2, 0),
            replicas=(1, 2, 0),
            zk_version=4,
        ),
        after_ms=4,
    )
    follows = story.tell(
        2,
        IsrShrunk(
            topic="web",
            partition=0,
            leader_epoch=8,
            before=(2, 0),
            after=(2,),
            zk_version=5,
            reason="",
        ),
        after_ms=1,
        cause=leads,
    )
    ticker = Ticker()
    for envelope in story.envelopes:
        ticker.apply(envelope)
    chain = ticker.chain(election)
    assert [(link.envelope, link.depth) for link in chain][:2] == [(failed, 0), (election, 1)]
    assert [link.after_us for link in chain][:2] == [0, 2_000]
    assert [(link.envelope, link.depth) for link in chain][2:] == [(leads, 2)], (
        "another broker did as it was told: joined by epochs"
    )
    assert [link.envelope for link in ticker.chain(leads)] == [failed, election, leads, follows]


def test_a_hop_has_a_short_form_to_fold_and_a_line_with_its_numbers() -> None:
    hop = HighWatermarkAdvanced(
        topic="web",
        partition=0,
        leader_epoch=1,
        before=4,
        after=1_005,
        log_end_offset=1_005,
        is_leader=True,
    )
    assert sentence(hop).text("web-0, web-1") == "HW of web-0, web-1 4 → 1,005"
    assert fact_text(hop) == "HW of web-0 moves 4 → 1,005"
    gone = BrokerFailed(broker_id=1, shutting_down=False)
    assert fact_text(gone) == sentence(gone).text()


def test_a_kill_is_the_beginning_of_its_chain_for_who_begins_to_look_later() -> None:
    """The broker's snapshot names the broker's session. Without it nothing would link the kill and
    the expiry of the session.
    """
    story = Story()
    zookeeper = Source(SourceKind.ZOOKEEPER, 1)
    story.tell(1, snapshot_of_a_broker(session_id=7, pid=101))
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)), 500)
    ended = story.tell(
        SUPERVISOR,
        killed(1),
        after_ms=2,
        cause=asked,
    )
    lost = story.tell(
        zookeeper, SessionDisconnected(session_id=7, cnxn=3, reason="closed"), after_ms=1
    )
    expired = story.tell(
        zookeeper, SessionExpired(session_id=7, timeout_ms=6_000), after_ms=6_000, cause=lost
    )
    ticker = Ticker()
    for envelope in story.envelopes:
        ticker.apply(envelope)
    assert [link.envelope for link in ticker.chain(expired)][:4] == [asked, ended, lost, expired]
    line = ticker.lines[-1]
    assert line.because == "broker 1 was killed by SIGKILL"
    assert ticker.loud.index(line.cause) == 0, "its arrow begins at the kill's line"


def test_fifty_requests_of_one_event_are_one_line_of_the_whole_time_line() -> None:
    story = Story()
    began = story.tell(0, ControllerEventStarted(name="BrokerChange", detail="", queued_us=0))
    for n in range(50):
        story.tell(
            0,
            ControllerRequestSent(
                broker_id=n % 2,
                api_key=4,
                api_version=5,
                correlation_id=n,
                local="x",
                partitions=1,
                queue_size=0,
            ),
            cause=began,
        )
    ticker = Ticker()
    for envelope in story.envelopes:
        ticker.apply(envelope)
    assert not ticker.lines, "no news for everybody"
    began_line, sent = ticker.all.lines
    assert (sent.times, sent.cause) == (50, began_line.number)
    assert sent.text == "sends LeaderAndIsr to broker 0, to broker 1"


def test_an_hour_of_one_repeated_fact_keeps_little() -> None:
    ticker = Ticker()
    story = Story()
    for _ in range(3_600):
        story.tell(2, FetcherFailed(leader=1, reason="x: Refused"), after_ms=1_000)
    for envelope in story.envelopes:
        ticker.apply(envelope)
    assert len(ticker.lines) == 1
    assert ticker.lines[0].times == 3_600
    kept = [v for v in vars(ticker.lines[0]).values() if isinstance(v, Envelope)]
    assert len(kept) == 2, "the first and the last of them"


@pytest.mark.parametrize("room", [40, 60, 90])
def test_the_cause_is_never_cut_off_for_the_subjects(room: int) -> None:
    story = Story()
    for partition in range(5):
        story.tell(0, elected(partition), after_ms=2)
    ticker = Ticker()
    for envelope in story.envelopes:
        ticker.apply(envelope)
    words, because = fitted(ticker.lines[0], room)
    assert because == "  because broker 1 is gone"
    assert words.startswith("leader of web")
    assert len(words) + len(because) <= max(room, 50)


def test_a_quiet_fact_has_the_lane_of_its_process_where_every_fact_is_shown() -> None:
    """The fact is not news. So in the list of news, the supervisor has no lane yet."""
    story, model = Story(), Model("demo")
    started = SupervisorStarted(cluster="demo", pid=7, brokers=(0, 1), zookeeper="embedded")
    story.tell(SUPERVISOR, started)
    story.tell(0, ELECTED)
    model.apply(story.envelopes)
    everything, news = TickerLines(model, everything=True), TickerLines(model)
    assert SUPERVISOR not in news.lanes()
    assert [line.source for line in everything.facts.lines] == [SUPERVISOR, Source.of_broker(0)]
    assert {SUPERVISOR, Source.of_broker(0)} <= set(everything.lanes())


def test_a_kill_stands_above_what_it_caused_though_it_was_seen_later() -> None:
    """The followers see their connections close 20 ms before the supervisor sees the process
    end.
    """
    story, ticker = Story(), Ticker()
    failed = FetcherFailed(leader=1, reason="LinkLostError: closed by the other side")
    story.tell(0, elected(7))
    asked = story.tell(SUPERVISOR, ActionAsked(action="kill", target=Source.of_broker(1)))
    story.tell(0, failed, after_ms=2)
    story.tell(2, failed, after_ms=1)
    story.tell(SUPERVISOR, killed(1), after_ms=20, cause=asked)
    story.tell(0, elected(8), after_ms=6_000)
    for envelope in story.envelopes:
        ticker.apply(envelope)

    def told(log: LineLog) -> list[tuple[str, str]]:
        return [(teller(line.source), line.text) for line in log.lines]

    facts = [
        ("sup", "broker 1 killed by SIGKILL"),
        ("b0", "cannot fetch from broker 1"),
        ("b2", "cannot fetch from broker 1"),
    ]
    first, last = ("b0", "leader of web-7 broker 1 → 2"), ("b0", "leader of web-8 broker 1 → 2")
    assert told(ticker.loud) == [first, *facts, last]
    assert told(ticker.all) == [first, ("sup", "asked to kill broker 1"), *facts, last]
    for log in (ticker.loud, ticker.all):
        at = {teller(line.source): log.lines[i] for i, line in enumerate(log.lines)}
        end = next(line for line in log.lines if isinstance(line.envelope.event, ProcessEnded))
        assert at["b2"].cause == end.number
        assert [log.index(line.number) for line in log.lines] == list(range(len(log.lines)))
    chain = [link.said.text() for link in ticker.chain(story.envelopes[2])[:3]]
    assert chain == [
        "asked to kill broker 1",
        "broker 1 killed by SIGKILL",
        "cannot fetch from broker 1",
    ]


def test_a_session_has_the_name_of_its_broker() -> None:
    story, ticker = Story(), Ticker()
    zookeeper = Source(SourceKind.ZOOKEEPER, 1)
    story.tell(1, snapshot_of_a_broker(session_id=7, pid=101))
    expired = story.tell(zookeeper, SessionExpired(session_id=7, timeout_ms=6_000))
    story.tell(zookeeper, SessionExpired(session_id=8, timeout_ms=6_000), after_ms=20_000)
    for envelope in story.envelopes:
        ticker.apply(envelope)
    first, second = ticker.lines
    assert first.text.startswith("session of broker 1 expired")
    assert second.text.startswith("session 0x8 expired"), "nobody has said whose it is"
    (link,) = ticker.chain(expired)
    assert link.said.text().startswith("session of broker 1 expired")
    assert link.said.line.startswith("session 0x7 (broker 1) expired")
    (line,) = chain_of(ticker.history, expired).causes
    assert line.text.startswith("session 0x7 (broker 1) expired")
