"""A learner's condition of a delayed fetch: it decides for consumers of the labs' topics, and
cannot break the broker.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_delayed_fetch import adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication.delayed_fetch import DelayedFetch
from kafka_edu.replication.fetch_params import FetchParams

WEB, SHOP = TopicPartition("lab-web", 0), TopicPartition("shop", 0)
RIGHT = find_exercise("03-3").solution.read_text(encoding="utf-8")


class World:
    """A broker with one partition, which uses the learner's code."""

    def __init__(self, folder: Path, text: str) -> None:
        file = folder / "delayed_fetch.py"
        file.write_text(text, encoding="utf-8")
        self.code = LearnerCode(SEAMS["03-3"], file)
        self.errors: list[LearnerError] = []
        self.code.on_failure = self.errors.append
        self.end = LogOffsetMetadata(5, 0, 500)
        self.refused: Errors | None = None
        self.answered = 0
        self.shipped_says: int | None = 0
        """How many bytes the shipped condition finds."""
        self.replica = SimpleNamespace(
            log=object(),
            is_leader=True,
            leader_epoch=3,
            end=lambda: self.end,
            readable=lambda: self.shipped_says,
        )

    def get(self, _: TopicPartition) -> SimpleNamespace:
        return self.replica

    def get_or_raise(self, _: TopicPartition) -> SimpleNamespace:
        if self.refused is not None:
            raise KafkaException(self.refused)
        return self.replica

    def fetch(self, tp: TopicPartition = WEB, *, replica: int = -1) -> DelayedFetch:
        params = FetchParams(replica, 1_000, 200, 1_000_000, 11)
        wanted = SimpleNamespace(max_bytes=1_000, current_leader_epoch=3, place=None)
        read = SimpleNamespace(fetch_offset_metadata=LogOffsetMetadata(5, 0, 500))
        return adapt(self.code)(params, [(tp, wanted)], [(tp, read)], self, self._respond)

    def _respond(self, _: object) -> None:
        self.answered += 1


@pytest.fixture
def serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], World]]:
    shipped = "kafka_edu.replication.delayed_fetch"
    monkeypatch.setattr(f"{shipped}.read_from_local_log", lambda *_: [])
    monkeypatch.setattr(f"{shipped}.readable_bytes", lambda replica, *_: replica.readable())
    adapted = "kafka_edu.learner.learner_delayed_fetch"
    monkeypatch.setattr(f"{adapted}.end_for", lambda replica, _: replica.end())
    worlds: list[World] = []

    def make(text: str = RIGHT) -> World:
        worlds.append(World(tmp_path, text))
        return worlds[-1]

    yield make
    for world in worlds:
        world.code.close()


def test_it_waits_until_there_is_enough(serve: Callable[..., World]) -> None:
    world = serve()
    fetch = world.fetch()
    assert not fetch.try_complete()
    world.end = LogOffsetMetadata(6, 0, 600)
    assert not fetch.try_complete()
    world.end = LogOffsetMetadata(7, 0, 700)
    assert fetch.try_complete()
    assert (world.answered, world.errors) == (1, [])


@pytest.mark.parametrize(
    ("error", "case"),
    [
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, "the partition is not known"),
        (Errors.KAFKA_STORAGE_ERROR, "its log dir has failed"),
        (Errors.NOT_LEADER_OR_FOLLOWER, "the replica was moved away"),
    ],
)
def test_what_the_broker_lost_ends_the_wait(
    serve: Callable[..., World], error: Errors, case: str
) -> None:
    world = serve()
    fetch = world.fetch()
    world.refused = error
    assert fetch.try_complete()
    assert fetch._ended_by == case
    assert world.errors == []


def test_another_leader_epoch_or_segment_ends_the_wait(serve: Callable[..., World]) -> None:
    world = serve()
    fetch = world.fetch()
    world.replica.leader_epoch = 4
    assert fetch.try_complete()
    assert fetch._ended_by == "another leader epoch"
    world.replica.leader_epoch, world.end = 3, LogOffsetMetadata(9, 6, 300)
    fetch = world.fetch()
    assert fetch.try_complete()
    assert fetch._ended_by == "another segment: far behind, or truncated"


def test_a_wrong_but_possible_answer_is_carried_out(serve: Callable[..., World]) -> None:
    world = serve(RIGHT.replace("if available >= self.min_bytes:", "if True:"))
    assert world.fetch().try_complete()
    assert (world.answered, world.errors) == (1, [])


@pytest.mark.parametrize("answer", ["7", "('X', 'lab-web-0')", "('A', 'other-0')", "('G', 'much')"])
def test_nonsense_is_the_learners_fault_and_ours_decides(
    serve: Callable[..., World], answer: str
) -> None:
    world = serve(RIGHT.replace("        available = 0\n", f"        return {answer}\n", 1))
    fetch = world.fetch()
    assert not fetch.try_complete()
    world.shipped_says = 200
    assert fetch.try_complete()
    assert len(world.errors) == 2
    assert "expected (case, partition)" in world.errors[0].message
    world.fetch().try_complete()
    assert len(world.errors) == FAILURES_ALLOWED
    assert type(world.fetch()) is DelayedFetch, "after three errors ours stays"


def test_followers_and_other_topics_are_not_asked_for(serve: Callable[..., World]) -> None:
    world = serve()
    calls = world.code.calls
    make = adapt(world.code)
    for tp, replica in ((SHOP, -1), (WEB, 2)):
        params = FetchParams(replica, 1_000, 200, 1_000_000, 11)
        made = make(params, [(tp, SimpleNamespace())], [], world, lambda _: None)
        assert type(made) is DelayedFetch
    assert world.code.calls == calls
