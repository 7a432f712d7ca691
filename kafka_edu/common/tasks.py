"""Report the failure of a background task.

asyncio keeps the exception of a task until a different task reads the exception. Without a report,
a bug could end a task unnoticed, and other tasks could wait for the task for ever.
"""

import asyncio
from collections.abc import Callable

OnFailure = Callable[[str, BaseException], None]
"""Function that is called with the name of a failed task and with its exception."""


def failure_of(task: asyncio.Task[None]) -> BaseException | None:
    """Return the exception that ended a task. None if the task succeeded or was cancelled."""
    return None if task.cancelled() else task.exception()


def report_failure(task: asyncio.Task[None], on_failure: OnFailure) -> None:
    """Call `on_failure` as soon as an exception ends this task."""

    def ended(done: asyncio.Task[None]) -> None:
        if (error := failure_of(done)) is not None:
            on_failure(done.get_name(), error)

    task.add_done_callback(ended)
