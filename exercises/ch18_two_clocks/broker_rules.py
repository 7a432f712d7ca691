"""Five rules of a broker in one class (exercise 18-5), and brokers of the simulator that use it.

Each rule is a pure function of numbers. The broker's own code calls the rules, emits the events,
and acts on the answers: it changes logs and znodes.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from random import Random
from typing import Any, Final, NamedTuple, Protocol
from unittest.mock import patch

from kafka_edu.controller import leader_election
from kafka_edu.controller.leader_election import offline_partition_leader_election
from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.replication import truncation
from kafka_edu.replication.high_watermark import HighWatermarkRule, placed
from kafka_edu.replication.isr import IsrRule, may_join_isr
from kafka_edu.replication.replica import Replica
from kafka_edu.replication.truncation import common_end

Rows = Sequence[tuple[int, int]]
"""Rows of two numbers: a broker, and something about it."""
MAX_LAG_MS: Final = 2_000
"""replica.lag.time.max.ms of random questions."""


class Rules(Protocol):
    """The rules, as README.md of 18-5 describes them."""

    def elect(
        self, replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]
    ) -> int | None: ...

    def leaving(self, isr: Sequence[int], silent: Rows, max_lag_ms: int) -> Sequence[int]: ...

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool: ...

    def high_watermark(self, hw: int, leo: int, isr: Sequence[int], followers: Rows) -> int: ...

    def cut(self, end: int, leader_end: int) -> int: ...


class RightRules:
    """The right rules: the broker's own rules. They stay available inside `serve`."""

    def elect(self, replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
        return offline_partition_leader_election(replicas, isr, live, False)

    def leaving(self, isr: Sequence[int], silent: Rows, max_lag_ms: int) -> Sequence[int]:
        return tuple(broker for broker, ms in silent if broker in isr and ms > max_lag_ms)

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        return may_join_isr(leo, hw, epoch_start)

    def high_watermark(self, hw: int, leo: int, isr: Sequence[int], followers: Rows) -> int:
        least = min((end for broker, end in followers if broker in isr), default=leo)
        return max(hw, min(leo, least))

    def cut(self, end: int, leader_end: int) -> int:
        return common_end(end, leader_end)


RIGHT: Final = RightRules()
_ANSWERS: Final[Mapping[str, Callable[..., Any]]] = {
    "elect": RIGHT.elect,
    "leaving": RIGHT.leaving,
    "may_join": RIGHT.may_join,
    "high_watermark": RIGHT.high_watermark,
    "cut": RIGHT.cut,
}
RULES: Final = tuple(_ANSWERS)
"""The names of the rules."""


class Question(NamedTuple):
    """A call of a rule."""

    rule: str
    arguments: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.rule}({', '.join(map(repr, self.arguments))})"

    def right(self) -> object:
        """Return the right answer."""
        return _ANSWERS[self.rule](*self.arguments)

    def why(self, came: object) -> str:
        """Return in words why another answer is wrong."""
        match self.rule, self.arguments:
            case "elect", (_, isr, live):
                able = [one for one in isr if one in live]
                if came is not None and came not in able:
                    return f"broker {came} is dead, or not in the ISR"
                return "the order of the replicas decides, among those that live and are in the ISR"
            case "leaving", (_, _, max_lag_ms):
                return f"only a member that is silent for more than {max_lag_ms} ms leaves"
            case "may_join", (leo, hw, epoch_start):
                if leo < hw:
                    return f"the follower lacks the record at offset {leo}, which is committed"
                if leo < epoch_start:
                    return f"this leader began at {epoch_start}; the follower's log ends earlier"
                return "the follower has all committed records, and this leader's first offset"
            case "high_watermark", (hw, _, isr, followers):
                ends = {broker: end for broker, end in followers if broker in isr}
                least = min(ends, key=lambda one: ends[one], default=0)
                if type(came) is int and came < hw:
                    return f"the high watermark is at {hw}, and does not go back"
                if ends and ends[least] < 0 and type(came) is int and came > hw:
                    return (
                        f"broker {least} is in the ISR and may be elected, and the leader does not"
                        " know its end"
                    )
                if ends and type(came) is int and came > max(ends.values()):
                    return f"no follower in the ISR has the record at offset {max(ends.values())}"
                if ends and type(came) is int and came > ends[least]:
                    return (
                        f"broker {least} is in the ISR and may be elected, and its log ends at"
                        f" {ends[least]}"
                    )
                return "all members of the ISR have more, and no other broker counts"
            case _, (end, leader_end):
                return f"up to {min(end, leader_end)} both logs have the same records of the epoch"
        raise AssertionError(f"there is no rule {self.rule}")


