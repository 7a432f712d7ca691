"""The state of the Transactions screen: transactional ids, and the partitions that they hold back.

The coordinator of a transactional id reports its state. The leader of a partition reports which
transactions are open in its log, and since when. A transaction hangs if it is open in a log, but
its coordinator does not know that the transaction has this partition. Then no marker will be
written.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.words import joined, plural
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

from .cluster_view import ClusterView
from .figures import duration
from .glow import Glow
from .groups_view import Answer
from .partition_view import NO_LEADER, PartitionKey, PartitionView
from .transaction_state import (
    COMPLETE,
    NO_BROKER,
    ONGOING,
    PREPARED,
    UNKNOWN,
    WAITS,
    WRITTEN,
    Ended,
    Fence,
    HeldPartition,
    OpenInLog,
    PartitionRow,
    TransactionView,
    age_words,
)

TRANSACTION_EVENTS: Final[tuple[type[Event], ...]] = (
    TransactionSnapshot,
    TransactionMarkersSnapshot,
    TransactionStateChanged,
    TransactionMarkerAnswered,
    TransactionResumed,
    TransactionsLoaded,
    TransactionsUnloaded,
    TransactionalIdExpired,
    TransactionalIdInitialised,
    TransactionTimedOut,
    ProducerFenced,
    BatchFenced,
)
"""The events about transactional ids and their producers."""
HELD_EVENTS: Final[tuple[type[Event], ...]] = (
    TransactionOpened,
    LastStableOffsetMoved,
    PartitionOffsets,
    PartitionSnapshot,
)
"""The events that say which transaction holds back a partition's last stable offset."""
KEPT_IDS: Final = 1000
KEPT_PARTITIONS: Final = 1000
_HANGS_US: Final = 3_000_000
"""If a log has a transaction for longer than this, and the coordinator does not know it, the
transaction hangs. A shorter time may only be the difference between the reports of two brokers.
"""
_SLOW_US: Final = 1_000_000
"""Transactions that have been open or waiting for markers for longer than this come first in the
list. If shorter ones came first too, the order would change all the time.
"""
_RECENT_US: Final = 10_000_000
_COORDINATOR: Final = "the coordinator, after its time-out"


