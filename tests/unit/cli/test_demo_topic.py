"""How a demo looks up and creates its topic. A test gives the answers of the admin client."""

from collections.abc import Callable, Collection
from typing import Self

import pytest

from kafka_edu.cli import demo_topic
from kafka_edu.cli.demo_topic import NO_LEADER, elect_preferred, leaders_of, wait_until_in_sync
from kafka_edu.cli.progress import Standstill
from kafka_edu.clients import blocking
from kafka_edu.clients.admin.admin_call import Results, results_of
from kafka_edu.clients.admin.node import Node
from kafka_edu.clients.admin.partition_calls import ElectionType
from kafka_edu.clients.admin.topic_calls import TopicDescription, TopicPartitionInfo
from kafka_edu.clients.client_errors import BrokerException, TimeoutException
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition

NODES = tuple(Node(number, "a", 9092) for number in range(3))
Answer = tuple[TopicPartitionInfo, ...] | Exception


def partition(number: int, leader: int, isr: str) -> TopicPartitionInfo:
    """Return a partition whose first replica is broker `number`."""
    replicas = NODES[number:] + NODES[:number]
    leading = None if leader == NO_LEADER else NODES[leader]
    return TopicPartitionInfo(number, leading, replicas, tuple(NODES[int(one)] for one in isr))


class Admin(blocking.Admin):
    """Returns the given answers one after the other, and repeats the last one for ever."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.calls: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.calls.append("close")

    def describe_topics(  # type: ignore[override]  # the base has it as an attribute
        self, topics: Collection[str], *, timeout_ms: float | None = None
    ) -> Results[str, TopicDescription]:
        self.calls.append(f"describe {', '.join(topics)}")
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if isinstance(answer, Exception):
            raise answer
        return results_of([("t", TopicDescription("t", None, False, answer))])

    def elect_leaders(  # type: ignore[override]
        self, election_type: ElectionType, *, timeout_ms: float | None = None
    ) -> Results[TopicPartition, None]:
        self.calls.append(f"elect {election_type.name}")
        return results_of([])


def test_leaders() -> None:
    admin = Admin((partition(0, 2, "2"), partition(1, NO_LEADER, "1")))
    assert leaders_of(admin, "t") == {0: 2, 1: NO_LEADER}


def test_after_an_election_the_other_leaders_are_returned() -> None:
    admin = Admin((partition(0, 0, "0"), partition(1, 2, "2"), partition(2, NO_LEADER, "")))
    assert elect_preferred(admin, "t") == {1: 2, 2: NO_LEADER}
    assert admin.calls == ["elect PREFERRED", "describe t"]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Callable[[Admin], dict[int, int]]:
    monkeypatch.setattr(demo_topic, "_LOOK_EVERY_S", 0)

    def run(admin: Admin) -> dict[int, int]:
        monkeypatch.setattr(demo_topic, "demo_admin", lambda _: admin)
        return wait_until_in_sync("a:1", "t", 2)

    return run


def test_the_wait_ends_when_all_lead_and_are_in_sync(
    wait: Callable[[Admin], dict[int, int]],
) -> None:
    admin = Admin(
        TimeoutException("no broker answers"),
        BrokerException(Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (partition(0, 0, "012"),),
        (partition(0, 0, "012"), partition(1, NO_LEADER, "012")),
        (partition(0, 0, "012"), partition(1, 1, "12")),
        (partition(0, 0, "210"), partition(1, 1, "120")),
    )
    assert wait(admin) == {0: 0, 1: 1}
    assert admin.calls == ["describe t"] * 6 + ["close"]


def test_a_wait_without_an_end_is_a_standstill(
    wait: Callable[[Admin], dict[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Still:
        def __init__(self, what: str) -> None:
            self._looks = 0

        def note(self, seen: object) -> None:
            self._looks += 1
            if self._looks == 4:
                raise Standstill(str(seen))

    monkeypatch.setattr(demo_topic, "Progress", Still)
    admin = Admin((partition(0, 0, "01"),))
    with pytest.raises(Standstill, match=r"leaders \{0: 0\}.*ISRs \{0: \[0, 1\]\}"):
        wait(admin)
    assert admin.calls[-1] == "close"