def random_question(random: Random, rule: str, first: int = 0) -> Question:
    """Return a random call of a rule. Its offsets are around `first`."""
    brokers = random.sample(range(1, 6), random.randint(2, 5))
    isr = tuple(sorted(random.sample(brokers, random.randint(1, len(brokers)))))
    others = [one for one in sorted(brokers) if one != isr[0]]
    low, mark, high = sorted(first + random.randrange(12) for _ in range(3))
    arguments: tuple[Any, ...]
    match rule:
        case "elect":
            arguments = brokers, isr, sorted(random.sample(brokers, len(brokers) // 2))
        case "leaving":
            rows = [(one, MAX_LAG_MS + random.randint(-2, 2)) for one in others]
            random.shuffle(rows)
            arguments = isr, rows, MAX_LAG_MS
        case "may_join":
            arguments = tuple(random.sample((low, mark, high), 3))
        case "high_watermark":
            ends = [(one, random.choice((low, mark, high, -1))) for one in others]
            arguments = mark, high, isr, ends
        case _:
            arguments = high, random.choice((low, mark, high + 3))
    return Question(rule, arguments)


class LearnersRules:
    """The rules of a learner's object. An answer only has to be possible, and is not compared with
    the right answer. After a failure, RightRules answers instead.
    """

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self.failure = ""
        self.calls = 0

    def _ask(self, method: str, *arguments: object) -> object:
        """Return the learner's answer, or None after a failure."""
        if self.failure:
            return None
        self.calls += 1
        try:
            return self._made.call(method, *arguments)
        except LearnerFailure as failure:
            self.failure = str(failure)
            return None

    def _refuse(self, method: str, arguments: Sequence[object], came: object, wanted: str) -> None:
        if not self.failure:
            asked = ", ".join(map(repr, arguments))
            self.failure = f"{method}({asked}) answered {came!r:.80}; expected {wanted}"

    def _offset(self, method: str, least: int, most: int, *arguments: object) -> int | None:
        """Return an answer that is an offset from `least` to `most`, or None."""
        came = self._ask(method, *arguments)
        if type(came) is int and least <= came <= most:
            return came
        self._refuse(method, arguments, came, f"an offset from {least} to {most}")
        return None

    def elect(self, replicas: Sequence[int], isr: Sequence[int], live: Sequence[int]) -> int | None:
        came = self._ask("elect", replicas, isr, live)
        if type(came) is int and came in live and came in replicas:
            return came
        if came is not None:
            self._refuse("elect", (replicas, isr, live), came, "a live replica, or None")
        return RIGHT.elect(replicas, isr, live) if self.failure else None

    def leaving(self, isr: Sequence[int], silent: Rows, max_lag_ms: int) -> Sequence[int]:
        came = self._ask("leaving", isr, silent, max_lag_ms)
        able = {row[0] for row in silent} & {*isr}
        if isinstance(came, tuple) and {*came} <= able:
            return came
        self._refuse("leaving", (isr, silent, max_lag_ms), came, "followers that are in the ISR")
        return RIGHT.leaving(isr, silent, max_lag_ms)

    def may_join(self, leo: int, hw: int, epoch_start: int) -> bool:
        came = self._ask("may_join", leo, hw, epoch_start)
        if isinstance(came, bool):
            return came
        self._refuse("may_join", (leo, hw, epoch_start), came, "True or False")
        return RIGHT.may_join(leo, hw, epoch_start)

    def high_watermark(self, hw: int, leo: int, isr: Sequence[int], followers: Rows) -> int:
        came = self._offset("high_watermark", hw, leo, hw, leo, isr, followers)
        return RIGHT.high_watermark(hw, leo, isr, followers) if came is None else came

    def cut(self, end: int, leader_end: int) -> int:
        came = self._offset("cut", 0, end, end, leader_end)
        return RIGHT.cut(end, leader_end) if came is None else came


class _Asked(NamedTuple):
    """Functions that replace functions of the broker. Each passes its arguments to a rule."""

    rules: Rules

    def elect(
        self,
        assignment: Sequence[int],
        isr: Collection[int],
        live_replicas: Collection[int],
        unclean_leader_election_enabled: bool,
    ) -> int | None:
        return self.rules.elect(list(assignment), list(isr), sorted(live_replicas))

    def leaving(
        self, isr: Iterable[int], followers: Iterable[Replica], now_ms: int, max_lag_ms: int
    ) -> tuple[int, ...]:
        silent = [(one.broker_id, now_ms - one.last_caught_up_time_ms) for one in followers]
        gone = self.rules.leaving(list(isr), silent, max_lag_ms)
        return tuple(broker for broker, _ in silent if broker in gone)

    def of_leader(
        self,
        current: LogOffsetMetadata,
        log_end_offset: LogOffsetMetadata,
        isr: Collection[int],
        followers: Iterable[Replica],
        now_ms: int,
        max_lag_ms: int,
    ) -> LogOffsetMetadata:
        """Ask for the high watermark. A follower that may join the ISR soon counts as a member."""
        others = list(followers)
        soon = [one for one in others if now_ms - one.last_caught_up_time_ms <= max_lag_ms]
        members = sorted({*isr, *(one.broker_id for one in soon)})
        rows = [(one.broker_id, one.log_end_offset.message_offset) for one in others]
        hw, leo = current.message_offset, log_end_offset.message_offset
        offset = self.rules.high_watermark(hw, leo, members, rows)
        return placed(offset, (log_end_offset, *(one.log_end_offset for one in others), current))


@contextmanager
def serve(rules: Rules) -> Iterator[None]:
    """Let all simulated brokers use these rules inside the `with` block."""
    asked = _Asked(rules)
    with ExitStack() as stack:
        for place, name, function in (
            (leader_election, "offline_partition_leader_election", asked.elect),
            (IsrRule, "leaving", asked.leaving),
            (IsrRule, "may_join", rules.may_join),
            (HighWatermarkRule, "of_leader", asked.of_leader),
            (truncation, "common_end", rules.cut),
        ):
            stack.enter_context(patch.object(place, name, function))
        yield
