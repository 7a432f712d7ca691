"""Tests of logs that need an event loop."""

import asyncio
import functools
from collections.abc import Callable
from typing import ParamSpec

P = ParamSpec("P")


def in_loop(test: Callable[P, None]) -> Callable[P, None]:
    """Run a synchronous test inside an event loop: the log manager starts a task when it has
    something to remove from the disk.
    """

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        async def main() -> None:
            test(*args, **kwargs)

        asyncio.run(main())

    return run
