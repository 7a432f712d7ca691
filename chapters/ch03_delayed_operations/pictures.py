"""The pictures of chapter 03, made by the broker's own replication and purgatories, step by step.

Nothing runs by itself: each step is a call, and the time is MockTime.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.common.errors import Errors
from kafka_edu.instruments.drawings.partition_logs import LogsAt, ReplicaLog, logs_figure
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.fetch_params import READ_COMMITTED, FetchParams, PartitionFetch
from kafka_edu.replication.log_read_result import LogReadResult
from kafka_edu.sim.stepped_cluster import Produced, SteppedCluster, T

from ..drawing import picture

NOW: Final = 1_600_000_000_000
PRODUCE_MS: Final = 30_000
FETCH_MS: Final = 500
RECORD: Final = "message"


class Moment(NamedTuple):
    """The logs of all replicas at one moment."""

    title: str
    high_watermarks: tuple[int, ...]
    log_ends: tuple[int, ...]
    """The LEO of each replica. Broker 0, the leader, comes first."""


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the book's numbered figures for the chapter's page, and return them by name."""
    _, moments, _ = _figures_6_9_to_6_11()
    names = ("figure-6-9", "figure-6-10", "figure-6-11")
    return {name: figure(moment) for name, moment in zip(names, moments, strict=True)}


def figure(moment: Moment) -> graphviz.Digraph:
    """Draw the logs: one row for each replica, one cell for each record.

    Committed records are filled.
    """
    logs = [
        ReplicaLog("leader" if broker == 0 else f"follower {broker}", hw, leo)
        for broker, (hw, leo) in enumerate(
            zip(moment.high_watermarks, moment.log_ends, strict=True)
        )
    ]
    return logs_figure(moment.title, [LogsAt("", logs)])


def _moment(cluster: SteppedCluster, title: str) -> Moment:
    brokers = cluster.brokers
    return Moment(title, tuple(b.hw for b in brokers), tuple(b.leo for b in brokers))


def _rows(moments: Sequence[Moment]) -> Text:
    """Return the logs as lines of text.

    A committed record is shown as its offset. An uncommitted record is marked.
    """
    text = Text()
    for moment in moments:
        text.append(f"{moment.title}\n", style="bold")
        for broker, (hw, leo) in enumerate(
            zip(moment.high_watermarks, moment.log_ends, strict=True)
        ):
            text.append(f"  {'leader    ' if broker == 0 else f'follower {broker}'} ")
            for offset in range(leo):
                text.append(f"[{offset}]", style="green" if offset < hw else "bold yellow")
            text.append(f"  HW {hw}, LEO {leo}\n")
    text.right_crop(1)
    return text


def _figures_6_9_to_6_11() -> tuple[dict[str, object], list[Moment], Produced]:
    """Write messages 3 and 4, and let the followers fetch them one after the other."""
    cluster = SteppedCluster(3)
    cluster.elect(0, (0, 1, 2))
    for i in range(3):
        cluster.produce(str(i), acks=1)
    for _ in range(3):
        cluster.fetch(1, 2)
    answer = cluster.produce("3", "4")
    moments = [_moment(cluster, "6-9: messages 3 and 4 are in the leader's log")]
    cluster.fetch(1)
    moments.append(_moment(cluster, "6-10: follower 1 has them too"))
    cluster.fetch(1)
    [waiting] = cluster.leader.produce_purgatory.waiting()
    [need] = waiting.why_waiting()
    names: dict[str, object] = {
        "needs_hw": need.at_least,
        "has_hw": need.have,
        "behind": next(who for who, end in need.holders if end < need.at_least),
        "behind_id": min(need.replicas, key=lambda replica: replica.log_end_offset).broker,
        "behind_at": min(end for _, end in need.holders),
        "waits_at_6_10": "yes" if answer.error() is None else "no",
    }
    cluster.fetch(2)
    names["answered_by_first_fetch"] = "no" if answer.error() is None else "yes"
    cluster.fetch(2)
    moments.append(_moment(cluster, "6-11: follower 2 has said that it has them"))
    names["base_offset"] = answer.base_offset
    names["hw_after"] = cluster.leader.hw
    return names, moments, answer


def three_logs() -> Picture:
    """Draw the book's figures 6-9 to 6-11."""
    names, moments, _ = _figures_6_9_to_6_11()
    return picture(names, _rows(moments))


