"""The right answers of exercise 10-6, and a small world to test fetchers in: a follower with many
partitions, whose leader answers with errors, or not at once.
"""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

from kafka_edu.log.leader_epoch_file_cache import EpochEntry, end_offset_in
from kafka_edu.replication.truncation import offset_truncation_state

Operation = tuple[object, ...]
Epochs = Sequence[tuple[int, int]]
BACKOFF_MS: Final = 1_000
#: Errors after which a partition waits.
WAITING: Final = (
    "NOT_LEADER_OR_FOLLOWER",
    "UNKNOWN_LEADER_EPOCH",
    "UNKNOWN_TOPIC_OR_PARTITION",
    "KAFKA_STORAGE_ERROR",
    "UNKNOWN_SERVER_ERROR",
)
FENCED: Final = "FENCED_LEADER_EPOCH"
OUT_OF_RANGE: Final = "OFFSET_OUT_OF_RANGE"


class Answer(NamedTuple):
    """A follower's log, and the leader's answer about one epoch of this log."""

    epochs: tuple[tuple[int, int], ...]
    leo: int
    hw: int
    leader_epoch: int
    leader_end: int

    def arguments(self) -> list[object]:
        """Return the list of arguments for the learner's `answer`, after the partition."""
        return [[list(pair) for pair in self.epochs], *self[1:]]


class Fetcher(Protocol):
    """A replica fetcher: RightFetcher, or the learner's fetcher compared with RightFetcher."""

    def follow(self, partition: str, epochs: Epochs) -> None: ...

    def leave(self, partition: str) -> None: ...

    def plan(self, now_ms: int) -> dict[str, Operation]: ...

    def answer(self, partition: str, answer: Answer) -> int: ...

    def error(self, partition: str, error: str, now_ms: int) -> Operation: ...

    def offsets(
        self, partition: str, leo: int, leader_start: int, leader_end: int
    ) -> Operation: ...


class _State:
    """The state of one partition. `asks` is None when the partition fetches."""

    def __init__(self, asks: int) -> None:
        self.asks: int | None = asks
        self.until_ms: int | None = None
        self.fenced = False

    def does(self, now_ms: int) -> Operation:
        """Return what the partition does at this time."""
        if self.fenced:
            return ("failed",)
        if self.until_ms is not None and now_ms < self.until_ms:
            return "wait", self.until_ms
        return ("fetch",) if self.asks is None else ("ask", self.asks)


class RightFetcher:
    """A fetcher whose answers are right. The broker's own rule says where a log is cut."""

    def __init__(self, backoff_ms: int) -> None:
        self._backoff_ms = backoff_ms
        self._states: dict[str, _State] = {}

    def follow(self, partition: str, epochs: Epochs) -> None:
        """Set the partition's state to Truncating."""
        self._states[partition] = _State(epochs[-1][0] if epochs else -1)

    def leave(self, partition: str) -> None:
        """Forget a partition."""
        del self._states[partition]

    def plan(self, now_ms: int) -> dict[str, Operation]:
        """Return what each partition does now."""
        return {name: state.does(now_ms) for name, state in self._states.items()}

    def answer(self, partition: str, answer: Answer) -> int:
        """Return the new end of the log."""
        entries = [EpochEntry(*pair) for pair in answer.epochs]
        offset, complete = offset_truncation_state(
            answer.leader_epoch, answer.leader_end, answer.hw, answer.leo, entries
        )
        left = [epoch for epoch, start in answer.epochs if start < offset]
        self._states[partition].asks = None if complete or not left else left[-1]
        return offset

    def error(self, partition: str, error: str, now_ms: int) -> Operation:
        """Return what a partition does after an error."""
        state = self._states[partition]
        if error == OUT_OF_RANGE:
            return ("look",)
        if error == FENCED:
            state.fenced = True
        else:
            state.until_ms = now_ms + self._backoff_ms
        return state.does(now_ms)

    def offsets(self, partition: str, leo: int, leader_start: int, leader_end: int) -> Operation:
        """Return how the follower's log gets back into the range of the leader's log."""
        if leader_end < leo:
            return "cut", leader_end
        return ("restart", leader_start) if leader_start > leo else ("keep",)


