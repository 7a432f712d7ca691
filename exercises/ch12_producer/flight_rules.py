"""The right answers of exercise 12-3, and a producer whose brokers fail."""

from collections.abc import Sequence
from random import Random
from typing import Final, NamedTuple, Protocol

OUT_OF_ORDER: Final = "OUT_OF_ORDER_SEQUENCE_NUMBER"
STORED: Final = ("NONE", "DUPLICATE_SEQUENCE_NUMBER")
RETRIABLE: Final = ("NOT_ENOUGH_REPLICAS", "NETWORK_EXCEPTION", "NOT_LEADER_OR_FOLLOWER")
FATAL: Final = ("TOPIC_AUTHORIZATION_FAILED", "INVALID_RECORD")

Sent = tuple[str, int]


class Result(NamedTuple):
    """A broker's answer about one batch."""

    partition: str
    batch: int
    error: str
    retriable: bool


class Rules(Protocol):
    """The decisions of a producer: made by RightInFlight or by a learner's class."""

    def may_send(self, broker: int, partition: str, batch: int) -> bool: ...

    def sent(self, broker: int, batches: Sequence[Sent]) -> None: ...

    def answered(self, broker: int, results: Sequence[Result]) -> list[str]: ...

    def expired(self, partition: str, batch: int) -> None: ...


class _Known(NamedTuple):
    """A batch that was sent."""

    partition: str
    broker: int | None
    """The broker to which the batch is in flight; None if it is not in flight."""
    ended: bool
    again: int
    """How often the batch was sent again."""


class RightInFlight:
    """A producer whose decisions are right. It keeps a list of all batches that were sent."""

    def __init__(self, max_in_flight: int, idempotent: bool, retries: int) -> None:
        self.max_in_flight = max_in_flight
        self.idempotent = idempotent
        self.retries = retries
        self.batches: dict[int, _Known] = {}
        self.requests: dict[int, int] = {}
        """Broker → its requests without an answer."""

    def oldest(self, partition: str) -> int | None:
        """Return a partition's oldest batch that was sent and is not finished, or None."""
        open_ones = [
            number
            for number, one in self.batches.items()
            if one.partition == partition and not one.ended
        ]
        return min(open_ones, default=None)

    def in_flight(self, partition: str) -> list[int]:
        """Return the batches of a partition that are in flight."""
        return [
            number
            for number, one in self.batches.items()
            if one.partition == partition and one.broker is not None
        ]

    def may_send(self, broker: int, partition: str, batch: int) -> bool:
        """Return whether a batch may go now."""
        if self.requests.get(broker, 0) >= self.max_in_flight:
            return False
        if self.idempotent:
            return batch not in self.batches or self.oldest(partition) == batch
        return self.max_in_flight > 1 or not self.in_flight(partition)

    def sent(self, broker: int, batches: Sequence[Sent]) -> None:
        """Note a request."""
        self.requests[broker] = self.requests.get(broker, 0) + 1
        for partition, number in batches:
            known = self.batches.get(number)
            again = known.again if known is not None else 0
            self.batches[number] = _Known(partition, broker, False, again)

    def answered(self, broker: int, results: Sequence[Result]) -> list[str]:
        """Return "done", "again" or "failed" for each batch."""
        self.requests[broker] -= 1
        return [self._answered(one) for one in results]

    def _answered(self, result: Result) -> str:
        known = self.batches[result.batch]._replace(broker=None)
        word = self._word(result, known)
        self.batches[result.batch] = known._replace(
            ended=word != "again", again=known.again + (word == "again")
        )
        return word

    def _word(self, result: Result, known: _Known) -> str:
        if known.ended:
            return "failed"
        if result.error in STORED:
            return "done"
        if known.again == self.retries:
            return "failed"
        if result.error == OUT_OF_ORDER:
            return "failed" if self.oldest(result.partition) == result.batch else "again"
        return "again" if result.retriable else "failed"

    def expired(self, partition: str, batch: int) -> None:
        """A batch has failed because its delivery.timeout.ms is over."""
        if batch in self.batches:
            self.batches[batch] = self.batches[batch]._replace(ended=True)


