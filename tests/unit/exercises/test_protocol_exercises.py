"""The exercises of chapter 01: their drawings of bytes, their rules, and copies of our code that
fail.
"""

from pathlib import Path
from random import Random

import pytest

from exercises.ch01_protocol.batches import (
    Settings,
    fields_of,
    first_wrong,
    parts_of_record,
    right_batch,
)
from exercises.ch01_protocol.ex03_wrong_version.material import make, right_reading
from exercises.ch01_protocol.ex03_wrong_version.material import run as run_of_versions
from exercises.ch01_protocol.ex03_wrong_version.starter import FetchDecoder
from exercises.ch01_protocol.ex04_predict_sizes.material import parts_of, plan, right_answers
from exercises.ch01_protocol.hexadecimal import compare, point
from exercises.ch01_protocol.varints import BITS, Rules
from exercises.ch01_protocol.versions import (
    KAFKA_20,
    KAFKA_28,
    Broker,
    Known,
    draw,
    highest_common,
    right_course,
)
from exercises.runner.check import check_public
from exercises.runner.manifest import ROOT, find_exercise
from exercises.runner.public_tests import Grading, run_public_tests
from exercises.wrong_answers import wrong_answer
from kafka_edu.learner.learner import Learner
from kafka_edu.record.record import Record

SHIPPED = ROOT.parent / "kafka_edu"


def failures(file: Path, exercise_id: str) -> dict[str, str]:
    verdict = check_public(find_exercise(exercise_id), file, 1)
    assert not verdict.objection
    return {outcome.test: outcome.message for outcome in verdict.public if not outcome.passed}


def test_bytes_go_to_a_learners_code_and_come_back(tmp_path: Path) -> None:
    file = tmp_path / "code.py"
    file.write_text(
        "class Code:\n"
        "    def turned(self, data): return [type(data).__name__, data[::-1], bytearray(b'a')]\n"
        "    def looks_like_it(self): return {'bytes': 'no'}\n"
    )
    learner = Learner(file, "Code")
    try:
        made = learner.make()
        assert made.call("turned", b"\xac\x02") == ("bytes", b"\x02\xac", b"a")
        assert made.call("looks_like_it") == {"bytes": "no"}
        with pytest.raises(Exception, match=r"turned1.<00 00 .* 20 bytes>"):
            made.call("turned1", bytes(20))
    finally:
        learner.close()


def test_the_first_wrong_byte_has_a_caret() -> None:
    assert compare(bytes.fromhex("ac02"), bytes.fromhex("ac82 01")) == (
        "           0  1  2",
        "expected  ac 02",
        "came      ac 82 01",
        "             ^^ byte 1 is the first wrong one",
    )
    expected = bytes(40)
    _, _, came, caret = compare(expected, expected[:20], "it ends here")
    assert came == "came      00 00 00 00"
    assert caret.index("^") == len(came) + 1
    assert point(b"", 0, "it ends")[1:] == ("bytes     (no byte here)", " " * 10 + "^^ it ends")


@pytest.mark.parametrize("bits", BITS)
def test_the_rules_read_what_the_broker_writes(bits: int) -> None:
    rules, random = Rules(bits), Random(bits)
    for _ in range(200):
        number = random.randrange(1 << random.randint(1, bits - 1)) * random.choice((1, -1))
        written = rules.write(number)
        assert rules.read(b"." + written, 1) == ("value", number, 1 + len(written))
        assert rules.read(written[:-1], 0) == ("more", 1)


def test_a_copy_of_the_shipped_varints_fails(tmp_path: Path) -> None:
    """The shipped varints import modules that the learner's process cannot import. Without the
    imports, they do not handle input that is cut off.
    """
    copy = tmp_path / "varints.py"
    shipped = (SHIPPED / "record" / "record.py").read_text(encoding="utf-8")
    varints = (
        "class Varints:\n    def __init__(self, bits): pass\n"
        "    def write(self, number):\n        out = bytearray(); append_varint(out, number)\n"
        "        return out\n"
        "    def read(self, data, at): return read_varint(data, at)\n    read_bytes = read\n"
    )
    alone = [line for line in shipped.splitlines() if not line.startswith("from kafka_edu")]
    copy.write_text(
        "class KafkaException(Exception): pass\n" + "\n".join(alone) + "\n" + varints,
        encoding="utf-8",
    )
    failed = failures(copy, "01-1")
    assert {"test_read", "test_cut", "test_bytes", "test_pieces"} <= failed.keys()
    assert "came (0, 1)" in failed["test_read"] or "answered (0, 1)" in failed["test_read"]


def test_a_batch_has_a_name_for_each_byte() -> None:
    headers = (("name", None), ("other", b"value"))
    records = [Record(0, 7, None, b"hello", headers), Record(1, 9, b"", b"x" * 99)]
    batch = right_batch(Settings(), records)
    fields = fields_of(batch)
    assert [one.begin for one in fields] == [0] + [one.end for one in fields[:-1]]
    assert fields[-1] == ("record 1", len(batch) - fields[-1].end + fields[-1].begin, len(batch))
    for record in fields[13:]:
        parts = parts_of_record(batch, record)
        assert (parts[0].begin, parts[-1].end) == (record.begin, record.end)
        assert [one.begin for one in parts[1:]] == [one.end for one in parts[:-1]]


