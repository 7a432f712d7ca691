"""Learners' parts of a producer: their answers are carried out. Where a part fails, our own code
answers.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.clients.metadata import Metadata, PartitionInfo, TopicInfo
from kafka_edu.clients.producer import partitioners, producer_core
from kafka_edu.clients.producer import producer as producer_module
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.producer_sample import describe_producer
from kafka_edu.clients.producer.record_accumulator import BufferPool, Ready, RecordAccumulator
from kafka_edu.clients.producer.sender import Sender
from kafka_edu.common.errors import Errors
from kafka_edu.common.murmur2 import partition_of_key
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_accumulator, learner_partitioner, learner_sender
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerError
from kafka_edu.record.compression import CompressionType
from tests.unit.clients.producer.parts import Core, produced

from .conftest import Load

WEB = TopicInfo("web", [PartitionInfo(p, 1 if p != 2 else -1, 0) for p in range(5)])
"""Partition 2 has no leader."""


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def partitioner(answer: str) -> str:
    return (
        f"class Partitioner:\n    def partition(self, *_):\n        return {answer}\n"
        "    def new_batch(self, *_):\n        pass\n"
    )


def made(code: Any) -> Any:
    """Return the partitioner that a producer has by default."""
    return learner_partitioner.adapt(code)["DefaultPartitioner"](random.Random(1))


def test_the_seam_of_the_partitioner_is_where_the_producer_looks() -> None:
    seam = SEAMS["12-2"]
    assert vars(partitioners)[seam.name] is vars(producer_module)[seam.name]
    assert {seam.module, *seam.also_in} == {partitioners.__name__, producer_module.__name__}


def test_the_reference_chooses_as_ours_does(load: Load) -> None:
    code, errors = load("12-2", right("12-2"))
    theirs = made(code)
    for number in range(100):
        key = b"%d" % number
        assert theirs.partition(WEB, key, None) == partition_of_key(key, 5)
    home = theirs.partition(WEB, None, None)
    assert home in WEB.available
    assert theirs.partition(WEB, None, None) == home
    theirs.on_new_batch(WEB, home)
    assert theirs.partition(WEB, None, None) in {*WEB.available} - {home}
    assert errors == []


def accumulators(code: Any) -> tuple[RecordAccumulator, RecordAccumulator]:
    """Return the learner's accumulator and ours, with the same settings."""

    def settings() -> Any:
        return ("p", 200, 10, 100, CompressionType.NONE, BufferPool(10_000_000))

    return learner_accumulator.adapt(code)(*settings()), RecordAccumulator(*settings())


def cluster() -> Metadata:
    """Return metadata in which broker 1 leads the even partitions of t, and broker 2 the others."""
    core = Core(partitions=6, brokers=(1, 2))
    core.metadata.use("t", 0)
    core.metadata.update(core.metadata_answer(), 0)
    return core.metadata


def begin(records: RecordAccumulator, partition: int, size: int, now: float) -> ProducerBatch:
    records.pool.allocate(200)
    value = b"v" * size
    return records.append_to_new_batch("t", partition, 0, None, value, (), 200, now)


def names(ready: Ready) -> tuple[dict[int, list[int]], float]:
    return {n: [q.tp.partition for q in each] for n, each in ready.queues.items()}, ready.next_ms


def all_may(batch: ProducerBatch) -> bool:
    return True


def no_number(batch: ProducerBatch) -> None: ...


def test_the_seam_of_the_accumulator_is_where_the_producer_looks() -> None:
    assert SEAMS["12-1"].module == producer_core.__name__
    assert vars(producer_core)[SEAMS["12-1"].name] is RecordAccumulator


def test_the_reference_finds_the_batches_that_ours_finds(load: Load) -> None:
    """The learner's accumulator and ours are compared for random times, sizes, errors and muted
    partitions.
    """
    code, errors = load("12-1", right("12-1"))
    chance, metadata, both = random.Random(121), cluster(), accumulators(code)
    for partition in range(6):
        for records in both:
            begin(records, partition, 1, 0)
    now = 10
    for _ in range(150):
        now += chance.choice((0, 1, 5, 9, 10, 99, 100))
        partition, size = chance.randrange(6), chance.choice((1, 60, 300))
        flushing, muted, fails = (chance.random() < 0.2 for _ in range(3))
        found = []
        for records in both:
            begin(records, partition, size, now)
            records.flushing = flushing
            records.mute(TopicPartition("t", (partition + 1) % 6), muted)
            ready = records.ready(metadata, now)
            found.append(names(ready))
            for node, queues in sorted(ready.queues.items()):
                # A request has room for all, because ours begins with another partition.
                for batch in records.drain(node, queues, 1 << 30, all_may, no_number, now):
                    if fails and batch.tp.partition == partition:
                        records.reenqueue(batch, now)
        assert {n: sorted(each) for n, each in found[0][0].items()} == {
            n: sorted(each) for n, each in found[1][0].items()
        }
        assert found[0][1] == found[1][1]
    assert errors == []


