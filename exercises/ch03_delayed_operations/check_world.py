"""The simulated state of exercise 03-1: one operation, its watch lists and its time-out."""

from typing import Final, NamedTuple, Self

from .orders import Step

LEARNER: Final = 0
"""The number of the learner's thread."""
RESULTS: Final = ("mine", "theirs", "waits")
STEPS: Final = '"try", "look", ("watch", key), "arm" and "disarm"'


class CheckWorld(NamedTuple):
    """The state of one operation. Its condition holds when all of `keys` are ready."""

    keys: tuple[str, ...]
    ready: frozenset[str] = frozenset()
    """The keys that are ready."""
    watched: tuple[str, ...] = ()
    """The keys in whose watch lists the operation stands."""
    completed: bool = False
    by_learner: bool = False
    armed: bool = False
    tries: int = 0
    late_watches: int = 0
    """The number of watch lists into which the learner's thread put a completed operation."""
    after_news: Step = None
    """The first step, except "disarm", that the learner's thread did after it knew that the
    operation was completed.
    """
    knows: bool = False
    """Whether an answer has informed the learner's thread that the operation is completed."""
    returned: object = None

    def do(self, thread: int, step: Step) -> tuple[Self, object]:
        """Return the state after a thread's step, and the step's answer. Raises ValueError."""
        if thread == LEARNER:
            return self._learners(step)
        match step:
            case ("ready", str(key)):
                return self._replace(ready=self.ready | {key}), None
            case ("check", str(key)):
                return self._check(key)
        raise AssertionError(step)

    def end(self, thread: int, returned: object) -> Self:
        """Return the state after a thread has returned a value."""
        return self._replace(returned=returned) if thread == LEARNER else self

    @property
    def holds(self) -> bool:
        """Whether the operation's condition holds: all of its keys are ready."""
        return self.ready.issuperset(self.keys)

    def _check(self, key: str) -> tuple[Self, object]:
        if key not in self.watched:
            return self, "empty"
        if self.completed:
            return self, "done before"
        if not self.holds:
            return self, "not yet"
        # Completing an operation cancels its time-out, as forceComplete does.
        return self._replace(completed=True, armed=False), "completes it"

    def _learners(self, step: Step) -> tuple[Self, object]:
        after = self
        if self.knows and step != "disarm":
            after = after._replace(after_news=after.after_news or step)
        match step:
            case "try":
                done = self.holds and not self.completed
                after = after._replace(tries=after.tries + 1)
                if done:
                    after = after._replace(completed=True, by_learner=True, knows=True, armed=False)
                return after, done
            case "look":
                return after._replace(knows=self.knows or self.completed), self.completed
            case ("watch", str(key)):
                if key not in self.keys:
                    raise ValueError(f"there is no key {key!r}; self.keys is {list(self.keys)}")
                if key in self.watched:
                    raise ValueError(f"the list of {key} holds the operation already")
                late = after.late_watches + self.completed
                return after._replace(watched=(*self.watched, key), late_watches=late), None
            case "arm":
                if self.armed:
                    raise ValueError("the time-out is armed already")
                return after._replace(armed=True), None
            case "disarm":
                return after._replace(armed=False), None
        raise ValueError(f"{step!r} is not a step. The steps are {STEPS}")


def lost_wake_up(world: CheckWorld) -> str:
    """Return a fault if the operation is ready but no thread has completed it; else an empty
    text.
    """
    if world.holds and not world.completed:
        return "it is ready, it waits, and no event will come again"
    return ""


def time_out_left(world: CheckWorld) -> str:
    """Return a fault if the time-out still runs after the operation was completed, or does not run
    while the operation waits. Otherwise return an empty text.
    """
    if world.completed and world.armed:
        return "it is completed, and its time-out still runs in the timer"
    if not world.completed and not world.armed:
        return "it waits, and no time-out will ever end that"
    return ""


def wrong_result(world: CheckWorld) -> str:
    """Return a fault if the learner's thread returned a wrong value; else an empty text."""
    right = "mine" if world.by_learner else "theirs" if world.knows else "waits"
    if world.returned != right:
        return f"it returned {world.returned!r}, and {right!r} is right"
    return ""


def too_many_tries(world: CheckWorld) -> str:
    """Return a fault if the operation was tried more than twice; else an empty text."""
    if world.tries > 2:
        return f"{world.tries} tries for {len(world.keys)} keys"
    return ""


def dead_entries(world: CheckWorld) -> str:
    """Return a fault if the operation was put into two or more lists after its completion; else
    "".
    """
    if world.late_watches > 1:
        return f"completed, it was put into {world.late_watches} more lists"
    return ""


def goes_on(world: CheckWorld) -> str:
    """Return a fault if the learner's thread did a step other than "disarm" although it knew that
    the operation was completed.
    """
    if world.after_news is not None:
        return f"your thread knew that it was completed, and then did {world.after_news!r}"
    return ""
