"""The Moves screen's state: what moves, in which phase, how far, and which throttles hold it
back.
"""

from typing import Any

import pytest

from kafka_edu.trace.event import Envelope, Event, Source
from kafka_edu.trace.events.controller import ControlledShutdownProcessed, ControllerSnapshot
from kafka_edu.trace.events.log import LogState, SegmentState
from kafka_edu.trace.events.reassignment import (
    ReassignmentCaughtUp,
    ReassignmentCompleted,
    ReassignmentReplicasStopped,
    ReassignmentSnapshot,
    ReassignmentStarted,
    ReassignmentWaits,
)
from kafka_edu.trace.events.replication import (
    ReplicaMoveCompleted,
    ReplicaMoveEnded,
    ReplicaMoveProgress,
    ReplicaMoveStarted,
    ReplicationQuotaSampled,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)
from kafka_edu.trace.events.server import (
    ControlledShutdownAttempted,
    ServerStopped,
)
from kafka_edu.trace.events.trace import SnapshotBegins, SnapshotEnds
from tui.view_model.log_view import LogsView
from tui.view_model.moves_view import (
    BROKERS,
    DONE,
    KEPT,
    LOG_DIR,
    NO_BOUND,
    SHUTDOWN,
    UNKNOWN,
    Move,
    MovesView,
)

WEB: Any = {"topic": "web", "partition": 0}
STARTED = ReplicaMoveStarted(
    **WEB,
    from_dir="/a",
    to_dir="/b",
    size=4_000_000,
    log_end_offset=100,
    future_log_end_offset=0,
    resumed=False,
)
BEGUN = ReassignmentStarted(
    **WEB, ordered_by="api", before=(0, 1), replicas=(2, 1, 0), adding=(2,), removing=(0,)
)


def progress(copied: int, throttled: bool = False) -> ReplicaMoveProgress:
    return ReplicaMoveProgress(
        **WEB,
        to_dir="/b",
        log_end_offset=100,
        future_log_end_offset=50,
        copied_bytes=copied,
        throttled=throttled,
    )


def controller(active: bool) -> ControllerSnapshot:
    return ControllerSnapshot(
        active=active, controller_id=1, epoch=1, epoch_zk_version=1, queue_size=0
    )


def log_of(size: int) -> LogState:
    return LogState(
        **WEB,
        log_dir="/a",
        log_start_offset=0,
        recovery_point=0,
        log_end_offset=1,
        segments=(SegmentState(base_offset=0, size=size, index_entries=0, time_index_entries=0),),
        leader_epochs=(),
        producers=0,
    )


class Watch:
    """The logs and the moves, which are sent events one second apart."""

    def __init__(self) -> None:
        self.logs = LogsView()
        self.view = MovesView(self.logs)
        self.at_us = 0

    def __call__(self, *events: Event, broker: int = 1) -> "Watch":
        for event in events:
            self.at_us += 1_000_000
            envelope = Envelope(Source.of_broker(broker), 1, 0, 0, self.at_us, event)
            for view in (self.logs, self.view):
                if type(event) in view.READS:
                    view.apply(envelope)
                view.advance(self.at_us)
        return self

    def only(self) -> Move:
        (move,) = self.view.moves()
        return move


def phases(move: Move) -> list[str]:
    return [step.words for step in move.steps]


def test_a_move_between_log_dirs_from_its_start_to_the_swap() -> None:
    watch = Watch()(log_of(4_000_000), STARTED, progress(1_000_000), progress(2_000_000))
    move = watch.only()
    assert (move.kind, move.name, move.route) == (LOG_DIR, "web-0 on broker 1", "/a → /b")
    assert watch.view.progress(move) == (2_000_000, 4_000_000)
    assert move.rate() == 1_000_000
    assert watch.view.answer() == (
        "ok",
        "web-0 on broker 1: /a → /b, 2.0 MB left, 2.0 s at 1.0 MB/s",
    )
    watch(
        ReplicaMoveCompleted(
            **WEB, from_dir="/a", to_dir="/b", log_end_offset=9, copied_bytes=4_000_000, took_ms=3
        )
    )
    assert (move.runs, phases(move)) == (False, ["copies", DONE])
    assert watch.view.answer() == ("ok", "nothing moves")


def test_a_throttled_move_is_the_answer_and_a_warning() -> None:
    watch = Watch()(STARTED, progress(1), progress(1, throttled=True))
    kind, words = watch.view.answer()
    assert (kind, words.endswith("· throttled")) == ("warning", True)


def test_a_move_that_is_cancelled_says_why() -> None:
    watch = Watch()(STARTED)
    watch(ReplicaMoveEnded(**WEB, from_dir="/a", to_dir="/b", reason="it was cancelled"))
    assert watch.only().failed == "ended: it was cancelled"


def test_a_move_that_ran_before_has_lasted_at_least_so_long() -> None:
    assert Watch()(progress(5)).only().at_least


