"""The purgatory, in which delayed operations wait (延时操作管理器, 炼狱).

(Kafka: DelayedOperationPurgatory in DelayedOperation.scala; book §6.3.)
"""

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from heapq import nsmallest
from typing import Final, Generic, TypeVar

from kafka_edu.common.log_histogram import bucket_at
from kafka_edu.purgatory.delayed_operation import CompletedBy, DelayedOperation
from kafka_edu.timer.system_timer import SystemTimer
from kafka_edu.trace.event import SLOW_MS, Event, Level
from kafka_edu.trace.events.purgatory import (
    WAIT_SUB_BITS,
    EndedBy,
    OperationCompleted,
    OperationsEnded,
    OperationsEndedSampled,
    OperationsEndedSnapshot,
    OperationWatched,
    PurgatoryPurged,
    PurgatorySampled,
    PurgatorySnapshot,
    PurgatoryState,
    WaitingOperation,
    WaitingOperationSampled,
    WaitingOperationSnapshot,
)
from kafka_edu.trace.tracer import Tracer

PURGE_INTERVAL: Final = 1000
"""If the lists have more completed operations than this number, all lists are purged.

(Kafka: producer.purgatory.purge.interval.requests, fetch.purgatory.purge.interval.requests.)
"""

OPERATIONS_TOLD: Final = 50
"""The maximum number of waiting operations that gauges and snapshots list."""

LOOKED_FOR_MS: Final = 1000
"""Causes are counted in detail for this time, in ms, after the gauges were last read."""

LONGEST_WAIT_MS: Final = (1 << 22) - 1
"""The longest wait that is recorded, in ms (over an hour).

A longer wait is recorded as this value.
"""

CAUSES_COUNTED: Final = 50
"""The maximum number of different causes that are counted; the rest is `other causes`."""

OTHER_CAUSES: Final = "other causes"

Operation = TypeVar("Operation", bound=DelayedOperation)
Result = TypeVar("Result")


