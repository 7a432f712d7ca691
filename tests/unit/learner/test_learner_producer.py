"""Learners' parts of a producer at their seams: the answers are carried out, ours answer where they
fail.
"""

import random
from typing import Any

from exercises.runner.manifest import find_exercise
from kafka_edu.clients.metadata import PartitionInfo, TopicInfo
from kafka_edu.clients.producer import partitioners
from kafka_edu.clients.producer import producer as producer_module
from kafka_edu.common.murmur2 import partition_of_key
from kafka_edu.learner import learner_partitioner
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS

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
