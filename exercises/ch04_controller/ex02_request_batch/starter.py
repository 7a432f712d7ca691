"""Exercise 04-2: put what the brokers must know into few requests. README.md says what is asked;
`kafka-edu lab check 04-2` tries it, `kafka-edu lab hint 04-2` helps.
"""

from collections.abc import Sequence

Row = tuple[str, int, int] | tuple[str, bool]
Request = tuple[int, str, list[Row]]  # (broker, kind, rows)


class RequestBatch:
    """What one step of the controller must tell the brokers."""

    def __init__(self, live: Sequence[int]) -> None:
        """`live` has the ids of the brokers that live."""
        self.live = live

    def elected(self, name: str, leader: int, epoch: int, replicas: Sequence[int]) -> None:
        """Note that a leader was elected."""
        raise NotImplementedError("RequestBatch.elected is not written yet: it returns None")

    def stop(self, name: str, broker: int, delete: bool) -> None:
        """Note that a broker has to stop its replica."""
        raise NotImplementedError("RequestBatch.stop is not written yet: it returns None")

    def members_changed(self) -> None:
        """Note that a broker has come or gone."""
        raise NotImplementedError("RequestBatch.members_changed is not written yet")

    def send(self) -> list[Request]:
        """Return the requests that leave now, and forget what was noted."""
        raise NotImplementedError(
            "RequestBatch.send is not written yet: it returns a list of (broker, kind, rows)"
        )
