"""The reducer of the Replication screen, and its scale of offsets."""

import pytest

from kafka_edu.trace.event import SUPERVISOR, Envelope, Event, Source
from kafka_edu.trace.events.controller import (
    BrokerFailed,
    TopicDeletionChanged,
)
from kafka_edu.trace.events.log import LeaderEpochAssigned, LogState, LogTruncated
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    IsrExpanded,
    IsrShrunk,
    LogTruncatedByEpoch,
    LogTruncatedByRange,
    PartitionOffsets,
    PartitionProgress,
    UncleanTruncation,
)
from kafka_edu.trace.events.server import ProduceAnswered
from kafka_edu.trace.events.supervisor import ProcessPaused
from tests.unit.tui.story_of_events import Story
from tests.unit.tui.test_cluster_view import PROGRESS, WEB, running
from tests.unit.tui.usual_events import ELECTED, killed
from tui.model import NEVER, Model
from tui.view_model.partition_view import PartitionKey
from tui.view_model.replication_view import (
    ISR_UNKNOWN,
    KEPT_EPOCHS,
    KEPT_STEPS,
    LAGS,
    NO_LEADER_LIVES,
    UNDER_REPLICATED,
    WELL,
    ReplicationView,
    Scale,
    scale_of,
)


class Kept(Story):
    """A story that keeps what others have cleared."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Envelope] = []

    def tell(
        self,
        teller: Source | int,
        event: Event,
        after_ms: int = 0,
        cause: Envelope | None = None,
    ) -> Envelope:
        self.all.append(super().tell(teller, event, after_ms, cause))
        return self.all[-1]


class Told:
    """A story of three brokers where 1 leads web-0 by epoch 7, and the model that follows it."""

    def __init__(self) -> None:
        self.story = Kept()
        self.story.now_ms = 100_000
        self.model = Model("demo")
        running(self.story)
        self.follow()

    def follow(self) -> ReplicationView:
        self.model.apply(self.story.all)
        self.story.all.clear()
        return self.model.replication

    def offsets(self, leo: int, hw: int, *followers: tuple[int, int, int]) -> ReplicationView:
        """Emit samples, and return the view. Each follower is (broker, LEO, ms since it caught
        up).
        """
        now_ms = self.story.now_ms
        progress = PartitionProgress(
            log_start=0,
            hw=hw,
            leo=leo,
            remote_leos=tuple((broker, end) for broker, end, _ in followers),
            min_isr=2,
            remote_times=tuple((b, now_ms - ago, now_ms - ago) for b, _, ago in followers),
        )
        self.story.tell(1, PartitionOffsets(topic="web", partition=0, progress=progress))
        for broker, end, _ in followers:
            own = PartitionProgress(
                log_start=0, hw=min(hw, end), leo=end, remote_leos=(), min_isr=2
            )
            self.story.tell(broker, PartitionOffsets(topic="web", partition=0, progress=own))
        return self.follow()

    def elected(self, leader: int, isr: tuple[int, ...], epoch: int, unclean: bool = False) -> None:
        self.story.tell(
            0,
            ELECTED._replace(
                new_leader=leader, isr=isr, leader_epoch=epoch, unclean=unclean, zk_version=epoch
            ),
        )
        self.story.tell(
            leader,
            BecameLeader(
                topic="web",
                partition=0,
                leader_epoch=epoch,
                controller_epoch=4,
                start_offset=100,
                high_watermark=80,
                isr=isr,
                replicas=(1, 2, 0),
                zk_version=epoch,
            ),
        )

    def killed(self, broker: int) -> None:
        self.story.tell(SUPERVISOR, killed(broker))
        self.story.tell(0, BrokerFailed(broker_id=broker, shutting_down=False), after_ms=6_000)


def test_a_follower_that_does_not_fetch_lags_and_is_named() -> None:
    told = Told()
    view = told.offsets(122, 100, (2, 122, 4), (0, 100, 6_100))
    p = told.model.cluster.partitions.by_key[WEB]
    assert (view.behind(p, 0), view.behind(p, 2), view.behind(p, 1)) == (22, 0, 0)
    assert (view.late_ms(p, 0), view.late_ms(p, 2)) == (6_100, 4)
    assert view.trouble(p) == LAGS
    assert view.lag_words(p, 0) == "22 behind, last fetch 6.1 s ago"
    assert view.lag_words(p, 2) == "has all, last fetch 4 ms ago"
    assert view.answer() == (
        "warning",
        "! broker 0 lags in web-0: 22 behind, last fetch 6.1 s ago",
    )


def test_a_follower_one_fetch_behind_does_not_lag() -> None:
    told = Told()
    view = told.offsets(122, 120, (2, 121, 30), (0, 120, 300))
    p = told.model.cluster.partitions.by_key[WEB]
    assert view.behind(p, 0) == 2
    assert view.trouble(p) == WELL
    assert view.answer() == ("ok", "✓ every replica keeps up with its leader: 1 partition")
    told.model.advance(view.now_us + 3_000_000)
    assert view.trouble(p) == WELL, "the sample is late, not the follower"
    told.model.advance(view.now_us + 3_000_000)
    assert view.trouble(p) == WELL, "nor is the follower late because its leader is silent"
    assert view.lag_words(p, 0) == "2 behind, last fetch 300 ms ago", "as of the last sample"
    assert view.answer() == (
        "warning",
        "? broker 1 has sent nothing for 6.0 s: how far its followers are is not known",
    )


def test_the_isr_over_time_with_its_causes() -> None:
    told = Told()
    told.story.tell(
        1,
        IsrShrunk(
            topic="web",
            partition=0,
            leader_epoch=7,
            before=(1, 2, 0),
            after=(1, 2),
            zk_version=4,
            reason="0 is stuck: no fetch for 10200 ms",
        ),
        after_ms=15_000,
    )
    view = told.follow()
    known = view.by_key[WEB]
    shrunk_us = view.now_us
    assert [step.isr for step in known.steps] == [(1, 2, 0), (1, 2)]
    assert known.steps[0].because == ""
    assert [step.at_least for step in known.steps] == [True, False], "it began before we looked"
    assert known.steps[1].because == "broker 0 is stuck: no fetch for 10200 ms"
    assert known.left_isr_us(0) == shrunk_us
    assert known.left_isr_us(2) is None
    told.story.tell(
        1,
        IsrExpanded(
            topic="web",
            partition=0,
            leader_epoch=7,
            before=(1, 2),
            after=(1, 2, 0),
            zk_version=5,
            reason="0 has caught up",
        ),
        400,
    )
    told.follow()
    assert [set(step.isr) for step in known.steps] == [{0, 1, 2}, {1, 2}, {0, 1, 2}]
    assert known.steps[2].at_us - known.steps[1].at_us == 400_000
    assert known.left_isr_us(0) is None


def test_the_same_isr_told_twice_is_one_step() -> None:
    told = Told()
    told.killed(1)
    told.elected(2, (2, 0), 8)
    view = told.follow()
    assert [step.isr for step in view.by_key[WEB].steps] == [(1, 2, 0), (2, 0)]
    assert view.by_key[WEB].steps[1].because == "broker 1 is gone", "the controller said so first"


def test_no_live_leader_is_worse_than_all_else() -> None:
    told = Told()
    told.offsets(122, 100, (2, 122, 4), (0, 100, 6_100))
    told.killed(1)
    view = told.follow()
    p = told.model.cluster.partitions.by_key[WEB]
    assert view.trouble(p) == NO_LEADER_LIVES
    assert view.answer()[1] == "✕ web-0 has no live leader: clients cannot write or fetch"
    told.elected(2, (2, 0), 8)
    view = told.follow()
    assert view.trouble(p) == UNDER_REPLICATED
    assert "broker 1 is out of the ISR of 1 partition" in view.answer()[1]


MAY_BE_ACKNOWLEDGED = "; producers with acks=1 may have got an acknowledgement for them"


def cut(told: Told, broker: int, before: int, after: int, hw: int) -> None:
    told.story.tell(
        broker,
        LogTruncated(
            topic="web",
            partition=0,
            from_offset=before,
            to_offset=after,
            bytes=100 * (before - after),
            fully=False,
        ),
    )
    told.story.tell(
        broker,
        LogTruncatedByEpoch(
            topic="web",
            partition=0,
            before=before,
            after=after,
            epoch=7,
            leader_end_offset=after,
            leader=2,
            high_watermark=hw,
            complete=True,
        ),
    )


def test_a_truncation_after_a_clean_election_loses_nothing_committed() -> None:
    told = Told()
    told.elected(2, (2, 0), 8)
    cut(told, 1, 122, 100, 100)
    view = told.follow()
    [one] = view.truncations
    assert one.words() == (
        "broker 1 cut off 22 records, 122 → 100, none committed" + MAY_BE_ACKNOWLEDGED
    )
    assert one.reason == "leader broker 2 has no more of epoch 7"
    assert view.by_key[WEB][1].end == 100
    p = told.model.cluster.partitions.by_key[WEB]
    assert view.trouble(p) == UNDER_REPLICATED
    assert view.answer() == ("warning", f"! web-0: {one.brief()}")
    room = one.brief()[:78]  # a narrow window has no more
    assert "22 records, maybe acknowledged with acks=1, none committed" in room
    told.model.advance(view.now_us + 61_000_000)
    assert view.recent_cut(WEB) is None, "it is news for a minute"


def test_an_unclean_truncation_says_what_was_committed() -> None:
    told = Told()
    told.elected(0, (0,), 8, unclean=True)
    cut(told, 1, 122, 90, 100)
    told.story.tell(
        1,
        UncleanTruncation(
            topic="web",
            partition=0,
            leader=0,
            leader_epoch=8,
            before=122,
            after=90,
            high_watermark=100,
            records=10,
            exact=True,
        ),
    )
    view = told.follow()
    [one] = view.truncations
    assert (one.records, one.committed, one.exact) == (32, 10, True)
    assert one.words().endswith("122 → 90, 10 of them committed")
    assert one.brief() == "broker 1 cut off 32 records, 10 of them committed"
    assert view.by_key[WEB].truncations[0] == one
    assert view.answer()[0] == "error"
    cut(told, 2, 122, 100, 100)
    view = told.follow()
    assert view.truncations[-1].words().endswith("none known to be committed" + MAY_BE_ACKNOWLEDGED)
    assert "10 of them committed" in view.answer()[1], "the loss stays the answer"


def test_a_truncation_by_range_has_no_epoch() -> None:
    told = Told()
    told.story.tell(
        0,
        LogTruncatedByRange(
            topic="web",
            partition=0,
            before=80,
            after=60,
            leader=1,
            reason="the offset is out of range",
        ),
    )
    told.story.tell(
        0,
        LogTruncatedByEpoch(
            topic="web",
            partition=0,
            before=60,
            after=60,
            epoch=7,
            leader_end_offset=60,
            leader=1,
            high_watermark=60,
            complete=True,
        ),
    )
    view = told.follow()
    [one] = view.truncations
    assert one.words() == (
        f"broker 0 cut off 20 records, 80 → 60, none committed{MAY_BE_ACKNOWLEDGED}"
    )
    assert one.reason == "the offset is out of range"


def test_leader_epochs_of_each_log() -> None:
    told = Told()
    for broker in (1, 0):
        told.story.tell(
            broker,
            LogState(
                topic="web",
                partition=0,
                log_dir="/d",
                log_start_offset=0,
                recovery_point=0,
                log_end_offset=100,
                segments=(),
                leader_epochs=((5, 0), (7, 60)),
                producers=0,
            ),
        )
    told.story.tell(
        1, LeaderEpochAssigned(topic="web", partition=0, leader_epoch=8, start_offset=100)
    )
    told.story.tell(
        0,
        LogTruncated(
            topic="web", partition=0, from_offset=100, to_offset=60, bytes=4_000, fully=False
        ),
    )
    view = told.follow()
    assert view.by_key[WEB][1].epochs == {5: 0, 7: 60, 8: 100}
    assert view.by_key[WEB][0].epochs == {5: 0}, "an epoch that began behind the cut is forgotten"


def test_a_new_leader_does_not_know_its_followers_before_they_fetch() -> None:
    told = Told()
    told.offsets(122, 100, (2, 122, 4), (0, 100, 6_100))
    told.elected(2, (2, 0), 8)
    view = told.follow()
    assert view.by_key[WEB][0].remote_leo == -1
    assert view.by_key[WEB][0].end == 100, "but the broker's own word stays"
    assert "last fetch" not in view.lag_words(told.model.cluster.partitions.by_key[WEB], 0)


def test_a_follower_reports_its_own_end() -> None:
    told = Told()
    told.story.tell(
        0,
        BecameFollower(
            topic="web",
            partition=0,
            leader=1,
            leader_epoch=7,
            controller_epoch=4,
            log_end_offset=77,
            high_watermark=70,
            replicas=(1, 2, 0),
        ),
    )
    view = told.follow()
    assert (view.by_key[WEB][0].leo, view.by_key[WEB][0].hw) == (77, 70)


def test_a_deleted_topic_is_forgotten() -> None:
    told = Told()
    told.story.tell(0, TopicDeletionChanged(topic="web", step="complete", reason=""))
    view = told.follow()
    assert list(view.by_key) == []
    assert view.answer() == ("ok", "no topics yet")


def test_its_memory_is_bounded() -> None:
    told = Told()
    for n in range(300):
        told.story.tell(
            1,
            LeaderEpochAssigned(topic="web", partition=0, leader_epoch=8 + n, start_offset=100 + n),
        )
        isr = (1, 2) if n % 2 else (1, 2, 0)
        told.story.tell(
            1,
            IsrShrunk(
                topic="web",
                partition=0,
                leader_epoch=7,
                before=(1, 2, 0),
                after=isr,
                zk_version=4 + n,
                reason="x",
            ),
        )
        cut(told, 0, 120, 100, 100)
        view = told.follow()
    known = view.by_key[WEB]
    assert len(known[1].epochs) == KEPT_EPOCHS
    assert max(known[1].epochs) == 307, "the newest stay"
    assert len(known.steps) == len(known.truncations) == KEPT_STEPS
    assert len(view.truncations) == 200


def test_the_worst_come_first_and_internal_ones_last() -> None:
    told = Told()
    view = told.offsets(122, 122, (2, 122, 4), (0, 122, 4))
    for topic in ("__consumer_offsets", "aaa", "zzz"):
        told.story.tell(
            1,
            BecameLeader(
                topic=topic,
                partition=0,
                leader_epoch=0,
                controller_epoch=4,
                start_offset=0,
                high_watermark=0,
                isr=(1,) if topic == "zzz" else (1, 2),
                replicas=(1, 2),
                zk_version=0,
            ),
        )
    view = told.follow()
    assert [p.key for p in view.by_trouble()] == [
        PartitionKey("zzz", 0),
        PartitionKey("aaa", 0),
        WEB,
        PartitionKey("__consumer_offsets", 0),
    ]


@pytest.mark.parametrize(
    ("low", "high", "left", "right"),
    [
        (81_240, 81_262, 81_232, 81_264),
        (0, 0, 0, 32),
        (0, 31, 0, 32),
        (0, 33, 0, 64),
        (952, 1_898, 0, 2_048),
        (5, -1, 0, 32),
    ],
)
def test_the_scale_holds_both_ends_and_rarely_moves(
    low: int, high: int, left: int, right: int
) -> None:
    scale = scale_of(low, high, 40)
    assert (scale.left, scale.right) == (left, right)
    assert scale.left <= low <= scale.right or low < 0
    assert high <= scale.right


def test_a_column_of_the_scale() -> None:
    scale = Scale(100, 140, 20)
    assert [scale.column(offset) for offset in (0, 100, 120, 140, 999)] == [0, 0, 10, 20, 20]


def test_the_first_isr_of_a_new_partition_began_when_it_was_elected() -> None:
    told = Told()
    elected = ELECTED._replace(topic="new", leader_epoch=0, zk_version=0, isr=(1, 2, 0))
    told.story.tell(0, elected)
    known = told.follow().by_key[PartitionKey("new", 0)]
    assert [step.at_least for step in known.steps] == [False]


def test_offsets_that_only_a_fact_has_said_are_not_known() -> None:
    """The past that comes from the rings has only facts, and the offsets in facts are soon old."""
    told = Told()
    told.model.reset()
    told.elected(1, (1, 2, 0), 8)
    view = told.follow()
    known = view.by_key[WEB]
    assert known[1].leo == 100
    assert known[1].end == -1
    p = told.model.cluster.partitions.by_key[WEB]
    assert told.model.age_of_offsets_us(p) == NEVER
    told.offsets(122, 100, (2, 122, 4))
    assert (known[1].end, told.model.age_of_offsets_us(p)) == (122, 0)
    told.model.advance(view.now_us + 12_000_000)
    assert told.model.age_of_offsets_us(p) == 12_000_000


def test_records_that_acks_1_had_acknowledged_are_counted() -> None:
    """Only the answers of the old leader count, because the new leader uses the same offsets
    again.
    """
    told = Told()

    def answered(broker: int, acks: int, first: int, end: int, error: str = "NONE") -> None:
        partitions = (("web", 0, first, end, error),)
        told.story.tell(
            broker,
            ProduceAnswered(connection_id="c", correlation_id=1, acks=acks, partitions=partitions),
        )

    answered(1, 1, 90, 95)
    answered(1, 1, 95, 110)
    answered(1, -1, 110, 112)
    answered(1, 1, 112, 115, "NOT_LEADER_OR_FOLLOWER")
    told.elected(2, (2, 0), 8)
    answered(2, 1, 100, 120)
    cut(told, 1, 122, 100, 100)
    view = told.follow()
    [one] = view.truncations
    assert one.acknowledged == 10
    assert one.words().endswith("none committed, yet 10 or more acknowledged with acks=1")
    assert one.brief().endswith("10 or more acknowledged with acks=1, none committed")


def test_how_long_an_isr_lasts_is_not_known_after_its_leaders_last_word() -> None:
    told = Told()
    view = told.offsets(100, 100, (2, 100, 4), (0, 100, 4))
    p = told.model.cluster.partitions.by_key[WEB]
    heard_us = view.now_us
    assert view.isr_known_until_us(p) == heard_us
    told.model.advance(heard_us + 52_000_000)
    assert view.isr_known_until_us(p) == heard_us
    assert view.isrs_old_us([p]) == 52_000_000
    told.story.tell(
        SUPERVISOR, ProcessPaused(process="broker-1", child=Source.of_broker(1), pid=101)
    )
    told.follow()
    assert view.isrs_old_us([p]) == 0, "a leader that stands still changes no ISR"


def test_an_isr_that_nobody_has_reported_is_no_trouble_and_not_in_sync() -> None:
    told = Told()
    view = told.follow()
    assert view.answer()[0] == "ok"
    by_a_follower = PROGRESS._replace(topic="new", isr=(1,))
    told.story.tell(2, by_a_follower)
    view = told.follow()
    p = told.model.cluster.partitions.by_key[PartitionKey("new", 0)]
    assert view.trouble(p) == ISR_UNKNOWN
    assert view.answer() == ("warning", "? the ISR of 1 partition is not known yet")