def test_the_reference_takes_its_partitions_in_turn(load: Load) -> None:
    code, errors = load("12-1", right("12-1"))
    theirs, _ = accumulators(code)
    metadata = cluster()
    for _ in range(3):
        for partition in range(6):
            begin(theirs, partition, 120, 0)
    order = []
    for _ in range(4):
        queues = theirs.ready(metadata, 500).queues[1]
        drained = theirs.drain(1, queues, 400, all_may, no_number, 500)
        order.append([batch.tp.partition for batch in drained])
    assert order == [[0, 2], [4, 0], [2, 4], [0, 2]]
    assert errors == []


def test_what_may_not_be_sent_is_not_shown(load: Load) -> None:
    code, errors = load("12-1", right("12-1"))
    theirs, _ = accumulators(code)
    for partition in (0, 2):
        begin(theirs, partition, 120, 0)
    queues = theirs.ready(cluster(), 500).queues[1]
    assert theirs.drain(1, queues, 999, lambda _: False, no_number, 500) == []
    [only] = theirs.drain(1, queues, 999, lambda batch: batch.tp.partition == 2, no_number, 500)
    assert only.tp.partition == 2
    assert errors == []


def test_impossible_batches_are_errors_and_ours_goes_on(load: Load) -> None:
    for ready, drain in (
        ("[7], None", "[0]"),
        ("[0, 0], None", "[0]"),
        ("[True], None", "[0]"),
        ("[0], -1", "[0]"),
        ("[0], True", "[0]"),
        ("[0], 1.5", "[0]"),
        ("[0]", "[0]"),
        ("[0], None", "[]"),
        ("[0], None", "[9]"),
        ("[0], None", "None"),
    ):
        text = (
            f"class Accumulator:\n    def __init__(self, *_):\n        pass\n"
            f"    def ready(self, *_):\n        return {ready}\n"
            f"    def drain(self, *_):\n        return {drain}\n"
        )
        code, errors = load("12-1", text)
        theirs, _ = accumulators(code)
        begin(theirs, 0, 1, 0)
        queues = theirs.ready(cluster(), 500).queues[1]
        assert len(theirs.drain(1, queues, 999, all_may, no_number, 500)) == 1
        assert len(errors) == 1, (ready, drain)


def test_a_wrong_partition_is_used(load: Load) -> None:
    code, errors = load("12-2", partitioner("4"))
    theirs = made(code)
    assert {theirs.partition(WEB, b"%d" % number, None) for number in range(9)} == {4}
    assert errors == []


def test_a_partition_that_is_not_there_is_an_error_and_ours_goes_on(load: Load) -> None:
    for answer in ("5", "-1", "True", "'0'", "1 / 0"):
        code, errors = load("12-2", partitioner(answer))
        theirs = made(code)
        for _ in range(FAILURES_ALLOWED):
            assert theirs.partition(WEB, b"key", None) == partition_of_key(b"key", 5)
        assert len(errors) == 1, answer
        home = theirs.partition(WEB, None, None)
        theirs.on_new_batch(WEB, home)
        assert theirs.partition(WEB, None, None) != home


Make = Callable[..., tuple[Core, list[LearnerError]]]
REFUSED = Errors.NOT_ENOUGH_REPLICAS


