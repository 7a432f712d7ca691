import asyncio
from itertools import pairwise

from kafka_edu.common.time import MockTime
from kafka_edu.server.kafka_scheduler import KafkaScheduler


def test_runs_after_the_delay_and_then_every_period() -> None:
    async def main() -> None:
        time = MockTime(0)
        failures: list[str] = []
        scheduler = KafkaScheduler(time, lambda name, error: failures.append(f"{name}: {error}"))
        runs: list[int] = []
        scheduler.schedule(
            "tick", lambda: runs.append(time.milliseconds()), delay_ms=100, period_ms=50
        )
        scheduler.schedule("once", lambda: runs.append(-1))
        for _ in range(8):
            await asyncio.sleep(0)
        await scheduler.shutdown()
        assert -1 in runs
        ticks = [at for at in runs if at >= 0]
        assert len(ticks) >= 3
        assert {b - a for a, b in pairwise(ticks)} == {50}
        assert failures == []
        scheduler.schedule("late", lambda: runs.append(-2))
        await asyncio.sleep(0)
        assert -2 not in runs

    asyncio.run(main())


def test_what_a_task_raises_is_told() -> None:
    async def main() -> None:
        failures: list[str] = []
        scheduler = KafkaScheduler(
            MockTime(), lambda name, error: failures.append(f"{name}: {error!r}")
        )

        async def broken() -> None:
            raise OSError("disk is gone")

        scheduler.schedule("checkpoint", broken, period_ms=10)
        for _ in range(4):
            await asyncio.sleep(0)
        assert failures == ["checkpoint: OSError('disk is gone')"]

    asyncio.run(main())


def test_a_name_is_scheduled_once_until_cancelled() -> None:
    async def main() -> None:
        scheduler = KafkaScheduler(MockTime(), lambda _, error: (_ for _ in ()).throw(error))
        runs: list[int] = []
        scheduler.schedule("a", lambda: runs.append(1), delay_ms=10)
        try:
            scheduler.schedule("a", lambda: runs.append(2))
            raise AssertionError("a second task of that name was taken")
        except ValueError:
            pass
        scheduler.cancel("a")
        for _ in range(4):
            await asyncio.sleep(0)
        assert runs == []
        scheduler.schedule("a", lambda: runs.append(3))
        for _ in range(4):
            await asyncio.sleep(0)
        assert runs == [3]

    asyncio.run(main())
