"""The reaper waits for the next bucket, at most 200 ms a round, and wakes for an earlier one.

In these tests, only the test moves the time.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from kafka_edu.common.time import MockTime
from kafka_edu.purgatory.delayed_operation import DelayedOperation
from kafka_edu.purgatory.delayed_operation_purgatory import DelayedOperationPurgatory
from kafka_edu.purgatory.expired_operation_reaper import ExpiredOperationReaper


class StepTime(MockTime):
    """A clock whose sleeps end when `step` has moved it past them.

    It records the length of each sleep.
    """

    def __init__(self) -> None:
        super().__init__(0)
        self.asked: list[float] = []
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def sleep(self, ms: float) -> None:
        self.asked.append(ms)
        future = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.hi_res_clock_ms() + ms, future))
        await future

    async def step(self, ms: int) -> None:
        self.advance(ms)
        for until_ms, future in self._sleepers:
            if until_ms <= self.hi_res_clock_ms() and not future.done():
                future.set_result(None)
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Operation(DelayedOperation):
    __slots__ = ("answered_ms", "fails", "time")

    def __init__(self, delay_ms: int, time: MockTime, fails: bool = False) -> None:
        super().__init__(delay_ms)
        self.time = time
        self.fails = fails
        self.answered_ms: int | None = None

    def try_complete(self) -> bool:
        return False

    def on_complete(self) -> None:
        if self.fails:
            raise RuntimeError("a bug in an operation")
        self.answered_ms = self.time.hi_res_clock_ms()


Scenario = Callable[
    [StepTime, DelayedOperationPurgatory[Operation], ExpiredOperationReaper],
    Coroutine[Any, Any, None],
]


def run(scenario: Scenario) -> None:
    async def main() -> None:
        time = StepTime()
        purgatory = DelayedOperationPurgatory[Operation]("Produce", time.hi_res_clock_ms)
        await scenario(time, purgatory, ExpiredOperationReaper(purgatory, time))

    asyncio.run(main())


async def raises(awaitable: Awaitable[None], match: str) -> None:
    with pytest.raises(RuntimeError, match=match):
        await awaitable


def test_an_idle_reaper_looks_every_200_ms() -> None:
    async def scenario(
        time: StepTime, _: DelayedOperationPurgatory[Operation], reaper: ExpiredOperationReaper
    ) -> None:
        reaper.start()
        await settle()
        await time.step(200)
        await time.step(200)
        assert time.asked == [200, 200, 200]
        await reaper.shutdown()

    run(scenario)


def test_sleeps_until_the_bucket_when_it_is_nearer_than_200_ms() -> None:
    async def scenario(
        time: StepTime,
        purgatory: DelayedOperationPurgatory[Operation],
        reaper: ExpiredOperationReaper,
    ) -> None:
        operation = Operation(30, time)
        purgatory.try_complete_else_watch(operation, ("key",))
        reaper.start()
        await settle()
        assert time.asked == [20], "30 ms are in the bucket of 20 ms on level 2"
        await time.step(20)
        assert time.asked == [20, 10]
        await time.step(9)
        assert operation.answered_ms is None
        await time.step(1)
        assert operation.answered_ms == 30
        assert time.asked == [20, 10, 200]
        await reaper.shutdown()

    run(scenario)


def test_wakes_when_an_earlier_bucket_comes_in() -> None:
    async def scenario(
        time: StepTime,
        purgatory: DelayedOperationPurgatory[Operation],
        reaper: ExpiredOperationReaper,
    ) -> None:
        reaper.start()
        await settle()
        await time.step(50)
        operation = Operation(7, time)
        purgatory.try_complete_else_watch(operation, ("key",))
        purgatory.try_complete_else_watch(Operation(9, time), ("key",))
        await settle()
        assert len(time.asked) == 2, "woken once, for the earlier"
        for _ in range(40):
            await time.step(1)
        assert operation.answered_ms == 57
        await reaper.shutdown()

    run(scenario)


def test_does_not_wake_for_a_bucket_that_is_due_after_it_would_look_anyway() -> None:
    async def scenario(
        time: StepTime,
        purgatory: DelayedOperationPurgatory[Operation],
        reaper: ExpiredOperationReaper,
    ) -> None:
        reaper.start()
        await settle()
        purgatory.try_complete_else_watch(Operation(5_000, time), ("key",))
        await settle()
        assert time.asked == [200]
        purgatory.try_complete_else_watch(Operation(1_000, time), ("key",))
        await settle()
        assert time.asked == [200]
        await reaper.shutdown()

    run(scenario)


def test_after_shutdown_nothing_expires() -> None:
    async def scenario(
        time: StepTime,
        purgatory: DelayedOperationPurgatory[Operation],
        reaper: ExpiredOperationReaper,
    ) -> None:
        operation = Operation(7, time)
        purgatory.try_complete_else_watch(operation, ("key",))
        reaper.start()
        await settle()
        await reaper.shutdown()
        await reaper.shutdown()
        await time.step(100)
        assert operation.answered_ms is None
        purgatory.try_complete_else_watch(Operation(1, time), ("key",))
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(scenario)


def test_a_bug_in_an_operation_ends_the_reaper_and_is_raised_at_shutdown() -> None:
    async def scenario(
        time: StepTime,
        purgatory: DelayedOperationPurgatory[Operation],
        reaper: ExpiredOperationReaper,
    ) -> None:
        purgatory.try_complete_else_watch(Operation(7, time, fails=True), ("key",))
        task = reaper.start()
        await settle()
        await time.step(7)
        assert task.done()
        await raises(reaper.shutdown(), "a bug in an operation")

    run(scenario)
