"""The task that moves a purgatory's time (Kafka: ExpiredOperationReaper in DelayedOperation.scala;
收割机线程).
"""

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

from kafka_edu.common.time import Time

ROUND_MS: Final = 200
"""The longest wait of one round, as Kafka's."""


class Advanced(Protocol):
    """What a reaper moves: a DelayedOperationPurgatory."""

    @property
    def name(self) -> str: ...

    def advance_clock(self, now_ms: int) -> int: ...

    def next_expiration_ms(self) -> int | None: ...

    def on_earlier(self, callback: Callable[[], None] | None) -> None: ...


class ExpiredOperationReaper:
    """Sleeps until the next bucket is due, at most 200 ms a round, then advances the clock; wakes
    when an earlier bucket comes in.

    One reaper, one purgatory, one timer (一一对应). It is the shell around them, and the only code
    here that awaits: 30,000 waiting requests cost it one sleep, where a `call_later`
    each would cost the loop 30,000 handles.
    """

    def __init__(self, purgatory: Advanced, time: Time, round_ms: int = ROUND_MS) -> None:
        self._purgatory = purgatory
        self._time = time
        self._round_ms = round_ms
        self._task: asyncio.Task[None] | None = None
        self._sleep: asyncio.Task[None] | None = None
        self._until_ms = 0
        """When the sleep ends."""

    def start(self) -> asyncio.Task[None]:
        """Begin; returns the task, whose failure is a bug of an operation and should stop the
        broker.
        """
        self._purgatory.on_earlier(self.wake)
        self._task = asyncio.create_task(
            self._run(), name=f"ExpirationReaper-{self._purgatory.name}"
        )
        return self._task

    def wake(self) -> None:
        """An earlier bucket came in: look again now, if it is due before we would."""
        due_ms = self._purgatory.next_expiration_ms()
        if self._sleep is not None and due_ms is not None and due_ms < self._until_ms:
            self._sleep.cancel()

    async def shutdown(self) -> None:
        """Stop; what waits stays where it is. Raises what an operation raised."""
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
                    ):  # not the sleep, we ourselves are to end
                        raise
        finally:
            self._purgatory.on_earlier(None)
            if self._sleep is not None:
                self._sleep.cancel()
                self._sleep = None