class TransactionsView:
    """All transactional ids. They change only through `apply`."""

    READS: Final = frozenset({*TRANSACTION_EVENTS, *HELD_EVENTS, SnapshotBegins, SnapshotEnds})
    """The types of events that change this view."""

    def __init__(self, cluster: ClusterView) -> None:
        self._cluster = cluster
        self.glow = Glow()
        self.by_id: OrderedDict[str, TransactionView] = OrderedDict()
        """The ids, in the order of their last change."""
        self.left_out = 0
        """How many ids were dropped because there were too many."""
        self.partitions: OrderedDict[PartitionKey, HeldPartition] = OrderedDict()
        self._by_producer: dict[int, str] = {}

    @property
    def now_us(self) -> int:
        return self.glow.now_us

    def advance(self, now_us: int) -> None:
        self.glow.advance(now_us)

    def now_of(self, broker: int) -> int:
        """Return the time up to which this broker's reports are valid: now, or the time of its last
        sample if that is old.

        Ages are computed with this time, so that an age does not grow while it is unknown whether
        the state still lasts.
        """
        known = self._cluster.brokers.by_id.get(broker)
        return self.now_us - (known.old_us(self.now_us) if known is not None else 0)

    def apply(self, envelope: Envelope) -> None:
        """Update the view with one event. O(1); O(ids) if a coordinator changes."""
        self.glow.advance(envelope.mono_us)
        broker = envelope.broker
        if broker is None:
            return
        match envelope.event:
            case PartitionOffsets(topic=topic, partition=partition, progress=progress):
                self._progress(envelope, PartitionKey(topic, partition), progress)
            case PartitionSnapshot(leader=leader) as e:
                if leader == broker:
                    self._progress(envelope, PartitionKey(e.topic, e.partition), e.progress)
            case TransactionOpened() as e:
                self._opened(envelope, e)
            case LastStableOffsetMoved() as e:
                self._moved(envelope, e)
            case TransactionSnapshot() as e:
                self._snapshot(envelope, e)
            case TransactionMarkersSnapshot(transactional_id=name, waits_for=waits):
                view = self._of(envelope, name)
                view.markers = dict.fromkeys(view.partitions, WRITTEN)
                view.markers |= dict.fromkeys(waits, WAITS)
            case TransactionStateChanged() as e:
                self._changed(envelope, e)
            case TransactionMarkerAnswered() as e:
                view = self._of(envelope, e.transactional_id)
                name = str(PartitionKey(e.topic, e.partition))
                view.markers[name] = WRITTEN if e.error == "NONE" else e.error
                view.marker_brokers[name] = e.broker
                self.glow.touch("marker", e.transactional_id, name)
            case TransactionResumed() as e:
                view = self._of(envelope, e.transactional_id)
                self._take(view, e.producer_id, e.producer_epoch, e.state, e.partitions)
                view.coordinator, view.coordinator_epoch = broker, e.coordinator_epoch
                view.markers = dict.fromkeys(e.partitions, WAITS)
                view.inherited = False
            case TransactionsLoaded(partition=partition, coordinator_epoch=epoch):
                for view in self._in(partition):
                    if view.coordinator != broker:
                        view.coordinator, view.coordinator_epoch = broker, epoch
                        view.inherited = True
            case TransactionsUnloaded(partition=partition):
                for view in self._in(partition):
                    if view.coordinator == broker:
                        view.coordinator = NO_BROKER
            case TransactionalIdExpired(transactional_id=name):
                self._drop(name)
            case SnapshotBegins():
                for view in self.by_id.values():
                    if view.coordinator == broker:
                        view.confirmed = False
            case SnapshotEnds():
                for view in [v for v in self.by_id.values() if not v.confirmed]:
                    if view.coordinator == broker:
                        self._drop(view.transactional_id)
            case _:
                self._fence(envelope)

    def _fence(self, envelope: Envelope) -> None:
        """Record which producer initialises, and which producer is fenced by which other one."""
        match envelope.event:
            case TransactionalIdInitialised() as e:
                view = self._of(envelope, e.transactional_id)
                view.own(e.producer_id, e.producer_epoch, e.client_id or "a client without a name")
            case TransactionTimedOut() as e:
                view = self._of(envelope, e.transactional_id)
                client = _named(view.owners.get((e.producer_id, e.producer_epoch), ""))
                view.own(e.producer_id, e.producer_epoch + 1, _COORDINATOR)
                self._note(
                    view,
                    envelope,
                    e.producer_epoch,
                    f"epoch {e.producer_epoch}{client} by the coordinator: its transaction was open"
                    f" for {duration(e.open_ms)}, and transaction.timeout.ms is"
                    f" {duration(e.timeout_ms)}",
                )
            case ProducerFenced() as e:
                view = self._of(envelope, e.transactional_id)
                old = _named(view.owners.get((e.producer_id, e.producer_epoch), ""))
                if e.asked == BY_ANOTHER:
                    words = (
                        f"epoch {e.producer_epoch}{old} by {e.client_id or 'another producer'},"
                        " which initialises; the open transaction is aborted"
                    )
                else:
                    new = view.owners.get((e.producer_id, e.current_epoch), "")
                    words = (
                        f"epoch {e.producer_epoch}{_named(e.client_id)} by epoch {e.current_epoch}"
                        f"{_named(new)}: its {e.asked} was refused"
                    )
                self._note(view, envelope, e.producer_epoch, words)
            case BatchFenced() as e:
                name = self._by_producer.get(e.producer_id)
                if name is None:  # an idempotent producer without a transactional id
                    return
                view = self._of(envelope, name)
                old = _named(view.owners.get((e.producer_id, e.producer_epoch), ""))
                new = _named(view.owners.get((e.producer_id, e.current_epoch), ""))
                self._note(
                    view,
                    envelope,
                    e.producer_epoch,
                    f"epoch {e.producer_epoch}{old} by epoch {e.current_epoch}{new}: its batch for"
                    f" {e.topic}-{e.partition} was refused",
                )
            case _:
                pass

    def _note(self, view: TransactionView, envelope: Envelope, epoch: int, words: str) -> None:
        view.fences.append(Fence(envelope.mono_us, epoch, words, envelope))
        self.glow.touch("fence", view.transactional_id)

    def _of(self, envelope: Envelope, name: str) -> TransactionView:
        """Return the view of an id, which this event is about."""
        view = self.by_id.get(name)
        if view is None:
            if len(self.by_id) >= KEPT_IDS:  # before the new id is added, which has no state yet
                quiet = (known for known, each in self.by_id.items() if not each.open)
                self._drop(next(quiet, next(iter(self.by_id))))
                self.left_out += 1
            view = self.by_id[name] = TransactionView(name, envelope.mono_us)
        self.by_id.move_to_end(name)
        view.confirmed = True
        if not isinstance(envelope.event, TransactionSnapshot | TransactionMarkersSnapshot):
            view.envelope = envelope
        return view

    def _drop(self, name: str) -> None:
        view = self.by_id.pop(name, None)
        if view is not None and self._by_producer.get(view.producer_id) == name:
            del self._by_producer[view.producer_id]

    def _in(self, log_partition: int) -> list[TransactionView]:
        """Return the ids of a partition of `__transaction_state`."""
        return [view for view in self.by_id.values() if view.log_partition == log_partition]

    def _take(
        self,
        view: TransactionView,
        producer_id: int,
        epoch: int,
        state: str,
        partitions: tuple[str, ...],
    ) -> None:
        if view.producer_id != producer_id:
            self._by_producer.pop(view.producer_id, None)
            self._by_producer[producer_id] = view.transactional_id
        view.producer_id, view.epoch, view.state = producer_id, epoch, state
        view.partitions = partitions
        for name in partitions:
            self._held(_key_of(name))

    def _snapshot(self, envelope: Envelope, e: TransactionSnapshot) -> None:
        view = self._of(envelope, e.transactional_id)
        self._take(view, e.producer_id, e.producer_epoch, e.state, e.partitions)
        view.coordinator, view.coordinator_epoch = envelope.source.id, e.coordinator_epoch
        view.log_partition, view.timeout_ms = e.log_partition, e.timeout_ms
        view.pending, view.inherited = e.pending_state, False
        view.started_us = _local_us(envelope, e.started_ms) if view.open else None
        view.changed_us = _local_us(envelope, e.updated_ms)
        view.markers = dict.fromkeys(e.partitions, UNKNOWN) if e.state in PREPARED else {}

    def _changed(self, envelope: Envelope, e: TransactionStateChanged) -> None:
        at_us = envelope.mono_us
        view = self._of(envelope, e.transactional_id)
        if e.after in COMPLETE:
            decided_us = view.changed_us if view.state in PREPARED else None
            began_us = _local_us(envelope, e.started_ms)
            view.ended = Ended(
                at_us,
                COMPLETE[e.after],
                len(view.markers),
                None if None in (began_us, decided_us) else _between(began_us, decided_us),
                _between(decided_us, at_us),
            )
        if view.state != e.after:
            view.changed_us = at_us
        if e.after == ONGOING and e.before != ONGOING:
            view.seen_us = at_us
        if e.after in PREPARED:
            view.markers = dict.fromkeys(e.partitions, WAITS)
            view.marker_brokers = {}
        elif e.after not in COMPLETE:
            view.markers = {}
        self._take(view, e.producer_id, e.producer_epoch, e.after, e.partitions)
        view.coordinator, view.coordinator_epoch = envelope.source.id, e.coordinator_epoch
        view.inherited, view.pending = False, ""
        if e.log_partition >= 0:
            view.log_partition = e.log_partition
        if e.timeout_ms >= 0:
            view.timeout_ms = e.timeout_ms
        view.started_us = _local_us(envelope, e.started_ms) if view.open else None
        self.glow.touch("state", e.transactional_id)

    def _held(self, key: PartitionKey) -> HeldPartition:
        held = self.partitions.get(key)
        if held is None:
            if len(self.partitions) >= KEPT_PARTITIONS:
                quiet = (known for known, each in self.partitions.items() if not each.open)
                self.partitions.pop(next(quiet, next(iter(self.partitions))))
            held = self.partitions[key] = HeldPartition(key)
        return held

    def _leads(self, broker: int, key: PartitionKey) -> bool:
        """Return whether a broker leads a partition, as far as this view knows."""
        known = self._cluster.partitions.get(key)
        return known is None or known.leader in (broker, NO_LEADER)

    def _progress(self, envelope: Envelope, key: PartitionKey, progress: PartitionProgress) -> None:
        is_held = 0 <= progress.last_stable < progress.hw
        if not (is_held or progress.unstable or key in self.partitions):
            return
        if not self._leads(envelope.source.id, key):
            return
        held = self._held(key)
        held.hw = progress.hw
        held.lso = progress.last_stable if progress.last_stable >= 0 else None
        held.open = tuple(self._in_log(envelope, held, each) for each in progress.unstable)
        held.open_count = progress.unstable_transactions

    def _in_log(
        self, envelope: Envelope, held: HeldPartition, each: UnstableTransaction
    ) -> OpenInLog:
        """Return an open transaction of a sample, with the time of the first event about it."""
        known = next(
            (
                one
                for one in held.open
                if (one.producer_id, one.first_offset) == (each.producer_id, each.first_offset)
            ),
            None,
        )
        since_us = _local_us(envelope, each.since_ms)
        return OpenInLog(
            each.producer_id,
            each.producer_epoch,
            each.first_offset,
            each.marker_offset,
            known.since_us if known is not None and since_us is None else since_us,
            known.seen_us if known is not None else envelope.mono_us,
        )

    def _opened(self, envelope: Envelope, e: TransactionOpened) -> None:
        key = PartitionKey(e.topic, e.partition)
        if not self._leads(envelope.source.id, key):
            return
        held = self._held(key)
        if not any(one.first_offset == e.first_offset for one in held.open):
            at_us = envelope.mono_us
            opened = OpenInLog(e.producer_id, e.producer_epoch, e.first_offset, -1, at_us, at_us)
            held.open = (*held.open, opened)
            held.open_count = max(held.open_count + 1, len(held.open))
        self.glow.touch("held", key)

    def _moved(self, envelope: Envelope, e: LastStableOffsetMoved) -> None:
        """Handle a move of the last stable offset: transactions that began below it are over."""
        key = PartitionKey(e.topic, e.partition)
        held = self.partitions.get(key)
        if held is None or not self._leads(envelope.source.id, key):
            return
        rest = tuple(one for one in held.open if one.first_offset >= e.to_offset)
        held.open_count = max(held.open_count - (len(held.open) - len(rest)), len(rest))
        held.open = rest
        if held.hw is not None:  # in the past, offsets between two facts are not known
            held.hw, held.lso = e.high_watermark, e.to_offset
        self.glow.touch("held", key)

    def transaction_of(self, producer_id: int) -> TransactionView | None:
        """Return the transactional id that has this producer id, or None."""
        name = self._by_producer.get(producer_id)
        return self.by_id.get(name) if name is not None else None

    def hangs(self, held: HeldPartition, one: OpenInLog) -> bool:
        """Return whether a transaction hangs: it is open in a log, but not for its coordinator.

        The result is False if the leader or the coordinator has not reported for some time, or if
        only facts of the past are known.
        """
        view = self.transaction_of(one.producer_id)
        if one.marker_offset >= 0 or self._cluster.facts_only or (view is None and self.left_out):
            return False
        known = self._cluster.partitions.get(held.key)
        leader = known.leader if known is not None else NO_BROKER
        last_us = one.seen_us
        if view is not None:
            if view.coordinator == NO_BROKER or view.inherited:
                return False
            name = str(held.key)
            if view.state == ONGOING and name in view.partitions and view.epoch == one.epoch:
                return False
            if name in view.waits_for:
                return False
            last_us = max(last_us, view.changed_us or 0)
        brokers = [leader] if view is None else [leader, view.coordinator]
        if any(self.now_of(broker) != self.now_us for broker in brokers):
            return False
        return self.now_us - last_us > _HANGS_US

    def hanging(self) -> list[str]:
        """Return the partitions in which a transaction hangs.

        O(partitions that had transactions).
        """
        return sorted(
            str(held.key)
            for held in self.partitions.values()
            if held.open and self._cluster.partitions.get(held.key) is not None
            if any(self.hangs(held, one) for one in held.open)
        )

    def transactions(self) -> list[TransactionView]:
        """Return the transactional ids. Ids whose transaction has been open for long come first,
        the longest first. The other ids are sorted by name.
        """

        def place(view: TransactionView) -> tuple[int, str]:
            age_us, _ = view.open_us(self.now_us) if view.open else (0, False)
            return (-age_us if age_us > _SLOW_US else 0, view.transactional_id)

        return sorted(self.by_id.values(), key=place)

    def rows(self, chosen: TransactionView | None = None) -> list[PartitionRow]:
        """Return the partitions that had transactions. Those that are held back longest come first.

        Among the partitions that are not held back, those of the chosen id come first.
        """
        rows = [row for held in self.partitions.values() if (row := self._row(held)) is not None]
        of_chosen = {*(chosen.partitions if chosen else ()), *(chosen.markers if chosen else ())}

        def place(row: PartitionRow) -> tuple[int, bool, PartitionKey]:
            since_us = 0
            if row.holder is not None:
                age_us, _ = row.holder.held_us(self.now_us)
                since_us = -age_us if age_us > _SLOW_US else -1
            return since_us, str(row.held.key) not in of_chosen, row.held.key

        return sorted(rows, key=place)

    def _row(self, held: HeldPartition) -> PartitionRow | None:
        known: PartitionView | None = self._cluster.partitions.get(held.key)
        if known is None and not self._cluster.facts_only:
            return None  # its topic is deleted
        holder = held.open[0] if held.open else None
        return PartitionRow(
            held,
            known.leader if known is not None else NO_LEADER,
            holder,
            self.transaction_of(holder.producer_id) if holder is not None else None,
            any(self.hangs(held, one) for one in held.open),
        )

    def answers(self) -> list[Answer]:
        """Answer the screen's question with a sentence for each trouble, the worst one first."""
        rows = self.rows()
        found = [
            *self._hanging(rows),
            *self._without_marker(),
            *self._running_out(rows),
            *self._fenced(),
        ]
        order = ("error", "warning", "ok")
        return sorted(found, key=lambda each: order.index(each.kind)) or [self._quiet()]

    def _quiet(self) -> Answer:
        """Return the answer if there is no trouble."""
        if not self.by_id:
            words = "no producer has initialised with a transactional.id: no LSO is held back"
            return Answer("ok", words)
        ids = plural(len(self.by_id), "transactional id")
        opened = [view for view in self.by_id.values() if view.open]
        if not opened:
            return Answer("ok", f"no transaction is open: {ids}, and no LSO is held back")
        oldest = max(opened, key=lambda view: view.open_us(self.now_us)[0])
        return Answer(
            "ok",
            f"{len(opened)} of {ids} with an open transaction, the oldest"
            f" ({oldest.transactional_id}) for {self.open_words(oldest)}",
        )

    def ago_us(self, view: TransactionView, at_us: int) -> int:
        """Return the age of a fact from a transaction's coordinator.

        It is 0 if the fact is newer than the last sample, for example of a dead coordinator.
        """
        return max(self.now_of(view.coordinator) - at_us, 0)

    def open_words(self, view: TransactionView) -> str:
        """Return how long a transaction has been open, in words."""
        return age_words(view.open_us(self.now_of(view.coordinator)))

    def _hanging(self, rows: Iterable[PartitionRow]) -> Iterable[Answer]:
        for row in rows:
            for one in row.held.open if row.hangs else ():
                if self.hangs(row.held, one):
                    age = age_words(one.held_us(self.now_of(row.leader)))
                    view = self.transaction_of(one.producer_id)
                    who = f"producer {one.producer_id}"
                    who += f" ({view.transactional_id})" if view is not None else ""
                    yield Answer(
                        "error",
                        f"{row.held.key} hangs: {who} has a transaction open there for {age}, from"
                        f" {one.first_offset:,} on. No coordinator knows it: no marker will come",
                    )

    def _without_marker(self) -> Iterable[Answer]:
        for view in self.by_id.values():
            since_us = view.changed_us if view.changed_us is not None else view.seen_us
            age_us = self.now_of(view.coordinator) - since_us
            if view.state in PREPARED and view.waits_for and age_us > _SLOW_US:
                yield Answer(
                    "error",
                    f"{view.transactional_id} will {PREPARED[view.state]}, and waits"
                    f" {duration(age_us / 1000)} for the markers of {joined(view.waits_for)}"
                    f"{self._why_no_marker(view)}",
                )

    def _why_no_marker(self, view: TransactionView) -> str:
        """Return why a marker is missing, as far as this view knows."""
        for name in view.waits_for:
            known = self._cluster.partitions.get(_key_of(name))
            if known is not None and known.leader == NO_LEADER:
                return f": {name} has no leader"
            broker = self._cluster.brokers.by_id.get(known.leader) if known is not None else None
            if broker is not None and broker.out_words:
                return f": broker {broker.id} leads {name} and {broker.out_words}"
        said = (view.markers[name] for name in view.waits_for)
        error = next((state for state in said if state not in (WAITS, UNKNOWN)), "")
        return f": the last answer was {error}" if error else ""

    def _running_out(self, rows: Iterable[PartitionRow]) -> Iterable[Answer]:
        for view in self.by_id.values():
            left_us = view.left_us(self.now_of(view.coordinator))
            if left_us is None or left_us * 2 > view.timeout_ms * 1000:
                continue
            held = [str(row.held.key) for row in rows if row.transaction is view and row.held.held]
            readers = f"; read_committed readers of {joined(held)} wait for it" if held else ""
            yield Answer(
                "error" if left_us * 4 < view.timeout_ms * 1000 else "warning",
                f"{view.transactional_id} is open for {self.open_words(view)}:"
                f" {_aborts_in(left_us)}"
                f" (transaction.timeout.ms){readers}",
            )

    def _fenced(self) -> Iterable[Answer]:
        fences = [
            (view.fences[-1].at_us, view)
            for view in self.by_id.values()
            if view.fences and self.now_us - view.fences[-1].at_us < _RECENT_US
        ]
        if fences:
            at_us, view = max(fences, key=lambda each: each[0])
            ago = duration((self.now_us - at_us) / 1000)
            yield Answer(
                "warning",
                f"{view.transactional_id}, {ago} ago: fenced {view.fences[-1].words}",
            )


def _aborts_in(left_us: int) -> str:
    """Return in words when a transaction is aborted. The coordinator checks its time-out at
    intervals.
    """
    if not left_us:
        return "its time is over, and the coordinator aborts it at its next check"
    return f"the coordinator aborts it in {duration(left_us / 1000)}"


def _named(client: str) -> str:
    return f" ({client})" if client else ""


def _key_of(name: str) -> PartitionKey:
    return PartitionKey(*TopicPartition.parse(name))


def _local_us(envelope: Envelope, wall_ms: int) -> int | None:
    """Convert a wall time of the event's process to the view's clock, or return None if it is
    unknown.
    """
    if wall_ms < 0:
        return None
    return envelope.mono_us - (envelope.wall_ms - wall_ms) * 1000


def _between(begin_us: int | None, end_us: int | None) -> int | None:
    return None if begin_us is None or end_us is None else max(end_us - begin_us, 0)
