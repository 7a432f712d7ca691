"""Decide about the warm JVM of Spark's labs: who may use it, when it is cleaned, and when it ends.

    NONE → STARTING → CLEANING ⇄ FREE
                      CLEANING ⇄ LENT
    STARTING, CLEANING, FREE, LENT → NONE

Only one user at a time has the JVM. It is cleaned before it is lent and after it comes back
(`warm_jvm`), so nothing from one job reaches the next job. A JVM that cannot be cleaned is killed,
and the next user gets a new one. If a JVM cannot be cleaned although it was never lent, the next
JVM would have the same problem. So the user is refused. This module only decides: `driver_service`
performs the effects that its methods return. Owned by the service's event loop.
"""

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

IDLE: Final = "KAFKA_EDU_SPARK_IDLE_S"
"""The environment variable with the idle time in seconds. 0 means that no JVM is kept."""
IDLE_S: Final = 600.0
"""After this many seconds without a user, the service ends."""
MOST_LOANS: Final = 100
"""After this number of loans, a JVM is replaced. Spark never ends some of its threads: each
SparkContext leaves 11 threads in the JVM.
"""
BUSY: Final = "another check uses it now"
ENDING: Final = "it is about to end"
NOT_CLEAN: Final = "the new JVM could not be cleaned"


def idle_of(text: str) -> float:
    """Return the idle time that a value of IDLE gives. Raises ValueError with advice."""
    try:
        idle_s = float(text or IDLE_S)
    except ValueError:
        idle_s = math.nan
    if not math.isfinite(idle_s):
        raise ValueError(
            f"{IDLE} is {text!r}, which is not a number of seconds: set it to one, such as 600, or"
            " to"
            " 0"
        )
    return idle_s


class State(StrEnum):
    """The state of the JVM."""

    NONE = "none"
    STARTING = "starting"
    CLEANING = "cleaning"
    FREE = "free"
    LENT = "lent"


#: Each state → the states from which it may be entered.
VALID_PREVIOUS_STATES: Final[Mapping[State, frozenset[State]]] = {
    State.NONE: frozenset(State),
    State.STARTING: frozenset({State.NONE}),
    State.CLEANING: frozenset({State.STARTING, State.FREE, State.LENT}),
    State.FREE: frozenset({State.CLEANING}),
    State.LENT: frozenset({State.CLEANING}),
}


class Start(NamedTuple):
    """Start a JVM, and call `started` or `failed`."""


class Clean(NamedTuple):
    """Clean the JVM, and call `cleaned`."""


class Kill(NamedTuple):
    """End the JVM at once."""


class Lend(NamedTuple):
    """Give the JVM's address to this user."""

    user: int


class Refuse(NamedTuple):
    """Refuse the JVM to this user, who must then start a different JVM."""

    user: int
    why: str


class End(NamedTuple):
    """End the service with its JVM."""


Effect = Start | Clean | Kill | Lend | Refuse | End


class DriverKeeper:
    """Owns the state of the JVM, with its current user and the user who waits for it."""

    def __init__(self, now_s: float, idle_s: float = IDLE_S) -> None:
        self.state = State.NONE
        self.loans = 0
        """How often the present JVM was lent."""
        self.jvms = 0
        """How many JVMs were started."""
        self.idle_s = idle_s
        self._user: int | None = None
        self._waiting: int | None = None
        self._ending = False
        self._used_at_s = now_s

    @property
    def in_use(self) -> bool:
        """Whether a user has the JVM or waits for it."""
        return self._user is not None or self._waiting is not None

    def is_user(self, user: int) -> bool:
        """Return whether this user has the JVM or waits for it."""
        return user in (self._user, self._waiting)

    def ask(self, user: int, now_s: float, idle_s: float | None = None) -> list[Effect]:
        """Handle a user who wants the JVM. At most one user can wait. If `idle_s` is given, it is
        the idle time from now on.
        """
        self._used_at_s = now_s
        if idle_s is not None:
            self.idle_s = idle_s
        if self._ending:
            return [Refuse(user, ENDING)]
        if self.in_use:
            return [Refuse(user, BUSY)]
        self._waiting = user
        match self.state:
            case State.NONE:
                return self._start()
            case State.FREE:
                return self._clean()
        return []

    def leave(self, user: int, now_s: float) -> list[Effect]:
        """Handle a user who has closed the connection, with or without a JVM."""
        self._used_at_s = now_s
        if user == self._waiting:
            self._waiting = None
        elif user == self._user:
            self._user = None
            if self._ending:
                return [End()]
            if self.state is State.LENT:
                return self._clean() if self.loans < MOST_LOANS else self._replace()
        if self._ending and not self.in_use:
            return [End()]
        return []

    def started(self) -> list[Effect]:
        """Handle the start of the JVM."""
        return self._clean()

    def failed(self, why: str) -> list[Effect]:
        """Handle a JVM that did not start."""
        self._enter(State.NONE)
        waiting, self._waiting = self._waiting, None
        return [] if waiting is None else [Refuse(waiting, why)]

    def cleaned(self, done: bool, now_s: float) -> list[Effect]:
        """Handle the end of a cleaning. If the cleaning failed, replace the JVM. But if the JVM was
        never lent, refuse the user: a new JVM would fail in the same way again and again.
        """
        if not done and self.loans == 0:
            return [Kill(), *self.failed(NOT_CLEAN)]
        if not done:
            return self._replace()
        if self._waiting is None:
            self._used_at_s = now_s
            self._enter(State.FREE)
            return []
        self._user, self._waiting = self._waiting, None
        self.loans += 1
        self._enter(State.LENT)
        return [Lend(self._user)]

    def ended(self) -> list[Effect]:
        """Handle a JVM that has ended by itself, or that a job has ended. Its user notices this
        without a message. If the JVM ends while it starts or is cleaned, `failed` and `cleaned`
        handle this.
        """
        if self.state in (State.FREE, State.LENT):
            self._enter(State.NONE)
        return []

    def end(self) -> list[Effect]:
        """Handle a request to end the service. If a user has the JVM or waits for it, the service
        ends when that user leaves.
        """
        self._ending = True
        return [] if self.in_use else [End()]

    def tick(self, now_s: float) -> list[Effect]:
        """End the service if it had no user for the idle time."""
        idle = not self.in_use and self.state in (State.NONE, State.FREE)
        return [End()] if idle and now_s - self._used_at_s >= self.idle_s else []

    def _start(self) -> list[Effect]:
        self.loans = 0
        self.jvms += 1
        self._enter(State.STARTING)
        return [Start()]

    def _clean(self) -> list[Effect]:
        self._enter(State.CLEANING)
        return [Clean()]

    def _replace(self) -> list[Effect]:
        """Kill the JVM. Start another one only if a user waits for it."""
        self._enter(State.NONE)
        return [Kill(), *([] if self._waiting is None else self._start())]

    def _enter(self, state: State) -> None:
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"the JVM is {self.state}, and cannot become {state}")
        self.state = state