def test_a_reassignment_passes_its_phases_and_the_logs_say_how_far_it_is() -> None:
    watch = Watch()(BEGUN, ReassignmentWaits(**WEB, isr=(0, 1), target=(2, 1), missing=(2,)))
    move = watch.only()
    assert (move.kind, move.name, move.route) == (BROKERS, "web-0", "brokers 0,1 → 2,1")
    assert watch.view.progress(move)[0] == UNKNOWN, "no log has been seen"
    watch(log_of(900), broker=0)(log_of(1000), broker=1)(log_of(250), broker=2)
    assert watch.view.progress(move) == (250, 1000)
    watch(
        ReassignmentCaughtUp(**WEB, isr=(0, 1, 2), target=(2, 1), removing=(0,)),
        ReassignmentReplicasStopped(**WEB, replicas=(0,), reason="moved"),
        ReassignmentCompleted(**WEB, replicas=(2, 1), leader=2),
    )
    assert phases(move) == [
        "U: znode has both lists, by api",
        "A: waits for broker 2 to join the ISR",
        "B: all of the target are in the ISR",
        "broker 0 must delete the replica",
        DONE,
    ]
    assert not watch.view.running


def test_a_reassignment_that_a_snapshot_names_ran_before() -> None:
    snapshot = ReassignmentSnapshot(**WEB, replicas=(2, 1, 0), adding=(2,), removing=(0,))
    move = Watch()(snapshot, snapshot).only()
    assert (move.at_least, move.route) == (True, "brokers 1,0 → 2,1")
    known = Watch()(BEGUN, snapshot).only()
    assert not known.at_least


def test_a_reassignment_that_the_controller_does_not_name_any_more_has_ended() -> None:
    snapshot = ReassignmentSnapshot(**WEB, replicas=(2, 1, 0), adding=(2,), removing=(0,))
    other = BEGUN._replace(topic="other")
    watch = Watch()(BEGUN, other, STARTED)
    watch(SnapshotBegins(as_of=1), controller(active=False), SnapshotEnds(events=1))
    assert len(watch.view.running) == 3, "only the controller knows of reassignments"
    watch(SnapshotBegins(as_of=1), controller(active=True), snapshot, SnapshotEnds(events=2))
    assert list(watch.view.running) == ["web-0", "web-0 on broker 1"]


def test_a_shutdown_counts_the_leaderships_that_are_left() -> None:
    first = ControlledShutdownAttempted(
        attempt=1, controller_id=0, error="NONE", partitions_remaining=7
    )
    watch = Watch()(first)
    move = watch.only()
    assert (move.kind, move.left) == (SHUTDOWN, 7)
    watch(
        ControlledShutdownProcessed(broker_id=1, broker_epoch=5, led=7, followed=3, remaining=2),
        broker=0,
    )
    assert move.left == 2
    assert watch.view.answer()[1].endswith("2 leaders left")
    watch(
        first._replace(attempt=2, partitions_remaining=0),
        ServerStopped(broker_id=1, shutdown_ms=9, clean=True),
    )
    assert phases(move) == ["attempt 1, 7 leaders left", "attempt 2, 0 leaders left", DONE]


@pytest.mark.parametrize("held", [False, True])
def test_a_throttle_has_its_rate_and_says_whether_it_holds_copies_back(held: bool) -> None:
    watch = Watch()(ReplicationQuotaSampled(side="leader", rate=900, bound=1000))
    watch(ReplicationThrottleBegan(**WEB, side="leader", rate=1001, bound=1000))
    if not held:
        watch(
            ReplicationThrottleEnded(
                side="leader", bound=1000, lasted_ms=5, bytes=9, reason="removed"
            )
        )
    throttle = watch.view.throttles[1, "leader"]
    assert throttle.bound == 1000
    assert (throttle.holds_since_us != UNKNOWN) is held
    assert throttle.shown(watch.at_us)
    assert not throttle.shown(watch.at_us + 10_000_000), "a broker without throttle sends nothing"


def test_a_throttle_whose_rate_was_removed_is_shown_no_more() -> None:
    watch = Watch()(ReplicationThrottleBegan(**WEB, side="leader", rate=1001, bound=1000))
    watch(
        ReplicationThrottleEnded(
            side="leader", bound=NO_BOUND, lasted_ms=5, bytes=9, reason="its rate was removed"
        )
    )
    assert not watch.view.throttles[1, "leader"].shown(watch.at_us)


def test_a_long_move_keeps_its_last_phases_only() -> None:
    watch = Watch()(BEGUN)
    for number in range(100):
        watch(ReassignmentWaits(**WEB, isr=(0, 1), target=(2, 1), missing=(number,)))
    assert len(watch.only().steps) < 100
    assert phases(watch.only())[-1] == "A: waits for broker 99 to join the ISR"


def test_only_the_last_finished_moves_are_kept() -> None:
    watch = Watch()
    for _ in range(KEPT + 5):
        watch(STARTED, ReplicaMoveEnded(**WEB, from_dir="/a", to_dir="/b", reason="x"))
    assert len(watch.view.moves()) == KEPT


def test_while_brokers_are_silent_it_is_not_known_what_moves() -> None:
    silence = "broker 1 has sent nothing for 9 s"
    watch = Watch()(log_of(4_000_000))
    assert watch.view.answer() == ("ok", "nothing moves")
    assert watch.view.answer(silence) == ("warning", f"? {silence}: what moves now is not known")
    watch(STARTED, progress(1_000_000))
    kind, words = watch.view.answer(silence)
    assert kind == "warning"
    assert words == f"? {silence}; then: {watch.view.answer()[1]}"
