"""Check that a broker answers every request in time, or closes the connection.

"In time" means within the request's time-out and a grace, usually one second. A broker works on one
request of a connection at a time. The clock of a request therefore starts when it is sent, or when
the request before it was answered, whichever is later. The time while the broker was paused does
not count, because a paused process cannot answer.

The soak checks this on a real cluster, and the search by seeds checks it in virtual time. Both hand
in the clock.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

GRACE_MS: Final = 1000
"""How much later than its time-out an answer may come, unless the run says otherwise."""


@dataclass(slots=True)
class Overdue:
    """A request that was not answered in time."""

    connection: str
    broker: int
    kind: str
    sent_ms: float
    waited_ms: float
    """Without the time while the broker was paused."""
    allowed_ms: float
    grace_ms: float
    end: str = ""
    """How the request ended later, in words. Empty while it still waits."""

    def __str__(self) -> str:
        return (
            f"{self.kind} to broker {self.broker} on {self.connection}: sent at {self.sent_ms:.0f}"
            f" ms, no answer after {self.waited_ms:.0f} ms (time-out {self.allowed_ms:.0f} ms +"
            f" {self.grace_ms:.0f} ms){'; ' if self.end else ''}{self.end}"
        )


class Pauses:
    """The times when each broker was paused. Owned by the code that pauses brokers."""

    def __init__(self) -> None:
        self._times: dict[int, list[tuple[float, float | None]]] = {}

    def paused(self, broker: int, now_ms: float) -> None:
        self._times.setdefault(broker, []).append((now_ms, None))

    def resumed(self, broker: int, now_ms: float) -> None:
        times = self._times.get(broker)
        if times and times[-1][1] is None:
            times[-1] = (times[-1][0], now_ms)

    def within(self, broker: int, begin_ms: float, end_ms: float) -> float:
        """Return how many ms between `begin_ms` and `end_ms` the broker was paused. O(pauses of
        that broker).
        """
        total = 0.0
        for paused_ms, resumed_ms in self._times.get(broker, ()):
            total += max(
                min(end_ms, end_ms if resumed_ms is None else resumed_ms)
                - max(begin_ms, paused_ms),
                0.0,
            )
        return total


class _Waiting:
    __slots__ = ("allowed_ms", "kind", "overdue", "sent_ms")

    def __init__(self, kind: str, sent_ms: float, allowed_ms: float) -> None:
        self.kind = kind
        self.sent_ms = sent_ms
        self.allowed_ms = allowed_ms
        self.overdue: Overdue | None = None


class Answers:
    """The results of all requests of a run, shared by all connections of one client."""

    def __init__(self, grace_ms: float = GRACE_MS) -> None:
        self.grace_ms = grace_ms
        self.sent = 0
        self.answered = 0
        self.closed = 0
        """Requests whose connection closed before the answer. This is allowed: the client sends
        them again.
        """
        self.late = 0
        """Overdue requests that were answered in the end."""
        self.overdue: list[Overdue] = []
        self.by_kind: Counter[str] = Counter()
        """How many requests of each kind were answered."""
        self.longest_ms: dict[str, float] = {}
        """The longest wait of each kind, without pauses."""

    @property
    def longest(self) -> float:
        return max(self.longest_ms.values(), default=0.0)


class AnswerDeadlines:
    """The requests in flight on one connection, in the order in which they were sent."""

    def __init__(self, connection: str, broker: int, answers: Answers, pauses: Pauses) -> None:
        self.connection = connection
        self.broker = broker
        self._answers = answers
        self._pauses = pauses
        self._waiting: deque[_Waiting] = deque()
        self._last_answer_ms = 0.0

    def sent(self, kind: str, allowed_ms: float, now_ms: float) -> None:
        """Note that a request was sent. `allowed_ms` is its own time-out, or the client's if it has
        none.
        """
        self._answers.sent += 1
        self._waiting.append(_Waiting(kind, now_ms, allowed_ms))

    def answered(self, now_ms: float) -> None:
        """Note that the first request in flight was answered."""
        waiting = self._waiting[0]
        self._look_at(waiting, now_ms)
        self._waiting.popleft()
        answers = self._answers
        answers.answered += 1
        answers.by_kind[waiting.kind] += 1
        if waiting.overdue is not None:
            answers.late += 1
            waiting.overdue.end = f"answered at {now_ms:.0f} ms"
        waited_ms = self._waited_ms(waiting, now_ms)
        if waited_ms > answers.longest_ms.get(waiting.kind, -1.0):
            answers.longest_ms[waiting.kind] = waited_ms
        self._last_answer_ms = now_ms

    def closed(self, now_ms: float) -> None:
        """Note that the connection closed, with all requests in flight."""
        if self._waiting:
            first = self._waiting[0]
            self._look_at(first, now_ms)
            if first.overdue is not None:
                first.overdue.end = f"its connection ended at {now_ms:.0f} ms"
        self._answers.closed += len(self._waiting)
        self._waiting.clear()

    def look(self, now_ms: float) -> None:
        """Note the first request in flight if it is overdue.

        The others wait behind it, so their clocks have not started.
        """
        if self._waiting:
            self._look_at(self._waiting[0], now_ms)

    def _look_at(self, waiting: _Waiting, now_ms: float) -> None:
        if waiting.overdue is not None:
            return
        waited_ms = self._waited_ms(waiting, now_ms)
        if waited_ms > waiting.allowed_ms + self._answers.grace_ms:
            waiting.overdue = Overdue(
                self.connection,
                self.broker,
                waiting.kind,
                waiting.sent_ms,
                waited_ms,
                waiting.allowed_ms,
                self._answers.grace_ms,
            )
            self._answers.overdue.append(waiting.overdue)

    def _waited_ms(self, waiting: _Waiting, now_ms: float) -> float:
        since_ms = max(waiting.sent_ms, self._last_answer_ms)
        return now_ms - since_ms - self._pauses.within(self.broker, since_ms, now_ms)


def look_at_all(connections: Iterable[AnswerDeadlines], now_ms: float) -> None:
    """Look at every connection.

    Call this several times a second, so that a request without an answer is found while it waits.
    """
    for connection in connections:
        connection.look(now_ms)
