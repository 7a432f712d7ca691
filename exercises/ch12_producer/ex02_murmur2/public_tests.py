"""Public tests of exercise 12-2. `kafka-edu lab check 12-2` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.

The right hashes come from kafka-python, an independent client.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

from kafka.partitioner.default import murmur2

from kafka_edu.learner.learner import Learner, LearnerObject

from ...runner.mismatch import Mismatch, Words

#: Hashes as Java computes them, from the tests of Kafka (UtilsTest.java).
JAVA: Final = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}
SMALLEST: Final = b"\xa7\xd6Pl"
"""The key of four bytes whose hash is -2**31, Java's smallest int."""
TOPIC: Final = "web"


def java_hash(key: bytes) -> int:
    """Return the right hash, with its sign."""
    h = int(murmur2(key))
    return h - 2**32 if h >= 2**31 else h


def check_hash(made: LearnerObject, key: bytes) -> None:
    """Compare the hash of a key. Raises Mismatch."""
    expected, came = java_hash(key), made.call("murmur2", key)
    if came != expected or isinstance(came, bool):
        raise Mismatch(
            f"murmur2({key!r})",
            expected,
            came,
            _why_hash(key, expected, came),
            drawing=(f"the key has {len(key)} bytes: {key.hex(' ')}",),
            read="murmur2",
        )


def _why_hash(key: bytes, expected: int, came: object) -> str:
    if isinstance(came, int) and not isinstance(came, bool) and came % 2**32 == expected % 2**32:
        return "the 32 bits are right; Java's int has a sign, so it is from -2**31 to 2**31 - 1"
    if not key:
        return "an empty key has no group and no rest: only step 4 changes h"
    if len(key) < 4:
        return "there is no whole group of four bytes, only the rest of step 3"
    if len(key) % 4:
        return "after the groups of four bytes a rest is left: step 3 takes it as a number"
    return "the key has only whole groups of four bytes, so step 3 does nothing"


def check_key(made: LearnerObject, key: bytes, partitions: int, available: Sequence[int]) -> None:
    """Compare the partition of a key. Raises Mismatch."""
    hashed = java_hash(key)
    expected = (hashed & 0x7FFFFFFF) % partitions
    came = made.call("partition", TOPIC, key, partitions, list(available))
    if came != expected or isinstance(came, bool):
        raise Mismatch(
            f"partition({TOPIC!r}, {key!r}, {partitions}, {list(available)})",
            expected,
            came,
            _why_partition(hashed, expected, came, partitions, available),
            drawing=(
                f"murmur2({key!r}) is {hashed}",
                f"without its sign bit it is {hashed & 0x7FFFFFFF}",
            ),
            read="partition",
        )


def _why_partition(
    hashed: int, expected: int, came: object, partitions: int, available: Sequence[int]
) -> str:
    if hashed < 0 and came in (abs(hashed) % partitions, hashed % partitions):
        return "clear the sign bit: do not negate the number, and do not keep it negative"
    if expected not in available:
        return f"partition {expected} has no leader now, but the key stays there"
    return f"{hashed & 0x7FFFFFFF} modulo {partitions} is {expected}"


class Sticky:
    """The records without keys of one topic. Each answer of the learner is checked."""

    def __init__(self, made: LearnerObject, partitions: int, topic: str = TOPIC) -> None:
        self._made = made
        self._partitions = partitions
        self._topic = topic
        self.last: int | None = None
        """The sticky partition from the last answer; None before the first answer."""
        self._changed_from: int | None = None
        self._able: list[int] | None = None
        """The partitions from which `new_batch` had to choose; None before the first record."""
        self._story: list[str] = []

    def record(self, available: Sequence[int]) -> int:
        """Send a record, and return its partition. Raises Mismatch."""
        came = self._made.call("partition", self._topic, None, self._partitions, list(available))
        call = f"partition({self._topic!r}, None, {self._partitions}, {list(available)})"
        able = self._able or list(available) or list(range(self._partitions))
        if not isinstance(came, int) or isinstance(came, bool):
            raise self._mismatch(call, f"one of {able}", came, "it is a partition's number")
        if self.last is not None:
            if came != self.last:
                why = f"the batch of partition {self.last} has room: the next records go into it"
                raise self._mismatch(call, f"{self.last}", came, why)
            return came
        self._check_new(call, able, came)
        self.last = came
        self._story.append(f"{call} → {came}")
        return came

    def _check_new(self, call: str, able: Sequence[int], came: int) -> None:
        """Check the first answer after a choice."""
        old = self._changed_from
        if came not in able:
            why = "a record waits until its partition has a leader; at the choice others had one"
            raise self._mismatch(call, f"one of {able}", came, why)
        if came == old and len(able) > 1:
            others = [one for one in able if one != old]
            why = f"the batch of partition {old} is full, and there are others"
            raise self._mismatch(call, f"one of {others}", came, why)

    def new_batch(self, partition: int, available: Sequence[int]) -> None:
        """Call `new_batch`. Only a batch of the sticky partition changes that partition."""
        self._made.call("new_batch", self._topic, partition, self._partitions, list(available))
        self._story.append(
            f"new_batch({self._topic!r}, {partition}, {self._partitions}, {list(available)})"
        )
        if self.last is not None and partition == self.last:
            self._changed_from, self.last = partition, None
            self._able = list(available) or list(range(self._partitions))

    def _mismatch(self, call: str, expected: str, came: object, why: str) -> Mismatch:
        story = tuple(self._story[-6:])
        return Mismatch(
            call, Words(expected), came, why, drawing=story, read="the sticky partition"
        )


