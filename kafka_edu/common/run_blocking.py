"""The type of a function with which an event loop runs blocking calls in a different thread."""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class RunBlocking(Protocol):
    """Runs a blocking call in a worker thread and waits for its result. In the simulator the call
    runs at once.
    """

    def __call__(self, call: Callable[[], T], /) -> Awaitable[T]: ...
