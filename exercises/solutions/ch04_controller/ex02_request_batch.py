"""Exercise 04-2: the reference solution."""

from collections.abc import Mapping, Sequence

Row = tuple[str, int, int] | tuple[str, bool]
Request = tuple[int, str, list[Row]]  # (broker, kind, rows)


def rows_of(leaders: Mapping[str, tuple[int, int]]) -> list[Row]:
    """Return (name, leader, epoch) of each partition, sorted by name."""
    return [(name, *leaders[name]) for name in sorted(leaders)]


class RequestBatch:
    """Collects the requests that one step of the controller must send to the brokers."""

    def __init__(self, live: Sequence[int]) -> None:
        """`live` has the ids of the live brokers."""
        self.live = sorted(live)
        self.forget()

    def forget(self) -> None:
        self.leaders: dict[str, tuple[int, int]] = {}
        self.orders: dict[int, dict[str, tuple[int, int]]] = {}
        self.stops: dict[int, dict[str, bool]] = {}
        self.changed = False

    def elected(self, name: str, leader: int, epoch: int, replicas: Sequence[int]) -> None:
        """Make a note that a leader was elected for the partition `name`."""
        self.leaders[name] = (leader, epoch)
        for broker in replicas:
            self.orders.setdefault(broker, {})[name] = (leader, epoch)

    def stop(self, name: str, broker: int, delete: bool) -> None:
        """Make a note that a broker must stop its replica, and delete it if `delete` is true."""
        mine = self.stops.setdefault(broker, {})
        mine[name] = delete or mine.get(name, False)

    def members_changed(self) -> None:
        """Make a note that a broker has joined or left the cluster."""
        self.changed = True

    def send(self) -> list[Request]:
        """Return the requests for all notes since the last `send`, and forget these notes."""
        requests: list[Request] = []
        for broker in self.live:
            if broker in self.orders:
                requests.append((broker, "LeaderAndIsr", rows_of(self.orders[broker])))
        if self.leaders or self.changed:
            for broker in self.live:
                requests.append((broker, "UpdateMetadata", rows_of(self.leaders)))
        for broker in self.live:
            if broker in self.stops:
                requests.append((broker, "StopReplica", sorted(self.stops[broker].items())))
        self.forget()
        return requests