def test_hashes_of_java(learner: Learner) -> None:
    """the hashes in the tests of Kafka itself"""
    made = learner.make()
    for key, expected in JAVA.items():
        assert java_hash(key) == expected
        check_hash(made, key)


def test_short_keys(learner: Learner) -> None:
    """keys of 0 to 12 bytes, and the key with the smallest hash"""
    made = learner.make()
    for length in range(13):
        for byte in (b"\x00", b"\xff", b"\x80"):
            check_hash(made, byte * length)
    check_hash(made, SMALLEST)


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    made = learner.make()
    check_key(made, b"21", 3, [0, 1, 2])
    sticky = Sticky(made, 3)
    sticky.record([1])
    sticky.new_batch(1, [0, 1])
    sticky.record([0, 1])


def test_keys(learner: Learner, seed: int) -> None:
    """the partitions of 1,000 random keys"""
    random = Random(f"keys/{seed}")
    made = learner.make()
    for _ in range(1_000):
        partitions = random.randint(1, 50)
        check_key(made, random.randbytes(random.randrange(41)), partitions, range(partitions))


def test_key_without_leader(learner: Learner) -> None:
    """a key stays where it is, although its partition has no leader"""
    made = learner.make()
    for key in (b"", b"21", b"foobar", b"abc"):
        home = (java_hash(key) & 0x7FFFFFFF) % 4
        check_key(made, key, 4, [one for one in range(4) if one != home])
        check_key(made, key, 4, [])


def test_sticky_stays(learner: Learner) -> None:
    """records without keys stay in one partition until its batch is full"""
    made = learner.make()
    sticky = Sticky(made, 5)
    for _ in range(4):
        for _ in range(6):
            sticky.record(range(5))
        assert sticky.last is not None
        sticky.new_batch(sticky.last, range(5))


def test_a_batch_of_a_key(learner: Learner) -> None:
    """a new batch of another partition changes nothing"""
    sticky = Sticky(learner.make(), 4)
    sticky.new_batch(2, range(4))
    home = sticky.record(range(4))
    for partition in range(4):
        if partition != home:
            sticky.new_batch(partition, range(4))
            sticky.record(range(4))
    sticky.new_batch(home, range(4))
    sticky.record(range(4))
    sticky.new_batch(home, range(4))
    sticky.record(range(4))


def test_leaders(learner: Learner) -> None:
    """one partition has a leader, or none has"""
    made = learner.make()
    sticky = Sticky(made, 6)
    for available in ([4], [4], [], [0], [5, 0], [3], []):
        home = sticky.record(available)
        sticky.new_batch(home, available)
        sticky.record(available)
        sticky.new_batch(sticky.last if sticky.last is not None else home, available)


def test_all_get_some(learner: Learner) -> None:
    """in a long run each partition is chosen, and not in a fixed order"""
    made = learner.make()
    runs = []
    for number in range(2):
        sticky = Sticky(made, 4, f"web-{number}")
        run = []
        for _ in range(120):
            run.append(sticky.record(range(4)))
            sticky.new_batch(run[-1], range(4))
        never = sorted({0, 1, 2, 3} - set(run))
        if never:
            raise Mismatch(
                "120 batches for 4 partitions",
                Words("each partition gets some of them"),
                Words(f"partition {never[0]} got none"),
                "the choice is random, so each partition gets about 30",
            )
        runs.append(run)
    if runs[0] == runs[1] or all(one == run for run in runs for one in _in_turn(run)):
        raise Mismatch(
            "120 batches for each of two topics",
            Words("partitions chosen at random"),
            Words("the same order in both, or always the same cycle"),
            "many producers that go round in the same order would all fill the same broker",
        )


def _in_turn(run: list[int]) -> list[list[int]]:
    """Return a run of the same length that repeats the first four partitions of `run`."""
    return [(run[:4] * len(run))[: len(run)]]


def test_all_may_be_first(learner: Learner) -> None:
    """with 90 topics, each partition is the first choice of some topic"""
    made = learner.make()
    first = {Sticky(made, 3, f"web-{number}").record(range(3)) for number in range(90)}
    never = sorted({0, 1, 2} - first)
    if never:
        raise Mismatch(
            "the first partitions of 90 topics",
            Words("each partition is the first one in some"),
            Words(f"partition {never[0]} is never the first one"),
            "the first choice is random too, and leaves no partition out",
        )


def test_two_topics(learner: Learner, seed: int) -> None:
    """two topics, whose sticky partitions do not affect each other"""
    random = Random(f"topics/{seed}")
    made = learner.make()
    topics = [Sticky(made, 3, "web"), Sticky(made, 8, "orders")]
    for _ in range(120):
        number = random.randrange(2)
        topic, partitions = topics[number], (3, 8)[number]
        available = sorted(random.sample(range(partitions), random.randint(1, partitions)))
        if topic.last is None or random.random() < 0.5:
            topic.record(available)
        else:
            topic.new_batch(random.randrange(partitions), available)
