"""Exercise 03-4: the reference solution (Kafka: KAFKA-6653)."""

from collections.abc import Callable, Generator, Sequence
from types import GeneratorType
from typing import Any

Thread = Generator[tuple[object, ...], Any, object]
"""The steps of a thread. Between any two steps, other threads may do anything."""


class Purgatory:
    """A purgatory. An operation is a number with a lock and a flag. README.md lists the steps."""

    def try_complete_else_watch(self, operation: int, keys: Sequence[str]) -> Thread:
        """Complete a new operation, or put it into the lists of its keys, with a time-out."""
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
        """After an event of `key`, try every operation in the list of this key. Return how many
        operations were completed.
        """
        completed = 0
        for operation in (yield "list", key):
            if (yield "look", operation):
                continue
            if (yield from self.maybe_try_complete(operation)):
                completed += 1
        return completed

    def maybe_try_complete(self, operation: int) -> Thread:
        """Try an operation under its lock, and return whether this try completed it. Never wait for
        the lock: two threads that wait for each other's locks would wait for ever.
        """
        done = False
        again = True
        while again:
            if (yield "lock", operation):
                yield "flag off", operation
                done = yield "try", operation
                yield "unlock", operation
                # Set while this thread had the lock: somebody brought news and went away.
                again = not done and (yield "flag", operation)
            else:
                # The holder sees the flag when it has unlocked. If the flag was set before, that is
                # sure. If not, the holder may have looked already: so try once more.
                again = not (yield "flag on", operation)
        return done

    def diagnosis(self) -> tuple[int, int, str]:
        """Return the number of the operation that was not woken, the number of the event in
        events.txt at which its wake-up was lost, and the name of the method that is wrong.
        """
        return 5, 58, "maybe_try_complete"

    def play(
        self, method: str, arguments: Sequence[Any], answers: Sequence[Any]
    ) -> tuple[str, object, int]:
        """Run a method with these answers. Return the step that comes next, and its line. The tests
        call `play`; it works, and you need not change it.
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
