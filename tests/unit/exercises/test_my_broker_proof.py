"""The proof that a cluster uses a learner's parts: what it says about a transaction that was
read.
"""

from types import SimpleNamespace
from typing import Any

import pytest

from exercises import my_broker_proof
from kafka_edu.supervisor.cluster import ClusterError

CLUSTER: Any = SimpleNamespace(bootstrap_servers="b:9092")


class Silent:
    """A producer that does nothing."""

    def __init__(self, _: object) -> None: ...

    def __getattr__(self, _: str) -> Any:
        return lambda *_, **__: None


class Reading:
    """A consumer that reads these values, one list for each call."""

    def __init__(self, values: list[list[bytes]]) -> None:
        self._values = values

    def assign(self, _: object) -> None: ...

    def close(self) -> None: ...

    def consume(self, most: int, _: float) -> list[Any]:
        came = self._values.pop(0)
        assert len(came) <= most
        return [SimpleNamespace(value=lambda value=value: value) for value in came]


def transact(monkeypatch: pytest.MonkeyPatch, *read: list[bytes]) -> None:
    monkeypatch.setattr(my_broker_proof, "Producer", Silent)
    monkeypatch.setattr(my_broker_proof, "Consumer", lambda _: Reading([*read]))
    my_broker_proof._transact(CLUSTER)


def test_the_committed_record_ends_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    transact(monkeypatch, [], [b"x"], [b"x", b"committed"])


@pytest.mark.parametrize("read", [[[b"aborted"], [b"committed"]], [[b"aborted", b"committed"]]])
def test_an_aborted_record_that_is_read_fails_the_proof(
    monkeypatch: pytest.MonkeyPatch, read: list[list[bytes]]
) -> None:
    with pytest.raises(ClusterError, match="not read as it was committed"):
        transact(monkeypatch, *read)
