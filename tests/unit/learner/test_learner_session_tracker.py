"""A learner's session tracker decides which sessions expire, and cannot break ZooKeeper."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.learner.learner_session_tracker import LearnerSessionTracker
from kafka_edu.learner.seams import LearnerError, parse
from kafka_edu.zk.embedded.session_tracker import SessionTracker

from .conftest import Load

RIGHT = find_exercise("05-2").solution.read_text(encoding="utf-8")
TICK_MS = 500
Serve = Callable[[str], tuple[LearnerSessionTracker, list[LearnerError]]]


@pytest.fixture
def serve(load: Load) -> Serve:
    def make(text: str) -> tuple[LearnerSessionTracker, list[LearnerError]]:
        code, errors = load("05-2", text)
        return LearnerSessionTracker(code, TICK_MS, 0), errors

    return make


def test_the_right_tracker_expires_what_ours_expires(serve: Serve) -> None:
    theirs, errors = serve(RIGHT)
    ours = SessionTracker(TICK_MS, 0)
    random, now_ms = Random(5), 0
    for number in range(200):
        now_ms += random.randint(0, 700)
        session = random.randint(1, 6)
        for tracker in (ours, theirs):
            if number % 7 == 0 and session in tracker.sessions:
                tracker.set_timeout(session, 9_000, now_ms)
            elif session in tracker.sessions:
                assert tracker.touch(session, now_ms)
            else:
                assert not tracker.touch(session, now_ms)
                tracker.add(session, 1_000 + 500 * session, now_ms)
        expired = ours.poll(now_ms)
        assert theirs.poll(now_ms) == expired
        for tracker in (ours, theirs):
            for one in expired:
                tracker.remove(one)
        assert theirs.sessions.keys() == ours.sessions.keys()
    assert errors == []


def test_a_wrong_but_possible_answer_is_carried_out(serve: Serve) -> None:
    tracker, errors = serve(RIGHT.replace("if bucket > self.bucket_of[session]:", "if False:"))
    tracker.add(1, 1_000, 0)
    for now_ms in range(0, 2_000, 250):
        tracker.touch(1, now_ms)
    assert tracker.poll(2_000) == [1], "it was heard all the time"
    assert errors == []


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("return expired", "return [99]", "not only live sessions"),
        ("return expired", "return 7", "answered 7, not only live sessions"),
        ("return expired", "return 1 / 0", "division by zero"),
    ],
)
def test_nonsense_is_the_learners_fault_and_ours_decides(
    serve: Serve, right: str, wrong: str, said: str
) -> None:
    tracker, errors = serve(RIGHT.replace(right, wrong))
    tracker.add(1, 1_000, 0)
    assert tracker.poll(1_500) == [1]
    [error] = errors
    assert said in error.message
    tracker.remove(1)
    tracker.add(2, 1_000, 2_000)
    assert tracker.poll(3_500) == [2], "from now on ours decides"
    assert len(errors) == 1


def test_wrong_words_about_a_session_are_noticed(serve: Serve) -> None:
    tracker, errors = serve(
        RIGHT.replace("if session not in self.timeouts:\n            return False", "pass")
    )
    tracker.add(1, 1_000, 0)
    assert tracker.touch(1, 100)
    assert not tracker.touch(2, 100)
    assert len(errors) == 1


def test_it_serves_in_zookeeper_and_in_no_broker(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no seam for exercise '05-2' in a broker"):
        parse(f"05-2={tmp_path}/x.py")
    with pytest.raises(ValueError, match="no seam for exercise '02-1' in a zookeeper"):
        parse(f"02-1={tmp_path}/x.py", "zookeeper")