class _Replica:
    """The follower's and the leader's log of a partition: lists of the records' epochs."""

    def __init__(self, random: Random, most: int) -> None:
        self.common = sorted(random.choices(range(0, 6, 2), k=random.randint(0, most)))
        last = max(self.common, default=0)
        ours = sorted(random.choices((last + 1, last + 3), k=random.randint(0, most // 2)))
        theirs = sorted(random.choices((last + 2, last + 4), k=random.randint(0, most // 2)))
        self.log = self.common + ours
        self.leader = self.common + theirs
        if self.log and (not self.leader or self.leader[-1] <= self.log[-1]):
            self.leader.append(self.log[-1] + 1)  # a leader's epoch is newer than all there were
        self.hw = random.randint(0, len(self.common))

    def answer(self, epoch: int) -> Answer:
        """Return the follower's log, and the leader's answer about an epoch."""
        entries = [EpochEntry(*pair) for pair in epochs_of(self.leader)]
        leader_epoch, leader_end = end_offset_in(entries, epoch, len(self.leader))
        return Answer(epochs_of(self.log), len(self.log), self.hw, leader_epoch, leader_end)


def epochs_of(log: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return (epoch, offset of its first record) for each epoch in a log."""
    return tuple((epoch, log.index(epoch)) for epoch in sorted(set(log)))


class FetcherWorld:
    """A broker that follows partitions, and the leader of all of them. The fetcher decides, and
    this broker performs the decisions.
    """

    def __init__(self, fetcher: Fetcher, random: Random, partitions: int, most: int = 12) -> None:
        self._fetcher = fetcher
        self._random = random
        self._now_ms = random.randrange(100_000)
        self._replicas: dict[str, _Replica] = {}
        self._free = [f"lab-{number}" for number in range(partitions)]
        self._most = most

    def run(self, turns: int) -> None:
        """Let the fetcher take this number of turns, with random faults between them."""
        for _ in range(turns):
            self._controller()
            self._now_ms += self._random.choice((0, 1, 20, 499, 999, 1_000, 1_001, 3_000))
            for name, operation in self._fetcher.plan(self._now_ms).items():
                self._carry_out(name, operation)

    def settle(self) -> None:
        """Let the leader answer without errors until all partitions fetch. Then check that each log
        is a prefix of the leader's log.
        """
        self._now_ms += 60_000
        for name in [*self._replicas]:
            self._fetcher.follow(name, epochs_of(self._replicas[name].log))
        for _ in range(20):
            for name, operation in self._fetcher.plan(self._now_ms).items():
                if operation[0] == "ask":
                    self._ask(name, operation)
        for name, operation in self._fetcher.plan(self._now_ms).items():
            replica = self._replicas[name]
            assert operation == ("fetch",)
            assert replica.log == replica.leader[: len(replica.log)]

    def _controller(self) -> None:
        """Now and then the controller gives the broker a partition to follow, or takes one away."""
        random = self._random
        if self._free and random.random() < 0.5:
            name = self._free.pop(random.randrange(len(self._free)))
            self._replicas[name] = _Replica(random, self._most)
            self._fetcher.follow(name, epochs_of(self._replicas[name].log))
        elif self._replicas and random.random() < 0.15:
            name = random.choice([*self._replicas])
            if random.random() < 0.5:
                del self._replicas[name]
                self._fetcher.leave(name)
                self._free.append(name)
            else:
                self._replicas[name] = _Replica(random, self._most)
                self._fetcher.follow(name, epochs_of(self._replicas[name].log))

    def _carry_out(self, name: str, operation: Operation) -> None:
        random = self._random
        if operation[0] in ("wait", "failed") or random.random() < 0.2:
            return
        if random.random() < 0.35:
            error = random.choice((*WAITING, FENCED))
            if operation[0] == "fetch" and random.random() < 0.4:
                error = OUT_OF_RANGE
            if self._fetcher.error(name, error, self._now_ms) == ("look",):
                self._look(name)
        elif operation[0] == "ask":
            self._ask(name, operation)

    def _ask(self, name: str, operation: Operation) -> None:
        replica, epoch = self._replicas[name], operation[1]
        assert isinstance(epoch, int)
        end = self._fetcher.answer(name, replica.answer(epoch))
        replica.log = replica.log[:end]
        replica.hw = min(replica.hw, end)

    def _look(self, name: str) -> None:
        leo = len(self._replicas[name].log)
        start = self._random.randint(0, 2 * self._most)
        end = start + self._random.randint(0, self._most)
        self._fetcher.offsets(name, leo, start, end)
