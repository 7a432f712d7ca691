"""The Transactions screen's state: ids, markers, fencing, and who holds the last stable offset."""

from typing import Final

from kafka_edu.trace.event import Envelope, Event
from kafka_edu.trace.events.replication import (
    PartitionOffsets,
    PartitionProgress,
    PartitionSnapshot,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from kafka_edu.trace.events.transaction import (
    BY_ANOTHER,
    BatchFenced,
    LastStableOffsetMoved,
    ProducerFenced,
    TransactionalIdExpired,
    TransactionalIdInitialised,
    TransactionMarkerAnswered,
    TransactionMarkersSnapshot,
    TransactionOpened,
    TransactionResumed,
    TransactionsLoaded,
    TransactionSnapshot,
    TransactionStateChanged,
    TransactionsUnloaded,
    TransactionTimedOut,
    UnstableTransaction,
)
from tests.unit.tui.story_of_events import Story
from tui.view_model.cluster_view import ClusterView
from tui.view_model.partition_view import PartitionKey
from tui.view_model.transaction_state import WAITS, WRITTEN, PartitionRow, TransactionView
from tui.view_model.transactions_view import KEPT_IDS, TransactionsView

COORDINATOR, LEADER, FOLLOWER = 1, 2, 0
WALL_MS: Final = 1_700_000_000_000
"""Story's wall clock: this time plus `now_ms`."""
STATE: Final = TransactionStateChanged(
    transactional_id="pay",
    producer_id=7,
    producer_epoch=3,
    before="Empty",
    after="Ongoing",
    partitions=("web-0", "web-1"),
    coordinator_epoch=5,
    log_partition=13,
    started_ms=-1,
    timeout_ms=60_000,
)
SNAPSHOT: Final = TransactionSnapshot(
    transactional_id="pay",
    producer_id=7,
    producer_epoch=3,
    state="Ongoing",
    pending_state="",
    partitions=("web-0",),
    coordinator_epoch=5,
    log_partition=13,
    started_ms=-1,
    timeout_ms=60_000,
    updated_ms=-1,
)


class Look:
    """A view next to a cluster's view, and the events that both get."""

    def __init__(self) -> None:
        self.cluster = ClusterView("x")
        self.view = TransactionsView(self.cluster)
        self.story = Story()
        self.sample(100, 100)

    def tell(self, broker: int, event: Event, after_ms: int = 1) -> Envelope:
        envelope = self.story.tell(broker, event, after_ms)
        self.cluster.apply(envelope)
        self.view.apply(envelope)
        return envelope

    def wall(self) -> int:
        """Return the brokers' wall time in ms."""
        return WALL_MS + self.story.now_ms

    def wait(self, ms: int) -> None:
        self.story.now_ms += ms
        self.cluster.advance(self.story.now_ms * 1000)
        self.view.advance(self.story.now_ms * 1000)

    def sample(self, hw: int, lso: int, *unstable: UnstableTransaction) -> None:
        """The leader reports web-0 as a part of its snapshot."""
        progress = PartitionProgress(
            log_start=0,
            hw=hw,
            leo=hw,
            remote_leos=(),
            min_isr=1,
            last_stable=lso,
            unstable=unstable[:3],
            unstable_transactions=len(unstable),
        )
        self.tell(
            LEADER,
            PartitionSnapshot(
                topic="web",
                partition=0,
                leader=LEADER,
                leader_epoch=1,
                isr=(LEADER,),
                replicas=(LEADER, FOLLOWER),
                progress=progress,
                zk_version=1,
                proposed_isr=(),
            ),
        )

    def begin(self, **changed: object) -> None:
        began = STATE._replace(started_ms=self.wall() + 1)
        self.tell(COORDINATOR, began._replace(**changed))  # type: ignore[arg-type]

    def change(self, before: str, after: str, *partitions: str) -> None:
        self.tell(
            COORDINATOR,
            STATE._replace(
                before=before,
                after=after,
                partitions=partitions,
                started_ms=-1 if self.pay.started_us is None else self.wall() - 1_000,
            ),
        )

    def marker(self, partition: int, error: str = "NONE") -> None:
        self.tell(
            COORDINATOR,
            TransactionMarkerAnswered(
                transactional_id="pay", topic="web", partition=partition, broker=2, error=error
            ),
        )

    @property
    def pay(self) -> TransactionView:
        return self.view.by_id["pay"]

    @property
    def row(self) -> PartitionRow:
        return next(row for row in self.view.rows() if row.held.key == PartitionKey("web", 0))

    def answers(self) -> list[str]:
        return [answer.words for answer in self.view.answers()]


def open_since(look: Look, first_offset: int = 40, producer: int = 7) -> UnstableTransaction:
    return UnstableTransaction(producer, 3, first_offset, look.wall())


def test_a_transaction_from_its_beginning_to_its_end() -> None:
    look = Look()
    look.begin()
    look.wait(20_000)
    assert (look.pay.state, look.pay.coordinator, look.pay.log_partition) == ("Ongoing", 1, 13)
    assert look.pay.open_us(look.view.now_us) == (20_000_000, False)
    assert look.pay.left_us(look.view.now_us) == 40_000_000
    look.change("Ongoing", "PrepareCommit", "web-0", "web-1")
    look.marker(1)
    assert look.pay.markers == {"web-0": WAITS, "web-1": WRITTEN}
    assert (look.pay.written, look.pay.waits_for) == (1, ["web-0"])
    look.marker(0, "NOT_LEADER_OR_FOLLOWER")
    look.wait(1_500)
    assert look.answers() == [
        "pay will commit, and waits 1.5 s for the markers of web-0: the last answer was"
        " NOT_LEADER_OR_FOLLOWER"
    ]
    look.marker(0)
    look.change("PrepareCommit", "CompleteCommit")
    assert not look.pay.open
    ended = look.pay.ended
    assert ended is not None
    assert (ended.how, ended.partitions) == ("committed", 2)
    assert ended.markers_us == 1_504_000


def test_the_clock_of_a_transaction_comes_from_the_snapshot_or_is_counted_since_you_look() -> None:
    look = Look()
    look.tell(COORDINATOR, SNAPSHOT._replace(started_ms=look.wall() - 29_999))
    look.wait(2_000)
    assert look.pay.open_us(look.view.now_us) == (32_000_000, False)
    [warning] = look.answers()
    assert warning.startswith("pay is open for 32 s: the coordinator aborts it in 28 s")
    older = Look()
    older.tell(COORDINATOR, SNAPSHOT._replace(timeout_ms=-1))
    older.wait(2_000)
    assert older.view.open_words(older.pay) == "2.0 s at least, since you began to look"
    assert older.pay.left_us(older.view.now_us) is None


def test_a_transaction_whose_time_is_over_waits_for_the_coordinators_next_check() -> None:
    """By default the coordinator checks only every 60 s."""
    look = Look()
    look.tell(COORDINATOR, SNAPSHOT._replace(started_ms=look.wall() - 61_000))
    look.wait(2_000)
    [error] = look.answers()
    assert error.startswith("pay is open for 63 s: its time is over, and the coordinator aborts it")
    assert "at its next check" in error


def test_markers_that_are_missing_come_with_the_snapshot() -> None:
    look = Look()
    look.tell(COORDINATOR, SNAPSHOT._replace(state="PrepareAbort", partitions=("web-0", "web-1")))
    assert look.pay.waits_for == ["web-0", "web-1"]
    look.tell(
        COORDINATOR,
        TransactionMarkersSnapshot(
            transactional_id="pay", waits_for=("web-1",), coordinator_epoch=5
        ),
    )
    assert look.pay.markers == {"web-0": WRITTEN, "web-1": WAITS}


def test_who_holds_the_last_stable_offset_and_since_when() -> None:
    look = Look()
    look.begin(partitions=("web-0",))
    first, second = open_since(look), open_since(look, 50, 8)
    look.sample(60, 40, first, second)
    look.wait(4_999)
    row = look.row
    assert row.holder is not None
    assert row.holder.held_us(look.view.now_us) == (5_000_000, False)
    assert (row.held.held, row.held.open_count, row.transaction) == (20, 2, look.pay)
    look.sample(80, 80)
    assert (look.row.holder, look.row.held.held) == (None, 0)


def test_after_a_restart_of_the_leader_the_beginning_is_not_known() -> None:
    look = Look()
    look.sample(60, 40, UnstableTransaction(7, 3, 40, -1))
    look.wait(2_000)
    holder = look.row.holder
    assert holder is not None
    assert holder.held_us(look.view.now_us) == (2_000_000, True)
    look.sample(61, 40, UnstableTransaction(7, 3, 40, -1))
    again = look.row.holder
    assert again is not None
    assert again.seen_us == holder.seen_us


def test_facts_say_who_holds_it_between_samples_and_in_the_past() -> None:
    look = Look()
    opened = TransactionOpened(
        topic="web", partition=1, producer_id=7, producer_epoch=3, first_offset=40
    )
    moved = LastStableOffsetMoved(
        topic="web", partition=1, from_offset=40, to_offset=60, high_watermark=60
    )
    look.tell(LEADER, opened)
    held = look.view.partitions[PartitionKey("web", 1)]
    assert [one.first_offset for one in held.open] == [40]
    assert (held.hw, held.lso) == (None, None), "no sample has come"
    look.tell(LEADER, opened._replace(producer_id=8, first_offset=60))
    assert held.open_count == 2
    look.tell(LEADER, moved)
    assert [one.first_offset for one in held.open] == [60]
    assert (held.hw, held.open_count) == (None, 1)


def test_a_followers_sample_does_not_count() -> None:
    look = Look()
    look.sample(60, 40, open_since(look))
    progress = PartitionProgress(
        log_start=0, hw=10, leo=10, remote_leos=(), min_isr=1, last_stable=10
    )
    look.tell(FOLLOWER, PartitionOffsets(topic="web", partition=0, progress=progress))
    assert (look.row.held.hw, look.row.held.lso) == (60, 40)


def test_a_transaction_that_its_coordinator_does_not_know_hangs() -> None:
    look = Look()
    look.begin(partitions=("web-1",))
    look.sample(60, 40, open_since(look))
    assert not look.row.hangs, "the coordinator may report it a moment later"
    look.wait(1_500)
    look.sample(60, 40, open_since(look))
    look.wait(1_900)
    assert look.row.hangs
    assert look.answers()[0].startswith(
        "web-0 hangs: producer 7 (pay) has a transaction open there for "
    )
    look.begin(before="Ongoing", partitions=("web-0", "web-1"))
    assert not look.row.hangs


def test_nothing_hangs_while_the_coordinator_or_the_leader_is_silent() -> None:
    look = Look()
    look.begin(partitions=("web-1",))
    look.sample(60, 40, open_since(look))
    look.wait(60_000)
    known = look.cluster.brokers.by_id[LEADER]
    known.sampled_us = 1_000_000
    assert known.old_us(look.view.now_us)
    assert not look.row.hangs
    assert look.view.now_of(LEADER) == 1_000_000


def test_a_fact_after_the_last_sample_of_a_dead_coordinator_is_not_in_the_future() -> None:
    look = Look()
    look.begin()
    assert look.pay.changed_us is not None
    look.wait(60_000)
    look.cluster.brokers.by_id[COORDINATOR].sampled_us = look.pay.changed_us - 50_000
    assert look.view.now_of(COORDINATOR) < look.pay.changed_us
    assert look.view.ago_us(look.pay, look.pay.changed_us) == 0
    assert look.view.ago_us(look.pay, look.pay.changed_us - 80_000) == 30_000


def test_a_transaction_whose_marker_is_written_does_not_hang() -> None:
    look = Look()
    look.sample(60, 40, open_since(look)._replace(marker_offset=59))
    look.wait(10_000)
    holder = look.row.holder
    assert holder is not None
    assert holder.marker_offset == 59
    assert not look.row.hangs


def test_who_was_fenced_by_whom() -> None:
    look = Look()
    initialised = TransactionalIdInitialised(
        transactional_id="pay",
        producer_id=7,
        producer_epoch=3,
        timeout_ms=60_000,
        client_id="old",
        connection_id="b:1-c:2-0",
    )
    fenced = ProducerFenced(
        transactional_id="pay",
        producer_id=7,
        producer_epoch=3,
        current_epoch=4,
        asked=BY_ANOTHER,
        client_id="new",
    )
    look.tell(COORDINATOR, initialised)
    look.begin()
    assert look.pay.client == "old"
    look.tell(COORDINATOR, fenced)
    look.tell(COORDINATOR, initialised._replace(producer_epoch=5, client_id="new"))
    late = fenced._replace(current_epoch=5, asked="EndTxn", client_id="old")
    look.tell(COORDINATOR, late)
    look.tell(
        LEADER,
        BatchFenced(
            topic="web",
            partition=0,
            producer_id=7,
            producer_epoch=3,
            current_epoch=5,
            base_sequence=1,
        ),
    )
    assert [fence.words for fence in look.pay.fences] == [
        "epoch 3 (old) by new, which initialises; the open transaction is aborted",
        "epoch 3 (old) by epoch 5 (new): its EndTxn was refused",
        "epoch 3 (old) by epoch 5 (new): its batch for web-0 was refused",
    ]
    assert "fenced epoch 3 (old) by epoch 5 (new)" in look.answers()[-1]


def test_after_its_time_out_the_coordinator_fences_the_producer() -> None:
    look = Look()
    look.begin()
    look.tell(
        COORDINATOR,
        TransactionTimedOut(
            transactional_id="pay",
            producer_id=7,
            producer_epoch=3,
            open_ms=61_000,
            timeout_ms=60_000,
        ),
    )
    look.tell(
        COORDINATOR,
        ProducerFenced(
            transactional_id="pay",
            producer_id=7,
            producer_epoch=3,
            current_epoch=4,
            asked="EndTxn",
            client_id="slow",
        ),
    )
    assert [fence.words for fence in look.pay.fences] == [
        "epoch 3 by the coordinator: its transaction was open for 61 s, and"
        " transaction.timeout.ms is 60 s",
        "epoch 3 (slow) by epoch 4 (the coordinator, after its time-out): its EndTxn was refused",
    ]


def test_a_new_coordinator_inherits_what_the_one_before_said() -> None:
    look = Look()
    look.begin()
    unloaded = TransactionsUnloaded(partition=13, coordinator_epoch=5, transactional_ids=1)
    look.tell(COORDINATOR, unloaded._replace(partition=12))
    assert look.pay.coordinator == COORDINATOR
    look.tell(COORDINATOR, unloaded)
    assert look.pay.coordinator == -1
    look.tell(
        FOLLOWER,
        TransactionsLoaded(partition=13, coordinator_epoch=6, transactional_ids=1, took_ms=2),
    )
    assert (look.pay.coordinator, look.pay.inherited) == (FOLLOWER, True)
    look.tell(
        FOLLOWER,
        TransactionResumed(
            transactional_id="pay",
            producer_id=7,
            producer_epoch=3,
            state="PrepareCommit",
            partitions=("web-0",),
            coordinator_epoch=6,
        ),
    )
    assert (look.pay.state, look.pay.inherited) == ("PrepareCommit", False)
    assert look.pay.markers == {"web-0": WAITS}


def test_an_id_that_a_new_snapshot_does_not_have_is_gone() -> None:
    look = Look()
    look.begin()
    look.begin(transactional_id="stock", producer_id=8)
    look.begin(transactional_id="report", producer_id=9)
    look.tell(
        COORDINATOR,
        TransactionalIdExpired(
            transactional_id="report", producer_id=9, producer_epoch=3, coordinator_epoch=5
        ),
    )
    assert set(look.view.by_id) == {"pay", "stock"}
    look.tell(COORDINATOR, SnapshotBegins(as_of=3))
    look.tell(COORDINATOR, SNAPSHOT)
    look.tell(COORDINATOR, SnapshotEnds(events=1))
    assert set(look.view.by_id) == {"pay"}
    assert look.view.transaction_of(8) is None


def test_the_longest_open_comes_first_and_short_ones_do_not_jump() -> None:
    look = Look()
    for number, name in enumerate(("b", "c", "a")):
        look.begin(transactional_id=name, producer_id=number)
    assert [view.transactional_id for view in look.view.transactions()] == ["a", "b", "c"]
    look.wait(5_000)
    assert [view.transactional_id for view in look.view.transactions()] == ["b", "c", "a"]
    assert look.answers() == ["3 of 3 transactional ids with an open transaction, the oldest"
                              " (b) for 5.0 s"]  # fmt: skip


def test_the_number_of_ids_is_bounded_and_open_ones_stay() -> None:
    look = Look()
    look.begin()
    for number in range(KEPT_IDS + 5):
        look.begin(
            transactional_id=f"id-{number}", producer_id=100 + number, after="CompleteCommit"
        )
    assert len(look.view.by_id) == KEPT_IDS
    assert "pay" in look.view.by_id
    assert look.view.left_out == 6


def test_if_all_ids_are_open_the_one_that_changed_first_makes_room() -> None:
    look = Look()
    for number in range(KEPT_IDS + 1):
        look.begin(transactional_id=f"id-{number}", producer_id=100 + number)
    assert len(look.view.by_id) == KEPT_IDS
    assert "id-0" not in look.view.by_id
    assert look.view.by_id[f"id-{KEPT_IDS}"].open
    assert look.view.left_out == 1


def test_without_transactions_the_answer_is_that_nobody_is_held_back() -> None:
    look = Look()
    assert look.answers() == [
        "no producer has initialised with a transactional.id: no LSO is held back"
    ]
    look.begin(after="Empty", partitions=())
    assert look.answers() == ["no transaction is open: 1 transactional id, and no LSO is held back"]