def test_the_first_wrong_field_is_not_the_checksum_that_follows_from_it() -> None:
    records = [Record(0, 7, b"k", b"hello")]
    batch = right_batch(Settings(), records)
    other = right_batch(Settings(), [Record(0, 7, b"k", b"hallo")])
    assert first_wrong(batch, other).name == "record 0: value"
    assert first_wrong(batch, batch[:17] + bytes(4) + batch[21:]).name == "crc"
    assert first_wrong(batch, batch + b".") == ("behind the last record", 74, 75)
    assert first_wrong(batch, b"").name == "base_offset"


def test_a_copy_of_the_shipped_batch_fails(tmp_path: Path) -> None:
    """`build_batch` takes all records at once, and answers no map."""
    file = tmp_path / "record_batch.py"
    file.write_text(
        "class BatchBuilder:\n    def __init__(self, *settings): self.records = []\n"
        "    def append(self, *record): self.records.append(record)\n"
        f"    def close(self): return {right_batch(Settings(), [Record(0, 0, None, b'v')])!r}\n"
    )
    failed = failures(file, "01-2")
    assert len(failed) == 11
    assert "expected 13, your code answered None" in failed["test_one_record"]


@pytest.mark.parametrize("seed", range(20))
def test_in_every_run_one_version_is_the_lowest_that_is_read_wrongly(seed: int) -> None:
    exchanges, found = run_of_versions(seed)
    wrong = {
        number: one.version
        for number, one in enumerate(exchanges, 1)
        if dict(FetchDecoder().decode(one.version, one.frame))
        != dict(right_reading(one.response, one.version, one.correlation_id))
    }
    assert min(wrong) == found.number
    assert wrong[found.number] > found.version, "the first one alone does not say which version"
    assert min(wrong.values()) == found.version
    assert exchanges[found.number - 1].response.session_id == found.session_id
    assert any(
        one.version == found.version and number not in wrong
        for number, one in enumerate(exchanges, 1)
    ), "not all of that version are wrong"
    failed = [
        number
        for number, one in enumerate(exchanges, 1)
        for topic in one.response.responses
        if topic.partition_responses[0].error_code
    ]
    assert [number < found.number for number in failed] == [True], "a real error comes first"


def test_while_the_diagnosis_is_wrong_no_field_is_named(tmp_path: Path) -> None:
    """The reference's diagnosis is that of seed 0."""
    exercise = find_exercise("01-3")
    seed = next(seed for seed in range(1, 50) if run_of_versions(seed)[1] != run_of_versions(0)[1])
    not_mended = wrong_answer(exercise, "not_mended").write(tmp_path)
    failed = {
        outcome.test: outcome.message
        for outcome in check_public(exercise, not_mended, 1, material=seed).public
        if not outcome.passed
    }
    assert {"test_session", "test_in_session[7]", "test_any"} <= failed.keys()
    assert "is read wrongly; the other tests say" in failed["test_in_session[7]"]
    assert not any("error_code" in message.partition(": ")[2] for message in failed.values())
    assert f"{run_of_versions(seed)[1].session_id}" not in "".join(failed.values())
    assert make(seed)["frames.txt"] != make(0)["frames.txt"]


@pytest.mark.parametrize("seed", range(30))
def test_the_parts_of_a_prediction_add_up_to_the_bytes(seed: int) -> None:
    sums = {name: sum(part.size for part in parts) for name, parts in parts_of(plan(seed)).items()}
    assert sums == right_answers(seed)


def test_what_a_client_asks_brokers_of_all_ages() -> None:
    known: Known = {18: (0, 1, 2, 3, 7), 1: (4, 5, 6, 10)}
    assert right_course(known, Broker(KAFKA_28)) == ([7, 3], True)
    assert right_course(known, Broker(KAFKA_20, tells=False)) == ([7, 0], True)
    assert right_course({18: (3,)}, Broker(KAFKA_20)) == ([3], False)
    assert right_course({18: (0,)}, Broker(KAFKA_20, refuses=True)) == ([0], False)
    assert highest_common(known, KAFKA_20, 1) == 6
    assert draw({1: (0, 2)}, {1: (1, 3)}, 1, 2) == (
        "version   0  1  2  3",
        "client    x  ·  x  ·",
        "broker    ·  x  x  x",
        "                ^ your answer",
    )


@pytest.mark.parametrize("exercise_id", ["01-1", "01-2", "01-3", "01-4", "01-5", "01-6"])
def test_the_reference_gets_all_points(exercise_id: str) -> None:
    """A grade also runs the tests on other seeds, and the hidden tests."""
    exercise = find_exercise(exercise_id)
    run = run_public_tests(exercise, exercise.solution, 3, grading=Grading((11, 12), None))
    assert [outcome.message for outcome in run.outcomes if not outcome.passed] == []