def time_out() -> Picture:
    """Show how a Produce request times out, and that its record stays in the log (figure 6-12)."""
    cluster = SteppedCluster(2)
    cluster.elect(0, (0, 1))
    answer = cluster.produce("a", timeout_ms=PRODUCE_MS)
    cluster.step(PRODUCE_MS - 1)
    lines = Text(f"{PRODUCE_MS - 1:>6,} ms  {_said(answer)}\n")
    cluster.step(40)
    lines.append(f"{PRODUCE_MS + 39:>6,} ms  {_said(answer)}; the leader's LEO is")
    lines.append(f" {cluster.leader.leo}\n")
    error = answer.error()
    stays = cluster.leader.leo
    for _ in range(3):
        cluster.fetch(1)
    lines.append(f"   later  the follower fetches: HW {cluster.leader.hw}")
    return picture(
        {
            "timeout_error": error.name if error is not None else "",
            "stays": stays,
            "hw_later": cluster.leader.hw,
        },
        lines,
    )


def _said(answer: Produced) -> str:
    error = answer.error()
    if error is None:
        return "the produce waits"
    return "the produce is acknowledged" if error is Errors.NONE else f"answered: {error.name}"


def _with_follower() -> SteppedCluster:
    """Return a cluster with a leader and a follower.

    The follower's fetches wait for new records.
    """
    cluster = SteppedCluster(2, wait_ms=FETCH_MS)
    cluster.elect(0, (0, 1))
    cluster.look_up_epochs(1)
    return cluster


def long_poll() -> Picture:
    """Show how a follower's Fetch waits for a new record (figure 6-13)."""
    cluster = _with_follower()
    waits = cluster.send_fetch(1)
    lines = Text("follower 1 has everything, and fetches\n")
    lines.append(f"  first read: nothing. Answers: {len(waits)}; the fetch waits\n")
    first = len(waits)
    cluster.produce("a", acks=1)
    lines.append("a record is appended to the leader's log\n")
    lines.append(f"  second read: 1 record. Answers: {len(waits)}\n")
    woken = len(waits)
    cluster.receive(1, waits)
    again = cluster.send_fetch(1)
    cluster.step(FETCH_MS - 1)
    before = len(again)
    cluster.step(40)
    lines.append(f"the next fetch: {before} answers after {FETCH_MS - 1} ms, ")
    lines.append(f"{len(again)} after {FETCH_MS + 39} ms, and it is empty")
    names = {
        "poll_first": first,
        "poll_woken": woken,
        "poll_before": before,
        "poll_after": len(again),
    }
    return picture(names, lines)


def min_bytes() -> Picture:
    """Count the Produce requests that a consumer with fetch.min.bytes waits for."""
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    cluster.produce(RECORD, acks=1)
    size = len(build_batch([Record(0, NOW, None, RECORD.encode())]))
    wanted = size * 3
    answer = cluster.consume(1, max_wait_ms=FETCH_MS, min_bytes=wanted)
    produces = 0
    while not answer:
        cluster.produce(RECORD, acks=1)
        produces += 1
    lines = Text(
        f"one produce of one record is a batch of {size} bytes\n"
        f"fetch.min.bytes={wanted}: answered after {produces} produces"
    )
    return picture({"batch_bytes": size, "min_bytes": wanted, "produces": produces}, lines)


class _Readers:
    """A follower, a consumer and a read_committed consumer that all wait for the next record."""

    def __init__(self) -> None:
        self.cluster = _with_follower()
        self.follower = self._latest = self.cluster.send_fetch(1)
        self.consumer = self.cluster.consume(0, max_wait_ms=FETCH_MS)
        self.committed: list[LogReadResult] = []
        self.cluster.leader.manager.fetch.fetch_messages(
            FetchParams(-1, FETCH_MS, 1, 1 << 20, 10, READ_COMMITTED),
            [(T, PartitionFetch(0, -1, 1 << 20))],
            lambda results: self.committed.extend(read for _, read in results),
        )

    def answered(self) -> tuple[str, ...]:
        answers = (self.follower, self.consumer, self.committed)
        return tuple("answered" if answer else "waits" for answer in answers)

    def append(self, batch: bytes, origin: AppendOrigin = AppendOrigin.CLIENT) -> None:
        self.cluster.leader.manager.append.append_records(
            PRODUCE_MS, 1, {T: batch}, Produced(), origin=origin
        )

    def replicate(self) -> None:
        """Let the follower append the records of its last response, and send its next fetch.

        The next fetch informs the leader of the follower's new LEO.
        """
        self.cluster.receive(1, self._latest)
        self._latest = self.cluster.send_fetch(1)


