"""Public tests of exercise 09-5. `kafka-edu lab check 09-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..compaction_rules import RightCompaction, Row

MANY = 1_000


def row(offset: int, key: str | None, *, value: bool = True) -> Row:
    return offset, None if key is None else key.encode(), value


def log_of(keys: str) -> list[Row]:
    """Return a record for each character of `keys`, from offset 0 on. A letter is the record's key.
    A capital letter makes a tombstone. A dot makes a record without a key.
    """
    return [
        row(offset, None if key == "." else key.lower(), value=not key.isupper())
        for offset, key in enumerate(keys)
    ]


class Compared:
    """One pass by the learner's object. Each answer is compared with the right answer."""

    def __init__(self, learner: Learner, first_dirty: int, most: int = MANY) -> None:
        self._made = learner.make(first_dirty, most)
        self._right = RightCompaction(first_dirty, most)
        self._begun = f"Compaction({first_dirty}, {most})"
        self._noted: list[Row] = []

    def note(self, records: Sequence[Row]) -> int:
        """Call `note`, and return the right answer. Raises Mismatch if the learner's answer is
        wrong.
        """
        expected = self._right.note(records)
        came = self._made.call("note", [list(one) for one in records])
        if came != expected or isinstance(came, bool):
            raise Mismatch(
                f"note of {len(records)} records, {self._begun}",
                expected,
                came,
                "all are taken, or those before the record that finds the map full",
                drawing=tuple(map(_words, records[:12])),
                read="note",
            )
        self._noted += records[:expected]
        return expected

    def keep(self, records: Sequence[Row], end: int, *, young: bool) -> None:
        """Compare the answer of `keep`. Raises Mismatch."""
        expected = self._right.keep(records, end, young)
        came = self._made.call("keep", [list(one) for one in records], end, young)
        if came == expected:
            return
        raise Mismatch(
            f"keep of {len(records)} records, end {end}, young {young}, {self._begun}",
            expected,
            came,
            self._why(records, end, young, expected, came),
            drawing=tuple(map(_words, records[:12])),
            read="keep",
        )

    def _why(
        self, records: Sequence[Row], end: int, young: bool, expected: Sequence[int], came: object
    ) -> str:
        if not isinstance(came, tuple):
            return "it is a list of offsets"
        for offset, key, has_value in records:
            if (offset in expected) == (offset in came):
                continue
            later = [one for one, other, _ in self._noted if other == key and one > offset]
            if offset >= end:
                return f"offset {offset} is not covered by the pass: it stays"
            if key is None:
                return f"offset {offset} has no key: it goes"
            if offset in came and later:
                return f"offset {offset} goes: its key was noted at {later[-1]}"
            if offset in came:
                return f"offset {offset} is a tombstone, and old enough: it goes"
            if not has_value and young:
                return f"offset {offset} is a tombstone, and too young: it stays"
            return f"offset {offset} stays: no later record of its key was noted"
        return "each offset once, in their order"


def _words(one: Row) -> str:
    offset, key, has_value = one
    words = "no key" if key is None else key.decode("utf-8", "replace")
    return f"{offset:>4}  {words}{'' if has_value else '  (tombstone)'}"


def whole_pass(
    learner: Learner, log: Sequence[Row], first_dirty: int = 0, most: int = MANY, piece: int = MANY
) -> None:
    """Do a whole pass over a log, with `piece` records in each call. Raises Mismatch if an answer
    is wrong.
    """
    compared = Compared(learner, first_dirty, most)
    end = log[-1][0] + 1
    for begin in range(0, len(log), piece):
        records = log[begin : begin + piece]
        taken = compared.note(records)
        if taken < len(records):
            end = records[taken][0]
            break
    for young in (True, False):
        for begin in range(0, len(log), piece):
            compared.keep(log[begin : begin + piece], end, young=young)


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    log = [row(0, "a"), row(1, "b"), row(3, "a"), row(4, "c", value=False), row(5, None)]
    compared = Compared(learner, 3, 10)
    compared.note(log)
    compared.keep(log, 6, young=True)
    compared.keep(log, 6, young=False)
    compared.keep(log, 5, young=False)


def test_book(learner: Learner) -> None:
    """the eleven records of the chapter"""
    whole_pass(learner, log_of("abaacbdeebf"))


def test_tombstones(learner: Learner) -> None:
    """tombstones before and after values, and two of one key"""
    whole_pass(learner, log_of("aAbBbcCaDD"))


def test_without_key(learner: Learner) -> None:
    """records without keys among others, before and after the end"""
    log = log_of("a.b.a.c.")
    whole_pass(learner, log)
    compared = Compared(learner, 0)
    compared.note(log[:4])
    compared.keep(log, 4, young=True)
    compared.keep(log, 8, young=True)


def test_clean_part(learner: Learner) -> None:
    """keys of the clean part: superseded by the dirty part, or never noted"""
    log = log_of("abcdEacf")
    for first_dirty in range(8):
        whole_pass(learner, log, first_dirty)


def test_full(learner: Learner) -> None:
    """the map becomes full in the middle; then known keys and new keys come"""
    log = log_of("ab.abcdcA.")
    for most in range(1, 6):
        whole_pass(learner, log, most=most)
    whole_pass(learner, log, 3, 2)


def test_pieces(learner: Learner) -> None:
    """the records come two or three at a time"""
    log = log_of("abAcbdBacdeEcc")
    for piece in (1, 2, 3):
        whole_pass(learner, log, piece=piece)
        whole_pass(learner, log, 4, 3, piece)


def test_empty_key(learner: Learner) -> None:
    """an empty key is a key, and offset 0 is an offset"""
    log = [row(0, ""), row(1, "a"), row(2, ""), row(3, "a", value=False)]
    whole_pass(learner, log)
    whole_pass(learner, log[:2])


def test_random(learner: Learner, seed: int) -> None:
    """thirty random logs"""
    random = Random(f"compaction/{seed}")
    for _ in range(30):
        log = random_log(random)
        whole_pass(
            learner, log, random.randrange(40), random.choice((3, 6, MANY)), random.choice((5, 50))
        )


def random_log(random: Random, keys: str = "abcdefgh") -> list[Row]:
    """Return forty random records with gaps between their offsets."""
    offset, log = -1, []
    for _ in range(40):
        offset += random.choice((1, 1, 1, 4))
        key = None if random.random() < 0.1 else random.choice(keys)
        log.append(row(offset, key, value=random.random() < 0.75))
    return log
