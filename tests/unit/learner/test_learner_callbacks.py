"""A learner's Callbacks in a live producer: its answers are carried out. Our own code calls the
callbacks that it leaves out.
"""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.clients.producer import producer_core
from kafka_edu.clients.producer.producer_batch import ProducerBatch, RecordMetadata, Thunk
from kafka_edu.clients.producer.record_accumulator import RecordAccumulator
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.learner import learner_callbacks
from kafka_edu.learner.seams import SEAMS, LearnerError
from tests.unit.clients.producer.parts import Core, produced

from .conftest import Load

REBASED = "(place - first, record)"
POPPED = "return self.waiting.pop(batch, [])"


class Sending:
    """A producer that uses a learner's Callbacks, and a list of the callbacks that were called."""

    def __init__(self, errors: list[LearnerError]) -> None:
        self.core = Core({"linger.ms": 1_000, "retry.backoff.ms": 100})
        self.errors = errors
        self.called: list[tuple[str, int | str]] = []

    def right(self, values: str) -> list[tuple[str, int]]:
        """Return (value, offset in the broker's log) of these records."""
        stored = self.core.stored[0].values
        return [(value, stored.index(value.encode())) for value in values]

    def send(self, values: str) -> ProducerBatch:
        """Send one batch with a record for each letter. A capital letter has a callback."""
        for place, value in enumerate(values):
            batch = self.core.append(value.encode())
            if value.isupper():
                batch.thunks.append(Thunk(self._note(value), place, 5, -1, 1))
        self.core.accumulator.flushing = True
        self.core.run()
        return batch

    def _note(self, value: str) -> Callable[[RecordMetadata | None, KafkaException | None], None]:
        def note(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
            assert (metadata is None) == (error is not None)
            end = error.error.name if error is not None else metadata.offset if metadata else -1
            self.called.append((value, end))

        return note

    def answer(self, largest: int) -> None:
        """Store the batches with at most `largest` records, and refuse the others as too large."""
        core = self.core
        while core.pool.available != core.pool.total:
            for request in list(core.requests):
                [(_, _, header)] = core.batches(request)
                too_large = produced({0: (Errors.MESSAGE_TOO_LARGE, -1)})
                small = header.records_count <= largest
                core.answer(request, core.store(request) if small else too_large)
            core.advance(100)


Make = Callable[..., Sending]


@pytest.fixture
def sending(load: Load, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Return a function that makes a producer with the reference solution. An edit may change the
    solution.
    """

    def make(old: str = "", new: str = "") -> Sending:
        text = find_exercise("12-4").solution.read_text(encoding="utf-8")
        assert old in text
        code, errors = load("12-4", text.replace(old, new) if old else text)
        monkeypatch.setattr(producer_core, "RecordAccumulator", learner_callbacks.adapt(code))
        return Sending(errors)

    return make


def test_the_seam_is_where_the_producer_looks() -> None:
    assert SEAMS["12-4"].module == producer_core.__name__
    assert vars(producer_core)[SEAMS["12-4"].name] is RecordAccumulator


@pytest.mark.parametrize("largest", [8, 4, 2, 1])
def test_the_reference_calls_what_ours_calls(sending: Make, largest: int) -> None:
    made = sending()
    made.send("AbCDEfGH")
    made.answer(largest)
    assert sorted(made.called) == made.right("ACDEGH")
    assert made.errors == []


def test_a_batch_that_is_sent_again_has_one_end(sending: Make) -> None:
    made = sending()
    batch = made.send("AB")
    core = made.core
    core.answer(core.requests[0], produced({0: (Errors.NOT_ENOUGH_REPLICAS, -1)}))
    assert made.called == []
    core.advance(100)
    core.answer(core.requests[0], core.store(core.requests[0]))
    assert made.called == [("A", 0), ("B", 1)]
    assert batch.attempts == 1


def test_a_batch_that_fails_or_was_never_sent_has_its_callbacks(sending: Make) -> None:
    made = sending()
    made.send("AB")
    core = made.core
    core.accumulator.flushing = False
    batch = core.append(b"C")
    batch.thunks.append(Thunk(made._note("C"), 0, 5, -1, 1))
    core.sender.abort(core.now)
    assert [value for value, _ in made.called] == ["A", "B", "C"]
    assert made.errors == []


def test_a_wrong_answer_is_carried_out(sending: Make) -> None:
    lost = sending(REBASED, "(place, record)")
    lost.send("ABCDEFGH")
    lost.answer(2)
    assert {value for value, _ in lost.called} < set("ABCDEFGH")
    twice = sending(POPPED, "return 2 * self.waiting.pop(batch, [])")
    twice.send("AB")
    twice.answer(2)
    assert twice.called == [("A", 0), ("B", 1)] * 2
    assert lost.errors == twice.errors == []


def test_every_end_frees_the_callbacks(sending: Make) -> None:
    made = sending(POPPED, "return []")
    for _ in range(5):
        made.send("ABCDEFGH")
        made.answer(2)
    assert made.called == []
    records = made.core.accumulator
    assert isinstance(records, learner_callbacks.CallbackAccumulator)
    assert not records._thunks
    assert not records._known_records


@pytest.mark.parametrize(
    "answer", ["None", "[(0, 99)]", "[(-1, 1)]", "[1]", "[(0, 1, 2)]", "[('a', 1)]", "1 / 0"]
)
def test_an_impossible_answer_is_an_error_and_ours_call(sending: Make, answer: str) -> None:
    made = sending(POPPED, f"return {answer}")
    made.send("AbCD")
    made.answer(2)
    assert sorted(made.called) == made.right("ACD")
    assert len(made.errors) == 1
    made.send("EF")
    made.answer(1)
    assert made.called[-2:] == [("E", 4), ("F", 5)]
    assert len(made.errors) == 1


def test_ours_go_on_when_the_learner_fails_in_a_division(sending: Make) -> None:
    made = sending("        first = 0", "        first = parts[9][0]")
    made.send("ABCD")
    made.answer(1)
    assert sorted(made.called) == made.right("ABCD")
    assert len(made.errors) == 1