class FlightWorld:
    """A producer with some brokers. Leaders move, answers fail, and batches expire."""

    def __init__(
        self, rules: Rules, random: Random, brokers: int, partitions: int, idempotent: bool
    ) -> None:
        self._rules = rules
        self._random = random
        self._idempotent = idempotent
        self._brokers = range(brokers)
        names = [f"web-{number}" for number in range(partitions)]
        self._leaders = dict.fromkeys(names, 0)
        self._queues: dict[str, list[int]] = {name: [] for name in names}
        self._requests: dict[int, list[list[Sent]]] = {one: [] for one in self._brokers}
        self._numbers = 0
        self._expired: set[int] = set()
        self.stored: dict[str, list[int]] = {name: [] for name in names}
        """The batches that each partition has stored, in their order."""
        self._first_sent: dict[str, list[int]] = {name: [] for name in names}
        """The batches of each partition in the order of their sequence numbers."""

    def run(self, turns: int, *, expire: bool = True) -> None:
        """Let this number of random events happen."""
        random = self._random
        for _ in range(turns):
            draw = random.random()
            if draw < 0.3:
                self._numbers += 1
                self._queues[random.choice([*self._queues])].append(self._numbers)
            elif draw < 0.65:
                self._send(random.choice(self._brokers))
            elif draw < 0.93:
                self._answer(random.choice(self._brokers), fails=random.random() < 0.4)
            elif draw < 0.97:
                self._leaders[random.choice([*self._leaders])] = random.choice(self._brokers)
            elif expire:
                self._expire()

    def settle(self) -> None:
        """Let all requests be answered without errors, until nothing waits."""
        for _ in range(40 * (1 + self._numbers)):
            for broker in self._brokers:
                self._send(broker)
                self._answer(broker, fails=False)
            if not any(self._queues.values()) and not any(self._requests.values()):
                return
        raise AssertionError("a batch waits for ever")

    def _send(self, broker: int) -> None:
        led = [name for name, queue in self._queues.items() if queue]
        able = [
            (name, self._queues[name][0])
            for name in led
            if self._leaders[name] == broker
            and self._rules.may_send(broker, name, self._queues[name][0])
        ]
        if not able:
            return
        for name, number in able:
            self._queues[name].remove(number)
            if number not in self._first_sent[name]:
                self._first_sent[name].append(number)
        self._rules.sent(broker, able)
        self._requests[broker].append(able)

    def _answer(self, broker: int, *, fails: bool) -> None:
        if not self._requests[broker]:
            return
        batches = self._requests[broker].pop(0)
        results = [self._result(name, number, fails) for name, number in batches]
        for result, word in zip(results, self._rules.answered(broker, results), strict=True):
            if word == "again":
                queue = self._queues[result.partition]
                queue.append(result.batch)
                queue.sort()
            elif word == "failed" and result.batch in self._first_sent[result.partition]:
                # The producer raises its epoch, and the later sequence numbers close the gap.
                self._first_sent[result.partition].remove(result.batch)

    def _result(self, name: str, number: int, fails: bool) -> Result:
        random = self._random
        if fails and random.random() < 0.7:
            error = random.choice((*RETRIABLE, *FATAL) if random.random() < 0.2 else RETRIABLE)
            return Result(name, number, error, error in RETRIABLE)
        stored = self.stored[name]
        if self._idempotent and number in stored:
            return Result(name, number, "DUPLICATE_SEQUENCE_NUMBER", False)
        before = [one for one in self._first_sent[name] if one < number]
        if self._idempotent and before and before[-1] not in stored:
            return Result(name, number, OUT_OF_ORDER, False)
        stored.append(number)
        return Result(name, number, "NONE", False)

    def _expire(self) -> None:
        """Let the oldest batch of a partition expire, in its queue or in flight."""
        name = self._random.choice([*self._queues])
        flying = [
            b for sent in self._requests.values() for each in sent for n, b in each if n == name
        ]
        alive = [one for one in (*self._queues[name], *flying) if one not in self._expired]
        if not alive:
            return
        number = min(alive)
        self._expired.add(number)
        if number in self._queues[name]:
            self._queues[name].remove(number)
        self._rules.expired(name, number)
