"""Background tasks: somebody hears of the bug that has ended one.

asyncio keeps a task's exception until somebody asks for it. A task that dies of a bug is then
missed by nobody, and others wait for it for ever.
"""

import asyncio
from collections.abc import Callable

OnFailure = Callable[[str, BaseException], None]
"""Called with the name of a task, and with the bug of which it died."""


def failure_of(task: asyncio.Task[None]) -> BaseException | None:
    """Return the exception that has ended a task. None if it ended well, or was cancelled."""
    return None if task.cancelled() else task.exception()


def report_failure(task: asyncio.Task[None], on_failure: OnFailure) -> None:
    """Call `on_failure` as soon as a bug has ended this task."""

    def ended(done: asyncio.Task[None]) -> None:
        if (error := failure_of(done)) is not None:
            on_failure(done.get_name(), error)

    task.add_done_callback(ended)