@pytest.fixture
def core(load: Load, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes the core of a producer with a learner's InFlight: the reference
    solution, with an edit.
    """

    def make(
        settings: Mapping[str, object], old: str = "", new: str = "", **parts: Any
    ) -> tuple[Core, list[LearnerError]]:
        text = right("12-3")
        assert old in text
        code, errors = load("12-3", text.replace(old, new) if old else text)
        monkeypatch.setattr(producer_core, "Sender", learner_sender.adapt(code))
        return Core({"retry.backoff.ms": 100, "batch.size": 0, **settings}, **parts), errors

    return make


ONE = {"max.in.flight.requests.per.connection": 1}
IDEMPOTENT = {"enable.idempotence": True}


def test_the_seam_of_the_sender_is_where_the_producer_looks() -> None:
    assert SEAMS["12-3"].module == producer_core.__name__
    assert vars(producer_core)[SEAMS["12-3"].name] is Sender


def test_a_partition_stays_muted_when_its_leader_moves(core: Make) -> None:
    made, errors = core(ONE, brokers=(1, 2))
    first = made.append(b"a")
    made.run()
    made.append(b"b")
    made.leaders[0] = (2, 1)
    made.metadata.request_update()
    made.advance(200)
    [request] = made.requests
    assert request.node == 1
    made.answer(request, produced({0: (Errors.NOT_LEADER_OR_FOLLOWER, -1)}))
    made.advance(200)
    for _ in range(2):
        [request] = made.requests
        assert request.node == 2
        made.answer(request, made.store(request))
        made.run()
    assert made.stored[0].values == [b"a", b"b"]
    assert first.attempts == 1
    assert errors == []


def test_a_learner_that_never_mutes_sends_to_the_next_leader(core: Make) -> None:
    made, errors = core(
        ONE, "self.max_in_flight > 1 or not self.in_flight[partition]", "True", brokers=(1, 2)
    )
    made.append(b"a")
    made.run()
    made.append(b"b")
    made.leaders[0] = (2, 1)
    made.metadata.request_update()
    made.advance(200)
    assert [request.node for request in made.requests] == [1, 2]
    assert errors == []


def test_a_sample_shows_that_the_learner_holds_a_batch_and_does_not_ask(core: Make) -> None:
    question = "        if self.requests[broker] >= self.max_in_flight:"
    few = '        self.again["asked"] += 1\n        assert self.again["asked"] < 20\n'
    made, errors = core(ONE, question, few + question, brokers=(1, 2))
    made.append(b"a")
    made.run()
    made.append(b"b")
    made.leaders[0] = (2, 1)
    made.metadata.request_update()
    made.advance(200)
    for _ in range(50):
        sample = describe_producer(made.config, made.parts, made.now)
        assert [partition.wait for partition in sample.partitions] == ["order"]
    assert errors == []


def test_batches_of_an_idempotent_producer_come_back_in_their_order(core: Make) -> None:
    made, errors = core(IDEMPOTENT)
    made.append(b"warm")
    made.run()
    made.answer(made.requests[0], made.store(made.requests[0]))
    batches = [made.append(b"%d" % number) for number in range(3)]
    for _ in batches:
        made.run()
    assert len(made.requests) == 3
    made.answer(made.requests[0], produced({0: (REFUSED, -1)}))
    for _ in range(2):
        made.answer(made.requests[0], made.store(made.requests[0]))
    assert not any(batch.done for batch in batches)
    for _ in batches:
        made.advance(200)
        [request] = made.requests
        made.answer(request, made.store(request))
    assert made.stored[0].values == [b"warm", b"0", b"1", b"2"]
    assert all(batch.done for batch in batches)
    assert errors == []


def test_a_batch_that_expires_in_flight_has_its_end_and_its_place(core: Make) -> None:
    made, errors = core(
        ONE | {"delivery.timeout.ms": 1_000, "request.timeout.ms": 900, "linger.ms": 0}
    )
    made.append(b"a")
    made.run()
    made.requests.clear()  # no answer comes; the time of the request is over before
    made.advance(1_100)
    late = made.append(b"b")
    for _ in range(4):
        made.advance(200)
    [request] = made.requests
    made.answer(request, made.store(request))
    assert late.done
    assert errors == []


def test_a_learner_that_gives_up_loses_records(core: Make) -> None:
    made, errors = core(ONE, 'return "again" if retriable else "failed"', 'return "failed"')
    batch = made.append(b"a")
    made.run()
    made.answer(made.requests[0], produced({0: (REFUSED, -1)}))
    assert batch.outcome is not None
    assert batch.outcome.error is not None
    assert errors == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('return "again" if retriable else "failed"', 'return "done"'),
        ('return "again" if retriable else "failed"', "return 1"),
        ("        return words", "        return []"),
        ("        return words", "        return None"),
        ("        return words", "        return 1 / 0"),
        ("or not self.in_flight[partition]", "or 1"),
        ("        self.requests[broker] += 1", "        raise KeyError(broker)"),
    ],
)
def test_ours_goes_on_after_impossible_answers(core: Make, old: str, new: str) -> None:
    made, errors = core(ONE, old, new, brokers=(1, 2))
    made.append(b"a")
    made.run()
    made.append(b"b")
    made.run()
    made.answer(made.requests[0], produced({0: (REFUSED, -1)}))
    for _ in range(2):
        made.advance(200)
        [request] = made.requests
        made.answer(request, made.store(request))
    assert made.stored[0].values == [b"a", b"b"]
    assert len(errors) == 1


def test_ours_mutes_what_is_in_flight_when_it_goes_on(core: Make) -> None:
    made, errors = core(
        ONE,
        "or not self.in_flight[partition]",
        "or len(self.endless[partition]) * 2",
        brokers=(1, 2),
    )
    made.append(b"a")
    made.run()
    if not made.requests:  # the first answer was impossible already
        made.run()
    made.append(b"b")
    made.leaders[0] = (2, 1)
    made.metadata.request_update()
    made.advance(200)
    assert [request.node for request in made.requests] == [1]
    assert len(errors) == 1


def test_without_answers_ours_decides(core: Make) -> None:
    made, errors = core({"acks": "0"})
    batch = made.append(b"a")
    made.run()
    assert batch.done
    assert errors == []
