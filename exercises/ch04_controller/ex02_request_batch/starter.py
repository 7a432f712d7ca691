"""Exercise 04-2: put what the brokers must know into few requests. README.md describes the task.
`kafka-edu lab check 04-2` tests your code. `kafka-edu lab hint 04-2` gives a hint.
"""

from collections.abc import Sequence

Row = tuple[str, int, int] | tuple[str, bool]
Request = tuple[int, str, list[Row]]  # (broker, kind, rows)


class RequestBatch:
    """Collects what one step of the controller must send to the brokers."""

    def __init__(self, live: Sequence[int]) -> None:
        """`live` has the ids of the live brokers. Only live brokers get requests."""
        self.live = live

    def elected(self, name: str, leader: int, epoch: int, replicas: Sequence[int]) -> None:
        """Make a note that `leader` was elected for the partition `name`, in this leader epoch."""
        raise NotImplementedError("RequestBatch.elected is not written yet: it returns None")

    def stop(self, name: str, broker: int, delete: bool) -> None:
        """Make a note that `broker` must stop its replica of `name`, and delete it if `delete`."""
        raise NotImplementedError("RequestBatch.stop is not written yet: it returns None")

    def members_changed(self) -> None:
        """Make a note that a broker has come or gone: all live brokers must be informed."""
        raise NotImplementedError("RequestBatch.members_changed is not written yet")

    def send(self) -> list[Request]:
        """Return the requests for all notes since the last `send`, and forget these notes."""
        raise NotImplementedError(
            "RequestBatch.send is not written yet: it returns a list of (broker, kind, rows)"
        )
