"""A bug that ends a task is reported. Any other end of a task is not."""

import asyncio

from kafka_edu.common.tasks import failure_of, report_failure


def test_a_bug_is_reported_with_the_tasks_name_and_no_other_end_is() -> None:
    bug = ValueError("a bug")
    told: list[tuple[str, BaseException]] = []

    async def well() -> None:
        pass

    async def dies() -> None:
        raise bug

    async def stays() -> None:
        await asyncio.Event().wait()

    async def run() -> None:
        tasks = [
            asyncio.create_task(work, name=name)
            for name, work in (
                ("well", well()),
                ("dies", dies()),
                ("stays", stays()),
            )
        ]
        for task in tasks:
            report_failure(task, lambda name, error: told.append((name, error)))
        await asyncio.wait(tasks[:2])
        tasks[2].cancel()
        await asyncio.wait(tasks)
        assert [failure_of(task) for task in tasks] == [None, bug, None]

    asyncio.run(run())
    assert told == [("dies", bug)]
