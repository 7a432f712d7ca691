"""The simulated state of exercise 03-4: operations with locks and flags, and watch lists."""

from collections.abc import Mapping
from typing import Final, NamedTuple, Self

from .orders import Step

STEPS: Final = (
    '("lock", op), ("unlock", op), ("try", op), ("look", op), ("flag on", op), ("flag off", op),'
    ' ("flag", op), ("list", key), ("watch", op, key), ("arm", op) and ("disarm", op)'
)


class PurgatoryWorld(NamedTuple):
    """The state of several operations. An operation is ready when all of its keys are ready."""

    keys: tuple[tuple[int, tuple[str, ...]], ...]
    """Each operation, and the keys that it waits for."""
    ready: frozenset[str] = frozenset()
    lists: tuple[tuple[str, int], ...] = ()
    """A pair (key, operation) for each entry of a watch list, in the order of adding."""
    completed: frozenset[int] = frozenset()
    locks: tuple[tuple[int, int], ...] = ()
    """A pair (operation, thread) for each lock that a thread holds, sorted."""
    flags: frozenset[int] = frozenset()
    armed: frozenset[int] = frozenset()
    tries: int = 0
    claimed: int = 0
    """The sum of the numbers of completions that the threads have returned."""

    def holds(self, operation: int) -> bool:
        """Return whether all keys of an operation are ready."""
        return self.ready.issuperset(dict(self.keys)[operation])

    def do(self, thread: int, step: Step) -> tuple[Self, object]:
        """Return the state after a thread's step, and the step's answer. Raises ValueError."""
        match step:
            case ("ready", str(key)):
                return self._replace(ready=self.ready | {key}), None
            case ("list", str(key)):
                return self, tuple([one for where, one in self.lists if where == key])
            case ("watch", int(operation), str(key)) if operation in dict(self.keys):
                if (key, operation) in self.lists:
                    raise ValueError(f"the list of {key} holds operation {operation} already")
                return self._replace(lists=(*self.lists, (key, operation))), None
            case (str(verb), int(operation)) if operation in dict(self.keys):
                return self._of_operation(thread, verb, operation)
        raise ValueError(f"{step!r} is not a step. The steps are {STEPS}")

    def end(self, thread: int, returned: object) -> Self:
        """Return the state after a thread has ended. `returned` is the number of operations that
        the thread completed. For the thread of a request, it is whether the thread completed the
        request's operation. Locks that the thread holds stay locked.
        """
        own = int(returned) if isinstance(returned, int) else 0
        return self._replace(claimed=self.claimed + own)

    def _of_operation(self, thread: int, verb: str, operation: int) -> tuple[Self, object]:
        locks: Mapping[int, int] = dict(self.locks)
        flagged = operation in self.flags
        match verb:
            case "lock":
                if operation in locks:
                    if locks[operation] == thread:
                        raise ValueError(f"this thread holds the lock of {operation} already")
                    return self, False
                locked = tuple(sorted({**locks, operation: thread}.items()))
                return self._replace(locks=locked), True
            case "unlock":
                if locks.get(operation) != thread:
                    raise ValueError(f"this thread does not hold the lock of {operation}")
                return self._replace(
                    locks=tuple([one for one in self.locks if one[0] != operation])
                ), None
            case "try":
                if locks.get(operation) != thread:
                    raise ValueError(
                        f"a try of operation {operation} needs its lock, because two tries at the"
                        " same time may answer its client twice"
                    )
                after = self._replace(tries=self.tries + 1)
                if operation in self.completed or not self.holds(operation):
                    return after, False
                return after._replace(
                    completed=self.completed | {operation}, armed=self.armed - {operation}
                ), True
            case "look":
                return self, operation in self.completed
            case "flag on":
                return self._replace(flags=self.flags | {operation}), flagged
            case "flag off":
                return self._replace(flags=self.flags - {operation}), flagged
            case "flag":
                return self, flagged
            case "arm":
                return self._replace(armed=self.armed | {operation}), None
            case "disarm":
                return self._replace(armed=self.armed - {operation}), None
        raise ValueError(f"{verb!r} is not a step. The steps are {STEPS}")


def lost_wake_up(world: PurgatoryWorld) -> str:
    """Return a fault if an operation is ready but no thread has completed it; else an empty
    text.
    """
    for operation, _ in world.keys:
        if world.holds(operation) and operation not in world.completed:
            return f"operation {operation} is ready, it waits, and no event will come again"
    return ""


def badly_left(world: PurgatoryWorld) -> str:
    """Return a fault if a lock is still held at the end, or if the threads have not returned the
    right number of completions. Otherwise return an empty text.
    """
    for operation, _ in world.locks:
        return f"the lock of operation {operation} is never given back"
    if world.claimed != len(world.completed):
        return f"completed: {len(world.completed)}, and the threads returned {world.claimed}"
    return ""
