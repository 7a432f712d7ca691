"""Public tests of exercise 01-3, run by `kafka-edu lab check 01-3`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from random import Random

import pytest

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.messages.fetch import FetchResponse

from ...runner.mismatch import Mismatch, Words
from ..hexadecimal import point
from .material import (
    FIRST_WITH_SESSIONS,
    VERSIONS,
    Found,
    asked,
    frame_of,
    response_of,
    right_reading,
    run,
)

ASKED_FOR = Words("(number of the response, version, name of a field, session id)")
SIZES = {"error_code": 2, "size": 4, "correlation_id": 4, "throttle_time_ms": 4, "session_id": 4}


class Diagnosis:
    """The learner's answer to the questions, and the right answer."""

    def __init__(self, learner: Learner, material: int) -> None:
        self.exchanges, self.right = run(material)
        self.came = learner.make().call("diagnosis")

    @property
    def found(self) -> Found:
        """The learner's four findings. Raises Mismatch if a finding does not have the right
        type.
        """
        match self.came:
            case (int(number), int(version), str(name), int(session_id)):
                return Found(number, version, name, session_id)
        raise Mismatch("diagnosis()", ASKED_FOR, self.came, "four things are asked for")

    def is_right(self) -> bool:
        return self.came == tuple(self.right)


@pytest.fixture
def diagnosis(learner: Learner, material: int) -> Diagnosis:
    return Diagnosis(learner, material)


def test_number(diagnosis: Diagnosis) -> None:
    """diagnosis names the first response that is read wrongly"""
    number, right = diagnosis.found.number, diagnosis.right.number
    if number == right:
        return
    why = f"frames.txt has the responses 1 to {len(diagnosis.exchanges)}"
    if 1 <= number <= len(diagnosis.exchanges):
        one = diagnosis.exchanges[number - 1]
        why = f"in {number}, {asked(one).replace('A client', 'a client')}"
        if number < right:
            why += ", and every field of the response is read as the broker sent it"
            failed = any(
                result.error_code
                for topic in one.response.responses
                for result in topic.partition_responses
            )
            why += ", also the error of the partition" if failed else ""
        else:
            why += "; an earlier response was already read wrongly"
    raise Mismatch("diagnosis()", ASKED_FOR, number, why, read="frames.txt, one after the other")


def test_version(diagnosis: Diagnosis) -> None:
    """diagnosis names the lowest version that is read wrongly"""
    version = diagnosis.found.version
    if version == diagnosis.right.version:
        return
    why = "Fetch has the versions 4 to 11 here"
    if version in VERSIONS and version < FIRST_WITH_SESSIONS:
        why = f"a response of version {version} has no field that can be read wrongly"
    elif version in VERSIONS:
        why = (
            f"a response of version {version} may be read wrongly, but so may a lower version. The"
            " tables say in which version each field was added"
        )
    raise Mismatch("diagnosis()", ASKED_FOR, version, why)


def test_field(diagnosis: Diagnosis) -> None:
    """diagnosis names the field that the decoder is the first to read wrongly"""
    name = diagnosis.found.field
    if name == diagnosis.right.field:
        return
    why = (
        "go through the bytes of that response. Which is the last byte that is read correctly?"
        " The protocol says which field follows: figure 6-6 of chapter 01, or `wire decode`"
    )
    raise Mismatch("diagnosis()", ASKED_FOR, name, why)


def test_session(diagnosis: Diagnosis) -> None:
    """diagnosis names the session id that the broker really gave"""
    session_id = diagnosis.found.session_id
    if session_id == diagnosis.right.session_id:
        return
    why = "it is an int32: four bytes of that response, big-endian"
    frame = diagnosis.exchanges[diagnosis.right.number - 1].frame
    if session_id == int.from_bytes(frame[12:16], "big", signed=True):
        why = "that is what the decoder reads, and it reads from the wrong place"
    raise Mismatch("diagnosis()", ASKED_FOR, session_id, why)


class Checked:
    """The learner's decoder. What it reads is compared with what the broker sent."""

    def __init__(self, learner: Learner, diagnosis: Diagnosis) -> None:
        self._made = learner.make()
        self._diagnosis = diagnosis

    def reads(self, response: FetchResponse, version: int, correlation_id: int = 7) -> None:
        """Call `decode` on a response. Raises Mismatch if a value is not the value that was sent.

        While the learner's diagnosis is wrong, the message names no field, because the field is a
        part of the right diagnosis.
        """
        frame = frame_of(response, version, correlation_id)
        came = self._made.call("decode", version, frame)
        expected = right_reading(response, version, correlation_id)
        asked_for = f"decode({version}, a response of {len(frame)} bytes)"
        if not isinstance(came, tuple) or not all(
            isinstance(pair, tuple) and len(pair) == 2 for pair in came
        ):
            raise Mismatch(
                asked_for,
                Words("a list of (name, value)"),
                came,
                "decode returned that at first; the mistake is not there",
            )
        pairs = [(str(name), value) for name, value in came]
        # The fields of the answer may be in any order; only their values count.
        got, wanted = dict(pairs), dict(expected)
        if got == wanted and len(pairs) == len(expected):
            return
        if not self._diagnosis.is_right():
            raise AssertionError(
                f"a response of version {version} is read wrongly; the other tests say what is"
                " missing in your diagnosis, and it says what to mend"
            )
        at = 0
        for name, value in expected:
            if got.get(name) != value or name not in got:
                inner = "[" in name
                raise Mismatch(
                    f"{asked_for}: {name}",
                    value,
                    got.get(name, Words("no such field")),
                    f"in version {version}, that is what the broker sent",
                    drawing=() if inner else point(frame, at, name),
                    read="the tables, and since which version a field is there",
                )
            at += SIZES.get(name, 0)
        raise Mismatch(
            asked_for,
            sorted(wanted),
            sorted(got),
            "there are fields that the response does not have",
        )


@pytest.fixture
def decoder(learner: Learner, diagnosis: Diagnosis) -> Checked:
    """The learner's decoder, with its readings compared."""
    return Checked(learner, diagnosis)


def test_without_session(decoder: Checked) -> None:
    """responses of every version without a session are read rightly"""
    random = Random(1)
    for version in VERSIONS:
        decoder.reads(response_of(random, partitions=2), version)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= FIRST_WITH_SESSIONS])
def test_in_session(decoder: Checked, version: int, seed: int) -> None:
    """responses of newer versions with a session are read rightly"""
    random = Random(seed)
    for session_id in (1, 70, 65_536, random.randint(1, 0x7FFF_FFFF)):
        response = response_of(random)
        response.session_id = session_id
        decoder.reads(response, version)
        decoder.reads(FetchResponse(session_id=session_id), version)


def test_errors(decoder: Checked) -> None:
    """responses that have an error code and no topics"""
    for error in (70, 71, 58, -1):
        decoder.reads(FetchResponse(error_code=error), 11)


def test_any(decoder: Checked, seed: int) -> None:
    """random responses"""
    random = Random(seed)
    for _ in range(40):
        version = random.choice(VERSIONS)
        response = response_of(random, partitions=random.randrange(3))
        if version >= FIRST_WITH_SESSIONS:
            response.session_id = random.randrange(1 << 31)
            response.error_code = random.choice((0, 0, 70))
        decoder.reads(response, version, random.randrange(1 << 31))
