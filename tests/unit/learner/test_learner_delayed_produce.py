"""A learner's condition of a delayed produce: the broker carries out its answers, no answer can
break the broker, and the broker asks it only about the labs' topics.
"""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner_delayed_produce import adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError
from kafka_edu.replication.delayed_produce import DelayedProduce, ProducePartitionStatus

WEB, PAY = TopicPartition("lab-web", 0), TopicPartition("lab-pay", 1)
RIGHT = find_exercise("03-2").solution.read_text(encoding="utf-8")


class Replicas:
    """The partitions of a broker, each as a plain object."""

    def __init__(self) -> None:
        self.known: dict[TopicPartition, SimpleNamespace] = {}
        self.refused: dict[TopicPartition, Errors] = {}

    def add(self, tp: TopicPartition, hw: int) -> SimpleNamespace:
        replica = SimpleNamespace(
            log=SimpleNamespace(config=SimpleNamespace(min_insync_replicas=2)),
            is_leader=True,
            leader_epoch=3,
            high_watermark=SimpleNamespace(offset=hw),
            isr=(0, 1, 2),
            first_ack_pending=False,
        )

        def check(required: int) -> tuple[bool, Errors]:
            return replica.high_watermark.offset >= required, Errors.NONE

        replica.check_enough_replicas_reach_offset = check
        self.known[tp] = replica
        return replica

    def get(self, tp: TopicPartition) -> SimpleNamespace | None:
        return self.known.get(tp)

    def get_or_raise(self, tp: TopicPartition) -> SimpleNamespace:
        if tp in self.refused:
            raise KafkaException(self.refused[tp])
        return self.known[tp]


class Served:
    """One produce of a broker in which the learner's text serves."""

    def __init__(self, folder: Path, text: str) -> None:
        file = folder / "delayed_produce.py"
        file.write_text(text, encoding="utf-8")
        self.code = LearnerCode(SEAMS["03-2"], file)
        self.errors: list[LearnerError] = []
        self.code.on_failure = self.errors.append
        self.replicas = Replicas()
        self.answers: list[dict[TopicPartition, Errors]] = []

    def produce(self, *tps: TopicPartition, failed: TopicPartition | None = None) -> DelayedProduce:
        statuses = {tp: ProducePartitionStatus(Errors.NONE, 5, 4, -1, 0) for tp in tps}
        if failed is not None:
            statuses[failed] = ProducePartitionStatus.failed(Errors.CORRUPT_MESSAGE)
        return adapt(self.code)(
            1_000,
            statuses,
            self.replicas,
            lambda found: self.answers.append({tp: one.error for tp, one in found.items()}),
        )


@pytest.fixture
def opened() -> Iterator[list[Served]]:
    made: list[Served] = []
    yield made
    for one in made:
        one.code.close()


def served(opened: list[Served], tmp_path: Path, text: str = RIGHT) -> Served:
    opened.append(Served(tmp_path, text))
    return opened[-1]


def test_the_right_answer_is_carried_out(opened: list[Served], tmp_path: Path) -> None:
    broker = served(opened, tmp_path)
    web, pay = broker.replicas.add(WEB, 4), broker.replicas.add(PAY, 3)
    produce = broker.produce(WEB, PAY)
    assert not produce.try_complete()
    web.high_watermark.offset = 5
    assert not produce.try_complete()
    pay.high_watermark.offset, pay.isr = 6, (0,)
    assert produce.try_complete()
    assert broker.answers == [
        {WEB: Errors.NONE, PAY: Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND},
    ]
    assert broker.errors == []


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (Errors.KAFKA_STORAGE_ERROR, Errors.KAFKA_STORAGE_ERROR),
        (Errors.NOT_LEADER_OR_FOLLOWER, Errors.NOT_LEADER_OR_FOLLOWER),
        (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_what_the_broker_lost_is_told_to_the_learner(
    opened: list[Served], tmp_path: Path, error: Errors, answer: Errors
) -> None:
    broker = served(opened, tmp_path)
    broker.replicas.add(WEB, 4)
    produce = broker.produce(WEB)
    broker.replicas.refused[WEB] = error
    assert produce.try_complete()
    assert broker.answers == [{WEB: answer}]
    assert broker.errors == []


def test_a_failed_append_is_settled_by_the_first_look(opened: list[Served], tmp_path: Path) -> None:
    broker = served(opened, tmp_path)
    web = broker.replicas.add(WEB, 4)
    broker.replicas.add(PAY, 9)
    produce = broker.produce(WEB, failed=PAY)
    assert not produce.try_complete()
    web.high_watermark.offset = 5
    assert produce.try_complete()
    assert broker.answers == [{WEB: Errors.NONE, PAY: Errors.CORRUPT_MESSAGE}]
    assert broker.errors == []


def test_a_wrong_but_possible_answer_is_carried_out(opened: list[Served], tmp_path: Path) -> None:
    text = RIGHT.replace('state["hw"] < required_offset', "False")
    broker = served(opened, tmp_path, text)
    broker.replicas.add(WEB, 4)
    assert broker.produce(WEB).try_complete(), "acked, and a replica lacks the record"
    assert broker.answers == [{WEB: Errors.NONE}]
    assert broker.errors == []


def test_other_topics_are_not_asked_for(opened: list[Served], tmp_path: Path) -> None:
    broker = served(opened, tmp_path)
    shop = TopicPartition("shop", 0)
    broker.replicas.add(shop, 5)
    calls = broker.code.calls
    assert broker.produce(shop).try_complete()
    assert broker.code.calls == calls


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("raise ValueError('boom')", "ValueError: boom"),
        ("return None", "expected \\(settled, missing\\)"),
        ("return [('web-0', 'NONE')], []", "were not settled before"),
        ("return [], []", "were not settled before"),
        ("return [('lab-web-0', 'GOOD')], []", "expected \\(partition, error\\)"),
        ("return [], [('lab-web-0', 'two')]", "expected \\(partition, number of offsets\\)"),
    ],
)
def test_an_impossible_answer_is_the_learners_error_and_ours_decides(
    opened: list[Served], tmp_path: Path, answer: str, says: str
) -> None:
    made = "class DelayedProduce:\n    def __init__(self, appended): pass\n"
    text = f"{made}    def look(self, states): {answer}\n"
    broker = served(opened, tmp_path, text)
    web = broker.replicas.add(WEB, 4)
    produce = broker.produce(WEB)
    for _ in range(FAILURES_ALLOWED):
        assert not produce.try_complete()
    assert broker.code.retired
    assert len(broker.errors) == FAILURES_ALLOWED
    with pytest.raises(LearnerError, match=says):
        raise broker.errors[0]
    web.high_watermark.offset = 5
    assert produce.try_complete()
    assert broker.answers == [{WEB: Errors.NONE}]
