"""Exercise 03-4: this purgatory has a bug. README.md describes the task. Check your file with
`kafka-edu lab check 03-4`. `kafka-edu lab hint 03-4` gives a hint.
"""

from collections.abc import Callable, Generator, Sequence
from types import GeneratorType
from typing import Any

Thread = Generator[tuple[object, ...], Any, object]
"""The steps of a thread. Between two steps, other threads may do their steps."""


class Purgatory:
    """Operations are numbers. Each has a lock and a flag. README.md has a table of the steps."""

    def try_complete_else_watch(self, operation: int, keys: Sequence[str]) -> Thread:
        """Complete a new operation now, or watch all its keys and start its time-out."""
        if (yield from self.maybe_try_complete(operation)):
            return True
        for key in keys:
            if (yield "look", operation):
                return False
            yield "watch", operation, key
        if (yield from self.maybe_try_complete(operation)):
            return True
        yield "arm", operation
        if (yield "look", operation):
            yield "disarm", operation
        return False

    def check_and_complete(self, key: str) -> Thread:
        """After an event of `key`, try every operation in the list of this key. Return the number
        of operations that were completed.
        """
        completed = 0
        for operation in (yield "list", key):
            if (yield "look", operation):
                continue
            if (yield from self.maybe_try_complete(operation)):
                completed += 1
        return completed

    def maybe_try_complete(self, operation: int) -> Thread:
        """Lock an operation, try it, and return whether this try completed it. Never wait for the
        lock: two threads that wait for each other's locks would wait for ever.
        """
        if not (yield "lock", operation):
            return False
        done = yield "try", operation
        yield "unlock", operation
        return done

    def diagnosis(self) -> tuple[int, int, str]:
        """Return your three findings: the number of the operation that was not woken, the number of
        the event at which its wake-up was lost, and the name of the wrong method.
        """
        raise NotImplementedError(
            "Purgatory.diagnosis is not written yet: it returns (number of the operation, number of"
            " the event, name of the method)"
        )

    def play(
        self, method: str, arguments: Sequence[Any], answers: Sequence[Any]
    ) -> tuple[str, object, int]:
        """Return the step of a method that follows these answers, and its line number. The tests
        call this method. It works; do not change it.
        """
        methods: dict[str, Callable[..., Thread]] = {
            "try_complete_else_watch": self.try_complete_else_watch,
            "check_and_complete": self.check_and_complete,
        }
        thread = methods[method](*arguments)
        try:
            step = next(thread)
            for answer in answers:
                step = thread.send(answer)
        except StopIteration as end:
            return "end", end.value, 0
        inner: object = thread
        line = 0
        while isinstance(inner, GeneratorType):  # into each `yield from`
            line = inner.gi_frame.f_lineno if inner.gi_frame is not None else line
            inner = inner.gi_yieldfrom
        return "step", step, line
