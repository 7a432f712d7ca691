"""Check that a broker answers every request in time, or closes the connection.

"In time" means within the request's time-out plus a grace period, usually one second. A broker
works on one request of a connection at a time. Therefore the time of a request is measured from the
moment when it is sent, or when the request before it was answered, whichever is later. The time in
which the broker was paused does not count, because a paused process cannot answer.

The soak uses this check on a real cluster. The search by seeds uses it in virtual time. Therefore
the caller passes the time to each method.
"""

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

GRACE_MS: Final = 1000
"""Default grace period: an answer may come this many ms after the request's time-out."""


@dataclass(slots=True)
class Overdue:
    """A request that was not answered in time."""

    connection: str
    broker: int
    kind: str
    sent_ms: float
    waited_ms: float
    """How long the request has waited, in ms.

    Time in which the broker was paused does not count.
    """
    allowed_ms: float
    grace_ms: float
    end: str = ""
    """A text about how the request ended later. Empty while the request still waits."""

    def __str__(self) -> str:
        return (
            f"{self.kind} to broker {self.broker} on {self.connection}: sent at {self.sent_ms:.0f}"
            f" ms, no answer after {self.waited_ms:.0f} ms (time-out {self.allowed_ms:.0f} ms +"
            f" {self.grace_ms:.0f} ms){'; ' if self.end else ''}{self.end}"
        )


class Pauses:
    """The times at which each broker was paused. The code that pauses brokers fills this object."""

    def __init__(self) -> None:
        self._times: dict[int, list[tuple[float, float | None]]] = {}

    def paused(self, broker: int, now_ms: float) -> None:
        self._times.setdefault(broker, []).append((now_ms, None))

    def resumed(self, broker: int, now_ms: float) -> None:
        times = self._times.get(broker)
        if times and times[-1][1] is None:
            times[-1] = (times[-1][0], now_ms)

    def within(self, broker: int, begin_ms: float, end_ms: float) -> float:
        """Return for how many ms between `begin_ms` and `end_ms` the broker was paused.

        O(pauses of that broker).
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
    """The results of all requests of a run. All connections of one client share this object."""

    def __init__(self, grace_ms: float = GRACE_MS) -> None:
        self.grace_ms = grace_ms
        self.sent = 0
        self.answered = 0
        self.closed = 0
        """Number of requests whose connection was closed before the answer.

        This is allowed, because the client sends them again.
        """
        self.late = 0
        """Number of overdue requests that were answered later."""
        self.overdue: list[Overdue] = []
        self.by_kind: Counter[str] = Counter()
        """Kind of request → number of answered requests."""
        self.longest_ms: dict[str, float] = {}
        """Kind of request → its longest wait in ms, without the time of pauses."""

    @property
    def longest(self) -> float:
        return max(self.longest_ms.values(), default=0.0)


class AnswerDeadlines:
    """The requests on one connection that wait for answers. The oldest is first."""

    def __init__(self, connection: str, broker: int, answers: Answers, pauses: Pauses) -> None:
        self.connection = connection
        self.broker = broker
        self._answers = answers
        self._pauses = pauses
        self._waiting: deque[_Waiting] = deque()
        self._last_answer_ms = 0.0

    def sent(self, kind: str, allowed_ms: float, now_ms: float) -> None:
        """Record that a request was sent at `now_ms`.

        `allowed_ms` is the request's own time-out, or the client's time-out if the request has
        none.
        """
        self._answers.sent += 1
        self._waiting.append(_Waiting(kind, now_ms, allowed_ms))

    def answered(self, now_ms: float) -> None:
        """Record that the oldest request on the connection was answered at `now_ms`."""
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
        """Record that the connection was closed. This ends all requests that wait for answers."""
        if self._waiting:
            first = self._waiting[0]
            self._look_at(first, now_ms)
            if first.overdue is not None:
                first.overdue.end = f"its connection ended at {now_ms:.0f} ms"
        self._answers.closed += len(self._waiting)
        self._waiting.clear()

    def look(self, now_ms: float) -> None:
        """Check whether the oldest request on the connection is overdue. If so, record it.

        The other requests wait until the oldest request is answered, so their time does not count
        yet.
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
    """Check every connection for an overdue request.

    Call this several times a second, so that it finds an overdue request while the request still
    waits.
    """
    for connection in connections:
        connection.look(now_ms)
