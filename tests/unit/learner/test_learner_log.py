"""Learners' parts of the log at their seams: the answers are carried out, ours answers where they
fail.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest

from exercises.ch09_log_storage.made_logs import (
    FOLDER,
    NOW_MS,
    append_at,
    empty_log,
    plain_batch,
    random_log,
)
from exercises.runner.manifest import find_exercise
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner import learner_look_up, learner_segment_rules
from kafka_edu.learner.learner_look_up import LearnerSegments, LookUpSteps, Place
from kafka_edu.learner.learner_segment_rules import LearnerLog
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError
from kafka_edu.log import log as log_module
from kafka_edu.log import log_loader
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_segments import LogSegments
from kafka_edu.sim.memory_file_system import MemoryFileSystem

from .conftest import Load

Made = tuple[LearnerSegments, list[LearnerError]]
Looks = Callable[[str, Log], Made]


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def answers(*operations: object) -> str:
    """A class that names these operations, the last one again and again."""
    return (
        f"class LookUp:\n    def __init__(self, *_):\n        self.left = {list(operations)!r}\n"
        "    def next(self, _):\n"
        "        return self.left.pop(0) if len(self.left) > 1 else self.left[0]\n"
    )


@pytest.fixture
def looks(load: Load) -> Looks:
    def go(text: str, log: Log) -> Made:
        code, errors = load("09-1", text)
        return LearnerSegments(code, list(log.segments)), errors

    return go


def cold(log: Log) -> Log:
    """The log, in which no segment remembers a position."""
    for segment in log.segments:
        segment._positions.clear()
    return log


def place_of(segments: LogSegments, offset: int, log: Log) -> tuple[int, int] | None:
    found = segments.read(offset, 1 << 20, log.log_end_offset, log.log_end_offset, True)
    if found is None:
        return None
    place = found[1].fetch_offset_metadata
    return place.segment_base_offset, place.relative_position_in_segment


def test_the_seam_is_where_a_log_looks() -> None:
    assert SEAMS["09-1"].module == log_module.__name__
    assert vars(log_module)[SEAMS["09-1"].name] is LogSegments


def test_the_reference_finds_what_ours_finds(looks: Looks) -> None:
    log = cold(random_log(Random(9), gaps=True))
    theirs, errors = looks(right("09-1"), log)
    for offset in range(0, log.log_end_offset, 7):
        assert place_of(theirs, offset, log) == place_of(log.segments, offset, log), offset
    assert errors == []
    assert theirs._code.calls > 50


def test_a_wrong_batch_is_what_the_reader_gets(looks: Looks) -> None:
    log = cold(random_log(Random(9)))
    theirs, errors = looks(answers(("batch", 1, 0), ("found", 1, 0)), log)
    assert place_of(theirs, 0, log) == (log.segments[1].base_offset, 0)
    assert errors == []
    nothing, errors = looks(answers(("end",)), log)
    assert place_of(nothing, 0, log) is None
    assert errors == []


def test_what_a_segment_remembers_is_not_asked_for(looks: Looks) -> None:
    log = random_log(Random(9))
    theirs, _ = looks(right("09-1"), log)
    assert place_of(theirs, 0, log) == (0, 0)
    assert theirs._code.calls == 0


@pytest.mark.parametrize(
    ("operation", "says"),
    [
        (("base", 99), "the segments are 0 to"),
        (("base", -1), "the segments are 0 to"),
        (("entry", 0, 99_999), "entries, from 0 on"),
        (("batch", 0, 5), "nothing says that a batch begins at byte 5"),
        (("found", 0, 0), "it has not looked at a batch at byte 0"),
        (("look",), "the operations are"),
        (3, "the operations are"),
        (("base", 0), "did not end after"),
    ],
)
def test_an_operation_that_is_not_possible_is_an_error_and_ours_finds(
    looks: Looks, operation: object, says: str
) -> None:
    log = cold(random_log(Random(9)))
    theirs, errors = looks(answers(operation), log)
    assert place_of(theirs, 0, log) == (0, 0)
    assert says in errors[0].message


def test_after_three_failures_ours_stays(looks: Looks) -> None:
    log = cold(random_log(Random(9)))
    theirs, errors = looks(answers(("look",)), log)
    for offset in range(FAILURES_ALLOWED + 2):
        assert place_of(theirs, offset, log) == place_of(log.segments, offset, log)
    assert len(errors) == FAILURES_ALLOWED


def test_only_logs_of_the_labs_are_asked_for(load: Load) -> None:
    code, _ = load("09-1", right("09-1"))
    adapt: Callable[[LearnerCode], Callable[[Sequence[Any]], LogSegments]] = learner_look_up.adapt
    log = empty_log()
    assert type(adapt(code)(list(log.segments))) is LogSegments
    for segment in log.segments:
        segment.directory = "/d/lab-091-0"
    assert type(adapt(code)(list(log.segments))) is LearnerSegments


def test_steps_count_looks() -> None:
    log = random_log(Random(9))
    steps = LookUpSteps(log.segments)
    for operation in (("base", 0), ("entries", 0), ("entry", 0, 0), ("batch", 0, 0)):
        steps.do(operation)
    assert steps.looks == {"base": 1, "entries": 1, "entry": 1, "batch": 1}
    steps.do(("found", 0, 0))
    assert (steps.ended, steps.found) == (True, Place(0, 0))


LAB = TopicPartition("lab-092", 0)
Rules = Callable[..., tuple[Log, list[LearnerError]]]


def rules(roll: str = "None", take: str = "[]") -> str:
    """A class with these answers."""
    return (
        f"class SegmentRules:\n    def roll(self, *_):\n        return {roll}\n"
        f"    def take(self, *_):\n        return {take}\n"
    )


@pytest.fixture
def ruled(load: Load, monkeypatch: pytest.MonkeyPatch) -> Rules:
    def go(text: str, **config: str) -> tuple[Log, list[LearnerError]]:
        code, errors = load("09-2", text)
        monkeypatch.setattr(log_loader, "Log", learner_segment_rules.adapt(code))
        log, _ = log_loader.load_log(
            LAB,
            "/d",
            FOLDER,
            MemoryFileSystem(),
            LogConfig.parse({key.replace("_", "."): value for key, value in config.items()}),
            now_ms=NOW_MS,
            max_producer_id_expiration_ms=1_000,
        )
        return log, errors

    return go


def filled(log: Log, batches: int = 30) -> Log:
    for number in range(batches):
        append_at(log, 2 * number, plain_batch(2, 30, NOW_MS + number))
    return log


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_the_seam_of_the_rules_is_where_logs_are_opened() -> None:
    assert SEAMS["09-2"].module == log_loader.__name__
    assert vars(log_loader)[SEAMS["09-2"].name] is Log


def test_the_reference_rolls_and_deletes_as_ours_does(ruled: Rules) -> None:
    config = {"segment_bytes": "700", "retention_bytes": "1000", "retention_ms": "86400000"}
    log, errors = ruled(right("09-2"), **config)
    ours = filled(empty_log(**config))
    assert bases(filled(log)) == bases(ours)
    assert log.delete_old_segments(NOW_MS) == ours.delete_old_segments(NOW_MS) > 0
    assert bases(log) == bases(ours)
    for late_ms in (86_400_001 + 20, 86_500_000):
        log.delete_old_segments(NOW_MS + late_ms)
        ours.delete_old_segments(NOW_MS + late_ms)
        assert bases(log) == bases(ours)
    assert errors == []
    assert isinstance(log, LearnerLog)


def test_wrong_rules_are_carried_out(ruled: Rules) -> None:
    log, errors = ruled(rules(take='["size", "time"]'), segment_bytes="700")
    assert bases(filled(log)) == [0], "it never rolls"
    log, errors = ruled(rules("'time'", '["size", "time"]'))
    assert len(bases(filled(log, 5))) == 5
    assert log.delete_old_segments(NOW_MS) == 2
    assert errors == []


@pytest.mark.parametrize("answer", ["3", "'often'", "['size']", "1 / 0"])
def test_a_reason_that_is_none_is_an_error_and_ours_rolls(ruled: Rules, answer: str) -> None:
    log, errors = ruled(rules(answer), segment_bytes="700")
    assert bases(filled(log)) == bases(filled(empty_log(segment_bytes="700")))
    assert len(errors) == FAILURES_ALLOWED


def test_a_batch_that_must_not_come_makes_ours_roll(ruled: Rules) -> None:
    log, errors = ruled(rules(), segment_index_bytes="24", index_interval_bytes="1")
    filled(log, 6)
    assert len(bases(log)) > 1
    assert "expected one of" in errors[0].message


@pytest.mark.parametrize(
    "answer",
    ["None", "['never']", "['size'] * 99", "'size'", "[['size']]", "[{'size': 1}]", "['size'] * 3"],
)
def test_what_cannot_go_is_an_error_and_ours_takes(ruled: Rules, answer: str) -> None:
    log, errors = ruled(rules("'size'", answer), retention_bytes="0")
    filled(log, 4)
    log.update_high_watermark(3)
    assert log.delete_old_segments(NOW_MS) == 1, "segment 0 alone is committed"
    assert len(errors) == 1


def test_other_topics_keep_our_rules(load: Load) -> None:
    code, _ = load("09-2", rules())
    parts = vars(empty_log())
    assert "_code" not in parts
    opened = learner_segment_rules.adapt(code)
    log = empty_log()
    made = opened(
        TopicPartition("web", 0),
        "/d",
        FOLDER,
        MemoryFileSystem(),
        log.config,
        list(log.segments),
        0,
        0,
        0,
        log.leader_epoch_cache,
        log.producer_state_manager,
    )
    assert type(made) is Log
