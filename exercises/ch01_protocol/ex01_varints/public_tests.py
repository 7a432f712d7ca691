"""Public tests of exercise 01-1, run by `kafka-edu lab check 01-1`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable
from random import Random

import pytest

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch
from ..hexadecimal import compare, point
from ..varints import BITS, Rules


class Checked:
    """The learner's Varints. Each answer is compared with the answer that the rules give."""

    def __init__(self, made: LearnerObject, bits: int) -> None:
        self._made = made
        self._rules = Rules(bits)

    def writes(self, number: int) -> bytes:
        """Call `write`, and return the right bytes. Raises Mismatch if `write` returns wrong
        bytes.
        """
        came, expected = self._made.call("write", number), self._rules.write(number)
        if came != expected:
            raise Mismatch(
                f"Varints({self._rules.bits}).write({number})",
                _bytes(expected),
                _bytes(came),
                self._rules.why_written(number, came),
                drawing=compare(expected, came) if isinstance(came, bytes) else (),
            )
        return expected

    def reads(self, data: bytes, at: int = 0) -> None:
        """Call `read`. Raises Mismatch if the answer is wrong."""
        why = self._rules.why_read(data, at)
        self._agrees("read", data, at, self._rules.read(data, at), why)

    def reads_bytes(self, data: bytes, at: int = 0) -> None:
        """Call `read_bytes`. Raises Mismatch if the answer is wrong."""
        why = self._rules.why_read_bytes(data, at)
        self._agrees("read_bytes", data, at, self._rules.read_bytes(data, at), why)

    def _agrees(
        self, method: str, data: bytes, at: int, expected: tuple[object, ...], why: str
    ) -> None:
        came = self._made.call(method, data, at)
        if came == expected:
            return
        note = f"{method} begins here"
        place = at
        match expected:
            case ("more", int(missing)):
                note, place = f"the data ends here, {missing} too early", len(data)
            case ("wrong", int(where)):
                note, place = f"byte {where} cannot be right", where
            case (_, _, int(end)):
                note, place = f"the next thing begins here, at {end}", end
        raise Mismatch(
            f"Varints({self._rules.bits}).{method}({_bytes(data)}, {at})",
            tuple(map(_bytes, expected)),
            tuple(map(_bytes, came)) if isinstance(came, tuple) else came,
            why,
            drawing=point(data, place, note),
        )


class _Hexadecimal(str):
    """A text with bytes in hexadecimal, as error messages show them."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _bytes(value: object) -> object:
    return _Hexadecimal(f"<{value.hex(' ')}>") if isinstance(value, bytes) else value


MakeVarints = Callable[[int], Checked]


@pytest.fixture
def varints(learner: Learner) -> MakeVarints:
    """A function that makes the learner's Varints for 32 or 64 bits. Its answers are checked."""
    return lambda bits: Checked(learner.make(bits), bits)


def test_write(varints: MakeVarints) -> None:
    """0, 1, 63, 64, 150 and 300 are written as README.md says"""
    for number in (0, 1, 63, 64, 150, 300):
        varints(32).writes(number)


def test_write_negative(varints: MakeVarints) -> None:
    """small negative numbers take few bytes"""
    for number in (-1, -2, -64, -65, -300):
        varints(32).writes(number)


def test_write_limits(varints: MakeVarints) -> None:
    """the largest and the smallest number are written rightly"""
    for bits in BITS:
        for number in (2 ** (bits - 1) - 1, -(2 ** (bits - 1))):
            varints(bits).writes(number)


def test_read(varints: MakeVarints) -> None:
    """read returns the number that was written"""
    for number in (0, -1, 1, 63, 64, 150, -300):
        varints(32).reads(Rules(32).write(number))
    for bits in BITS:
        for number in (2 ** (bits - 1) - 1, -(2 ** (bits - 1))):
            varints(bits).reads(Rules(bits).write(number))


def test_read_in_the_middle(varints: MakeVarints) -> None:
    """read finds a number in the middle of the data"""
    data = bytes.fromhex("05 ac02 ac02 01")
    for at in (0, 1, 3, 5):
        varints(32).reads(data, at)


def test_cut(varints: MakeVarints) -> None:
    """the data ends inside a number, or before it"""
    for bits in BITS:
        whole = bytes([7]) + Rules(bits).write(-(2 ** (bits - 1)))
        for end in range(1, len(whole)):
            varints(bits).reads(whole[:end], 1)
    varints(32).reads(b"")


def test_longer_than_needed(varints: MakeVarints) -> None:
    """a number with more bytes than needed is right too"""
    for hexadecimal in ("80 00", "81 80 00", "ac 82 80 80 00"):
        varints(32).reads(bytes.fromhex(hexadecimal))


@pytest.mark.parametrize("bits", BITS)
def test_too_large(varints: MakeVarints, bits: int) -> None:
    """a last byte with more bits than the number has room for"""
    rules = Rules(bits)
    for last in (rules.last_byte_limit - 1, rules.last_byte_limit, 0x7F, 0x80, 0xFF):
        varints(bits).reads(bytes([9] + [0xFF] * (rules.most_bytes - 1) + [last, 1]), 1)


def test_bytes(varints: MakeVarints) -> None:
    """a length and its bytes, null, and no bytes"""
    data = bytes.fromhex("0a 68656c6c6f 01 00 02 6b")
    for at in (0, 6, 7, 8):
        varints(32).reads_bytes(data, at)


def test_bytes_cut(varints: MakeVarints) -> None:
    """the data ends too early: the answer says how many bytes are missing"""
    data = bytes.fromhex("01 0a 68656c6c6f")
    for end in range(1, len(data) + 1):
        varints(32).reads_bytes(data[:end], 1)
    varints(32).reads_bytes(bytes.fromhex("d0 0f 61 62"))
    varints(32).reads_bytes(bytes.fromhex("d0"))


def test_bytes_with_a_wrong_length(varints: MakeVarints) -> None:
    """a length below -1, and a length that is not a right number"""
    varints(32).reads_bytes(bytes.fromhex("02 6b 03 61 61 61"), 2)
    varints(32).reads_bytes(bytes.fromhex("01 ff ff ff ff 7f"), 1)


def test_pieces(varints: MakeVarints, seed: int) -> None:
    """numbers and bytes that arrive in random pieces"""
    random = Random(seed)
    for bits in BITS:
        checked, rules = varints(bits), Rules(bits)
        for _ in range(40):
            size = random.randint(1, bits - 1)
            number = random.randrange(2**size) - random.randrange(2**size)
            content = random.randbytes(random.choice((0, 3, 63, 64, random.randrange(200))))
            front = random.randbytes(random.randrange(4))
            written = checked.writes(number)
            field = rules.write(len(content)) + content
            whole = front + written + field
            for end in sorted({random.randint(len(front), len(whole)) for _ in range(3)}):
                checked.reads(whole[:end], len(front))
                if end >= len(front) + len(written):
                    checked.reads_bytes(whole[:end], len(front) + len(written))
            checked.reads_bytes(whole, len(front) + len(written))


def test_any_bytes(varints: MakeVarints, seed: int) -> None:
    """random bytes, which need not be right"""
    random = Random(seed)
    for bits in BITS:
        checked = varints(bits)
        for _ in range(60):
            many = bytes(random.randrange(256) | 0x80 for _ in range(random.randrange(12)))
            data = many + random.randbytes(random.randrange(4))
            checked.reads(data)
            checked.reads_bytes(data, random.randrange(len(data) + 1))
