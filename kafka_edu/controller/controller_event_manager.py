"""The controller's queue of events, and the one task that processes them, without any locks.

(Kafka: ControllerEventManager.scala; book 000 §6.4.1, figure 6-14.) Watches fire, requests arrive
and timers expire at any time, and each of them only puts an event into the queue. The event task
processes the events in order of arrival. It finishes one event before it begins the next event,
even when it must wait for ZooKeeper. No other code touches ControllerContext.

As in Kafka, the queue has no size limit. If a full queue dropped the event of a watch, the
controller would never learn of that change. The queue stays short. A watch fires once, and only the
event that the watch caused sets the watch again. So most kinds of watch events are in the queue at
most once. PartitionModifications may be in it once for each topic.

This module only has the queue and the task; it decides nothing.

Next: `KafkaController._process` (kafka_controller.py), which calls one method of `ActiveController`
(active_controller.py).
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from kafka_edu.common.tasks import failure_of
from kafka_edu.common.time import Time
from kafka_edu.controller.controller_events import AnsweredEvent, ControllerEvent, detail_of
from kafka_edu.trace.event import Event
from kafka_edu.trace.events.controller import (
    ControllerEventProcessed,
    ControllerEventQueued,
    ControllerEventStarted,
)
from kafka_edu.trace.tracer import Tracer


class QueuedEvent(NamedTuple):
    event: ControllerEvent
    enqueue_ns: int
    cause: int


class ControllerEventManager:
    """The queue and its task; each KafkaController has one.

    The function `process` handles one event. It returns the reason of a failure, or "".
    """

    def __init__(
        self, process: Callable[[ControllerEvent], Awaitable[str]], time: Time, trace: Tracer | None
    ) -> None:
        self._process = process
        self._time = time
        self._trace = trace
        self._queue: deque[QueuedEvent] = deque()
        self._filled = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._cause = 0

    def start(self) -> None:
        """Start the event task.

        If a bug ends the task, the event loop's exception handler is called. Otherwise the broker
        would stay the controller but process no events.
        """
        self._task = asyncio.create_task(self._run(), name="controller-event-task")
        self._task.add_done_callback(_report)

    async def close(self) -> None:
        """Drop the queued events and interrupt the current one."""
        self._drop("the broker is shutting down")
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def put(self, event: ControllerEvent) -> None:
        """Queue one event. O(1)."""
        cause = 0
        if self._trace:
            cause = self._trace(
                ControllerEventQueued(
                    name=type(event).__name__,
                    detail=detail_of(event),
                    queue_size=len(self._queue) + 1,
                )
            )
        self._queue.append(QueuedEvent(event, self._time.nanoseconds(), cause))
        self._filled.set()

    def clear_and_put(self, event: ControllerEvent) -> None:
        """Drop all queued events, because the ZooKeeper session has expired; then queue `event`."""
        self._drop("the session has expired")
        self.put(event)

    def _drop(self, reason: str) -> None:
        for queued in self._queue:
            if isinstance(queued.event, AnsweredEvent) and not queued.event.answer.done():
                queued.event.answer.set_exception(ConnectionError(reason))
        self._queue.clear()

    @property
    def size(self) -> int:
        return len(self._queue)

    @property
    def queue_time_ms(self) -> int:
        """How long the oldest queued event has waited, in ms; 0 if the queue is empty."""
        return (
            (self._time.nanoseconds() - self._queue[0].enqueue_ns) // 1_000_000
            if self._queue
            else 0
        )

    def cause(self) -> int:
        """Return the trace number of the event that is being processed now."""
        return self._cause

    def tell(self, event: Event) -> int:
        """Emit `event` to the trace as an effect of the event that is being processed now.

        Returns the trace number of `event`, or 0 without a trace.
        """
        if self._trace is None:
            return 0
        with self._trace.because(self._cause):
            return self._trace(event)

    async def _run(self) -> None:
        while True:
            await self._filled.wait()
            while self._queue:
                await self._process_timed(self._queue.popleft())
            self._filled.clear()

    async def _process_timed(self, queued: QueuedEvent) -> None:
        started_ns = self._time.nanoseconds()
        queued_us = (started_ns - queued.enqueue_ns) // 1000
        name = type(queued.event).__name__
        self._cause = queued.cause
        if self._trace:
            self._cause = self.tell(
                ControllerEventStarted(
                    name=name, detail=detail_of(queued.event), queued_us=queued_us
                )
            )
        work = self._process(queued.event)
        error = await (self._trace.carry(self._cause, work) if self._trace else work)
        if self._trace:
            self.tell(
                ControllerEventProcessed(
                    name=name,
                    queued_us=queued_us,
                    took_us=(self._time.nanoseconds() - started_ns) // 1000,
                    error=error,
                )
            )


def _report(task: asyncio.Task[None]) -> None:
    if (error := failure_of(task)) is not None:
        task.get_loop().call_exception_handler(
            {
                "message": "a bug has ended the controller's event task",
                "exception": error,
                "task": task,
            }
        )