def who_wakes() -> Picture:
    """Show which event wakes which reader: a new LEO, a new high watermark, or a new LSO."""
    readers = _Readers()
    table = Table("what happens", "follower", "consumer", "read_committed", box=None)
    names: dict[str, object] = {}

    def row(key: str, says: str) -> None:
        seen = readers.answered()
        table.add_row(says, *seen)
        names.update(
            zip((f"{key}_follower", f"{key}_consumer", f"{key}_committed"), seen, strict=True)
        )

    row("before", "they wait at the log's end")
    readers.append(
        build_batch(
            [Record(0, NOW, b"k", b"v")],
            producer_id=7,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=True,
        )
    )
    row("leo", "a transaction writes: LEO 1")
    readers.replicate()
    row("hw", "the follower has it: HW 1")
    marker = EndTransactionMarker(ControlRecordType.COMMIT, 0)
    readers.append(build_end_transaction_marker(marker, 7, 0, NOW), AppendOrigin.COORDINATOR)
    readers.replicate()
    row("lso", "the transaction commits: LSO 2")
    return picture(names, table)


def lost_wake_up() -> Picture:
    """Try every order of the steps of two threads.

    Count the orders in which the operation waits for ever, because no thread completes it.
    """
    table = Table("the thread with the request", "orders", "wake-up lost", box=None)
    names: dict[str, object] = {}
    for name, steps in (
        ("once", ("try", "watch")),
        ("swapped", ("watch", "try")),
        ("twice", ("try", "watch", "try")),
    ):
        orders = list(_orders(steps, ("raise HW", "check watchers")))
        lost = [order for order in orders if not _completes(order)]
        table.add_row(", ".join(steps), str(len(orders)), str(len(lost)))
        names[f"orders_{name}"] = len(orders)
        names[f"lost_{name}"] = len(lost)
        if lost and "lost_order" not in names:
            names["lost_order"] = ", ".join(lost[0])
    return picture(names, table, Text(f"the order that loses it: {names['lost_order']}"))


def _orders(one: Sequence[str], other: Sequence[str]) -> list[tuple[str, ...]]:
    """Return every interleaving of the steps of two threads. There are (n + m) choose n."""
    found = []
    for places in itertools.combinations(range(len(one) + len(other)), len(one)):
        steps = dict(zip(places, one, strict=True))
        rest = iter(other)
        found.append(
            tuple(
                steps[place] if place in steps else next(rest)
                for place in range(len(one) + len(other))
            )
        )
    return found


def _completes(order: Sequence[str]) -> bool:
    """Return whether the operation is completed if the steps happen in this order."""
    raised = watched = completed = False
    for step in order:
        match step:
            case "raise HW":
                raised = True
            case "watch":
                watched = True
            case "try":
                completed |= raised
            case _:
                completed |= raised and watched
    return completed


class _Waits(DelayedOperation):
    """A delayed operation that waits until `ready` is set."""

    __slots__ = ("ready",)

    def __init__(self) -> None:
        super().__init__(PRODUCE_MS)
        self.ready = False

    def try_complete(self) -> bool:
        return self.ready and self.force_complete()

    def on_complete(self) -> None:
        """Do nothing: no client waits for an answer."""


def left_in_lists() -> Picture:
    """Count the completed operations that stay in the watcher lists until the purge."""
    purgatory: DelayedOperationPurgatory[_Waits] = DelayedOperationPurgatory("Produce", lambda: 0)
    keys = ("web-0", "web-1", "web-2")
    counts = []
    for _ in range(purgatory.purge_interval + 1):
        operation = _Waits()
        purgatory.try_complete_else_watch(operation, keys)
        operation.ready = True
        purgatory.check_and_complete("web-0")
        counts.append(purgatory.watched)
    most = counts[-1]
    purgatory.advance_clock(0)
    lines = Text(
        f"{len(counts):,} produces, each to 3 partitions, all answered by the event of web-0\n"
        f"operations that wait: {purgatory.num_delayed}; entries left in the lists: {most:,}\n"
        f"after the purge: {purgatory.watched}"
    )
    return picture(
        {"left_entries": most, "after_purge": purgatory.watched, "purge_after": len(counts)}, lines
    )


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "three-logs": three_logs,
    "time-out": time_out,
    "long-poll": long_poll,
    "min-bytes": min_bytes,
    "who-wakes": who_wakes,
    "lost-wake-up": lost_wake_up,
    "left-in-lists": left_in_lists,
}