class DelayedOperationPurgatory(Generic[Operation]):
    """Holds operations until an event or their time-out completes them.

    Each operation is in two structures. There is one *watcher list* for each key, for example a
    partition or a group. The list has the operations that an event of this key may complete. For
    example, code that moves a high watermark calls `check_and_complete` with the partition's key.
    The *timer* has the time-out of each operation.

    A completed operation leaves the timer at once, in O(1). It stays in the lists of its other keys
    until they are next checked. If the estimated number of completed operations in the lists
    exceeds `purge_interval`, all lists are purged.

    A completion may cause other completions, because `on_complete` may raise a high watermark and
    call `check_and_complete`. Such an inner call is queued, and the outermost call processes it
    before it returns. So the lists never change during a loop, and a chain of completions needs no
    deep stack. Kafka tries an operation a second time after it is in the lists, because another
    thread may have acted in between. Here there is only one event loop, so one try is enough.

    An exception of one operation does not stop the others. `DelayedOperation.fail` fails the
    request that waits for it, and the other operations of the key are still tried. If there is no
    such request, the exception is raised after all have been tried.

    Always true: an operation in the timer is not completed. Next: `SystemTimer.add`
    (kafka_edu/timer/system_timer.py). `ExpiredOperationReaper` calls `advance_clock`.
    """

    def __init__(
        self,
        name: str,
        now_ms: Callable[[], int],
        trace: Tracer | None = None,
        purge_interval: int = PURGE_INTERVAL,
    ) -> None:
        """Create an empty purgatory.

        `name` is Kafka's name for it: Produce, Fetch, DeleteRecords, …; `now_ms` returns the
        monotonic time in ms.
        """
        self.name = name
        self.purge_interval = purge_interval
        self.timer = SystemTimer(name, now_ms, trace)
        self._now_ms = now_ms
        self._trace = trace
        self._watchers: dict[Hashable, list[Operation]] = {}
        self._estimated_total_operations = 0
        self._numbers = 0
        self._by = CompletedBy.FORCED
        """The cause that is recorded for an operation that completes now."""
        self._key: Hashable | None = None
        self._to_check: deque[tuple[Hashable, int]] = deque()
        """Keys whose events came while another event was processed, each with a trace number.

        The number is that of the event's cause.
        """
        self._checking = False
        self.completed: dict[CompletedBy, int] = dict.fromkeys(CompletedBy, 0)
        """Cause → the number of operations that it has completed."""
        self._looked = False
        """Whether somebody reads the gauges now. Only then causes are counted in detail."""
        self._looked_ms = 0
        self._ended: dict[str, dict[int, int]] = {}
        """Cause → the number of waits that it has ended, for each length of the wait.

        The inner table is length bucket → count, as in EndedBy.
        """
        self._ended_changed = False
        if trace is not None:
            trace.on_snapshot(self._snapshot)
            trace.on_gauges(self._gauges)

    def try_complete_else_watch(self, operation: Operation, keys: tuple[Hashable, ...]) -> bool:
        """Complete `operation` now if possible; otherwise watch it under `keys` and start its
        timer.

        Returns whether it was completed at once. There should be only a few keys, all different;
        O(keys). Raises ValueError without a key, because then only the time-out could complete the
        operation.
        """
        if not keys:
            raise ValueError("an operation needs at least one key")
        self._numbers += 1
        operation.number = self._numbers
        operation.door = self
        operation.keys = keys
        operation.watched_ms = self._now_ms()
        if self._as(CompletedBy.AT_ONCE, None, operation.try_complete):
            return True
        for key in keys:
            watchers = self._watchers.get(key)
            if watchers is None:
                self._watchers[key] = [operation]
            else:
                watchers.append(operation)
        self._estimated_total_operations += 1
        try:
            if self._trace is not None and self._trace.hops:
                deadline_ms = operation.watched_ms + operation.delay_ms
                self._trace(
                    OperationWatched(
                        purgatory=self.name,
                        operation=operation.number,
                        label=operation.label,
                        keys=_names(keys),
                        deadline_ms=deadline_ms,
                        why=operation.why_waiting(),
                        client=_client(operation),
                        correlation_id=_correlation(operation),
                    )
                )
            self._as(CompletedBy.TIMEOUT, None, lambda: self.timer.add(operation))
        except Exception:
            operation.completed = True  # the caller responds with the error
            operation.cancel()
            raise
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Try all operations that wait under `key`, because an event of this key has happened.

        Returns how many operations were completed, by this event and by the events that it caused.
        A call inside another check returns 0, and the outer check tries the operations of this key
        before the outer check returns. O(operations under the key).
        """
        if key not in self._watchers:
            return 0
        self._to_check.append((key, self._trace.cause if self._trace is not None else 0))
        if self._checking:
            return 0
        completed = 0
        self._checking = True
        failed: Exception | None = None
        while self._to_check:
            key, cause = self._to_check.popleft()
            try:
                if self._trace is None or self._trace.cause == cause:
                    completed += self._try_complete_watched(key)
                else:
                    with self._trace.because(cause):
                        completed += self._try_complete_watched(key)
            # `DelayedOperation.fail` has raised an operation's exception again, because there is no
            # request that could fail with it. The other operations must still be tried.
            except Exception as error:
                failed = error
        self._checking = False
        if failed is not None:
            raise failed
        return completed

    def cancel_for_key(self, key: Hashable) -> list[Operation]:
        """Stop watching all operations under `key`, and return them uncompleted.

        They are also removed from the timer. The caller must respond to their requests.
        """
        operations = [
            operation for operation in self._watchers.pop(key, []) if not operation.completed
        ]
        for operation in operations:
            operation.cancel()
        return operations

    def advance_clock(self, now_ms: int) -> int:
        """Complete the operations that time out at `now_ms`; purge the lists if necessary.

        Returns how many operations timed out.
        """
        expired = self._as(CompletedBy.TIMEOUT, None, lambda: self.timer.advance_clock(now_ms))
        if self._looked and now_ms - self._looked_ms > LOOKED_FOR_MS:
            self._looked = False
        if self._estimated_total_operations > self.purge_interval:  # `num_delayed` counts: slow
            delayed = self.num_delayed
            if self._estimated_total_operations - delayed > self.purge_interval:
                self._estimated_total_operations = delayed
                self._purge()
        return expired

    def next_expiration_ms(self) -> int | None:
        """Return the time in ms when `advance_clock` must next be called, or None."""
        return self.timer.next_expiration_ms()

    def on_earlier(self, callback: Callable[[], None] | None) -> None:
        """Let the timer call `callback` whenever `next_expiration_ms` becomes earlier.

        The reaper uses the call to wake up earlier.
        """
        self.timer.on_earlier(callback)

    @property
    def watched(self) -> int:
        """The number of operations in all watcher lists together. O(keys).

        An operation under several keys is counted several times. A completed operation is counted
        until it is purged.
        """
        return sum(map(len, self._watchers.values()))

    @property
    def num_delayed(self) -> int:
        """The number of operations in the timer."""
        return self.timer.size

    def waiting(self) -> Iterator[Operation]:
        """Yield each operation that waits, once, in the order of its first key."""
        for key, operations in self._watchers.items():
            for operation in operations:
                if not operation.completed and operation.keys[0] == key:
                    yield operation

    def complete(self, operation: DelayedOperation) -> None:
        """Count the completion, emit an event about it, and let the operation send its response.

        Each operation calls this method once, when it completes.
        """
        by = self._by
        self.completed[by] += 1
        if self._looked:
            self._count_cause(operation, by)
        trace = self._trace
        news = trace is not None and (
            operation.is_news() or (self._waited_long(operation) and trace.tells_slow())
        )
        if trace is not None and (trace.hops or trace.cause or news):
            key = "" if self._key is None else str(self._key)
            waited_ms = self._now_ms() - operation.watched_ms
            happened = by is CompletedBy.EVENT or by is CompletedBy.AT_ONCE
            level = Level.STATE if news else trace.level_of_cause
            cause = operation.tell_cause(self._key, level) if happened else 0
            with trace.because(cause or trace.cause):
                seq = trace(
                    OperationCompleted(
                        purgatory=self.name,
                        operation=operation.number,
                        label=operation.label,
                        by=by.value,
                        key=key,
                        waited_ms=waited_ms,
                        cause=operation.ended_by(by, self._key),
                        client=_client(operation),
                        correlation_id=_correlation(operation),
                    ),
                    level,
                )
            with trace.because(seq):
                self._as(CompletedBy.FORCED, None, operation.on_complete)
        else:
            self._as(CompletedBy.FORCED, None, operation.on_complete)

    def _count_cause(self, operation: DelayedOperation, by: CompletedBy) -> None:
        """Count the cause that ended the operation, and how long the operation waited. O(1)."""
        cause = operation.ended_by(by, self._key)
        waits = self._ended.get(cause)
        if waits is None:
            if len(self._ended) >= CAUSES_COUNTED:
                cause = OTHER_CAUSES
            waits = self._ended.setdefault(cause, {})
        waited_ms = min(max(self._now_ms() - operation.watched_ms, 0), LONGEST_WAIT_MS)
        bucket = bucket_at(waited_ms, WAIT_SUB_BITS)
        waits[bucket] = waits.get(bucket, 0) + 1
        self._ended_changed = True

    def _waited_long(self, operation: DelayedOperation) -> bool:
        return (
            not operation.patient
            and self._by is not CompletedBy.AT_ONCE
            and self._now_ms() - operation.watched_ms >= SLOW_MS
        )

    def _as(self, by: CompletedBy, key: Hashable | None, call: Callable[[], Result]) -> Result:
        """Run `call`; operations that complete meanwhile are recorded as completed by `by`."""
        before = self._by, self._key
        self._by, self._key = by, key
        try:
            return call()
        finally:
            self._by, self._key = before

    def _try_complete_watched(self, key: Hashable) -> int:
        watchers = self._watchers.get(key)
        if watchers is None:
            return 0
        completed = 0
        failed: Exception | None = None
        before = self._by, self._key  # as in `_as`, once for all operations of the key
        self._by, self._key = CompletedBy.EVENT, key
        any_completed = False
        try:
            for operation in tuple(watchers):
                if not operation.completed:
                    try:
                        if operation.try_complete():
                            completed += 1
                    except Exception as error:
                        try:
                            operation.fail(error)
                        except Exception as nobodys:
                            failed = nobodys
                any_completed = any_completed or operation.completed
        finally:
            self._by, self._key = before
        if any_completed:
            self._drop_completed(key)
        if failed is not None:
            raise failed
        return completed

    def _drop_completed(self, key: Hashable) -> int:
        """Remove the completed operations from the list of `key`; return their number.

        If the list becomes empty, the list itself is removed.
        """
        watchers = self._watchers.get(key)
        if watchers is None:
            return 0
        left = [operation for operation in watchers if not operation.completed]
        dropped = len(watchers) - len(left)
        if not left:
            del self._watchers[key]
        elif dropped:
            self._watchers[key] = left
        return dropped

    def _purge(self) -> None:
        purged = sum([self._drop_completed(key) for key in tuple(self._watchers)])
        if self._trace is not None and self._trace.hops:
            self._trace(PurgatoryPurged(purgatory=self.name, purged=purged, watched=self.watched))

    def _state(self) -> PurgatoryState:
        done = self.completed
        return PurgatoryState(
            purgatory=self.name,
            watched=self.watched,
            delayed=self.num_delayed,
            keys=len(self._watchers),
            completed_at_once=done[CompletedBy.AT_ONCE],
            completed_by_event=done[CompletedBy.EVENT],
            completed_by_timeout=done[CompletedBy.TIMEOUT],
            completed_forced=done[CompletedBy.FORCED],
        )

    def _longest_waiting(self) -> Iterator[WaitingOperation]:
        now_ms = self._now_ms()
        for operation in nsmallest(
            OPERATIONS_TOLD, self.waiting(), key=lambda operation: operation.number
        ):
            yield WaitingOperation(
                purgatory=self.name,
                operation=operation.number,
                label=operation.label,
                keys=_names(operation.keys),
                age_ms=now_ms - operation.watched_ms,
                deadline_ms=operation.watched_ms + operation.delay_ms,
                why=operation.why_waiting(),
                client=_client(operation),
                correlation_id=_correlation(operation),
            )

    def _ends(self) -> OperationsEnded:
        return OperationsEnded(
            purgatory=self.name,
            ended=tuple(
                EndedBy(cause, (), tuple(sorted(waits.items())))
                for cause, waits in self._ended.items()
            ),
        )

    def _snapshot(self) -> Iterator[Event]:
        yield PurgatorySnapshot(state=self._state())
        for waiting in self._longest_waiting():
            yield WaitingOperationSnapshot(waiting=waiting)
        if self._ended:
            yield OperationsEndedSnapshot(state=self._ends())

    def _gauges(self) -> Iterator[Event]:
        self._looked, self._looked_ms = True, self._now_ms()
        yield PurgatorySampled(state=self._state())
        for waiting in self._longest_waiting():
            yield WaitingOperationSampled(waiting=waiting)
        if self._ended_changed:
            self._ended_changed = False
            yield OperationsEndedSampled(state=self._ends())


def _client(operation: DelayedOperation) -> str:
    return operation.requester.client_id if operation.requester is not None else ""


def _correlation(operation: DelayedOperation) -> int:
    return operation.requester.correlation_id if operation.requester is not None else -1


def _names(keys: tuple[Hashable, ...]) -> tuple[str, ...]:
    return tuple([str(key) for key in keys])
