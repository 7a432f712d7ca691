"""Run the broker's periodic work, such as retention, checkpoints, flush and ISR expiration (Kafka:
KafkaScheduler.scala; background.threads).

Each piece of work is a task that sleeps on a `Time` object. So the simulator's clock controls the
task, and `crash` can drop it. The pause before the next run begins when a run has ended. So a long
run delays the next run, and runs never overlap.

Kafka logs an exception of scheduled work and continues. In this project an exception stops the
broker. Without ISR expiration, for example, a broker would acknowledge records that it must not
acknowledge.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time


class KafkaScheduler:
    """Owns the tasks of the periodic work. If a task raises, `on_failure` is called with the task's
    name and the exception. This function must stop the broker.
    """

    def __init__(self, time: Time, on_failure: OnFailure) -> None:
        self._time = time
        self._on_failure = on_failure
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._stopped = False

    def schedule(
        self,
        name: str,
        work: Callable[[], Awaitable[object] | None],
        *,
        delay_ms: int = 0,
        period_ms: int = -1,
    ) -> None:
        """Run `work` after `delay_ms`, and again `period_ms` after each run has ended. A negative
        `period_ms` means that the work runs once.
        """
        if self._stopped:
            return
        if name in self._tasks:
            raise ValueError(f"{name} is scheduled already")
        task = asyncio.get_running_loop().create_task(
            self._run(work, delay_ms, period_ms), name=name
        )
        self._tasks[name] = task
        task.add_done_callback(lambda _: self._tasks.pop(name, None))
        report_failure(task, self._on_failure)

    async def _run(
        self, work: Callable[[], Awaitable[object] | None], delay_ms: int, period_ms: int
    ) -> None:
        await self._time.sleep(delay_ms)
        while True:
            waiting = work()
            if waiting is not None:
                await waiting
            if period_ms < 0:
                return
            await self._time.sleep(period_ms)

    def cancel(self, name: str) -> None:
        """Cancel the work with this name. Do nothing if it has ended."""
        task = self._tasks.get(name)
        if task is not None:
            task.cancel()

    def crash(self) -> None:
        """Drop all work at once, and accept no new work."""
        self._stopped = True
        for task in list(self._tasks.values()):
            task.cancel()

    async def shutdown(self) -> None:
        """Cancel all work. Return when all of it has ended."""
        tasks = list(self._tasks.values())
        self.crash()
        await asyncio.gather(*tasks, return_exceptions=True)
