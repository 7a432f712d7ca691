"""The task that advances a purgatory's clock, so that operations time out (收割机线程).

(Kafka: ExpiredOperationReaper in DelayedOperation.scala.) Next:
`DelayedOperationPurgatory.advance_clock` (delayed_operation_purgatory.py), then `SystemTimer`.
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from kafka_edu.common.time import Time

ROUND_MS: Final = 200
"""The maximum time in ms that the reaper sleeps in one round, as in Kafka."""


class Advanced(Protocol):
    """The part of a DelayedOperationPurgatory that the reaper uses."""

    @property
    def name(self) -> str: ...

    def advance_clock(self, now_ms: int) -> int: ...

    def next_expiration_ms(self) -> int | None: ...

    def on_earlier(self, callback: Callable[[], None] | None) -> None: ...


class ExpiredOperationReaper:
    """Sleeps until the next bucket is due, at most 200 ms, and then advances the clock.

    It wakes earlier if a new bucket is due earlier. Each purgatory with its timer has one reaper
    (一一对应). The reaper is the only code in this package that awaits. With 30,000 waiting
    requests the event loop still has only this one sleep. With a `call_later` for each request, it
    would have 30,000 handles.
    """

    def __init__(self, purgatory: Advanced, time: Time, round_ms: int = ROUND_MS) -> None:
        self._purgatory = purgatory
        self._time = time
        self._round_ms = round_ms
        self._task: asyncio.Task[None] | None = None
        self._sleep: asyncio.Task[None] | None = None
        self._until_ms = 0
        """The monotonic time in ms when the current sleep ends."""

    def start(self) -> asyncio.Task[None]:
        """Start the reaper and return its task.

        If that task fails, an operation has a bug, and the broker should stop.
        """
        self._purgatory.on_earlier(self.wake)
        self._task = asyncio.create_task(
            self._run(), name=f"ExpirationReaper-{self._purgatory.name}"
        )
        return self._task

    def wake(self) -> None:
        """End the sleep if a bucket is due before the sleep would end."""
        due_ms = self._purgatory.next_expiration_ms()
        if self._sleep is not None and due_ms is not None and due_ms < self._until_ms:
            self._sleep.cancel()

    async def shutdown(self) -> None:
        """Stop the reaper; waiting operations stay in the purgatory.

        If an operation's exception has ended the reaper before, that exception is raised.
        """
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def _run(self) -> None:
        try:
            while True:
                now_ms = self._time.hi_res_clock_ms()
                self._purgatory.advance_clock(now_ms)
                due_ms = self._purgatory.next_expiration_ms()
                wait_ms = self._round_ms if due_ms is None else min(due_ms - now_ms, self._round_ms)
                self._until_ms = now_ms + wait_ms
                self._sleep = asyncio.ensure_future(self._time.sleep(wait_ms))
                try:
                    await self._sleep
                except asyncio.CancelledError:
                    if (
                        self._task is None or self._task.cancelling()
                    ):  # the reaper itself was cancelled, not only its sleep
                        raise
        finally:
            self._purgatory.on_earlier(None)
            if self._sleep is not None:
                self._sleep.cancel()
                self._sleep = None
