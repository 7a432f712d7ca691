"""Exercise 03-1: the reference solution."""

from collections.abc import Generator, Sequence
from types import GeneratorType

Step = str | tuple[str, str]


class CheckThenWatch:
    """The thread that handles a request. It completes the delayed operation, or puts it into the
    watch lists of `keys`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys

    def steps(self) -> Generator[Step, bool, str]:
        """Yield the steps. Return "mine" or "theirs" (who completed the operation), or "waits"."""
        if (yield "try"):
            return "mine"
        for number, key in enumerate(self.keys):
            if number and (yield "look"):
                return "theirs"
            yield "watch", key
        # An event that came before the last watch found a list without the operation.
        if (yield "try"):
            return "mine"
        yield "arm"
        # Whoever completed it before that had no time-out to cancel.
        if (yield "look"):
            yield "disarm"
            return "theirs"
        return "waits"

    def play(self, answers: Sequence[bool]) -> tuple[str, object, int]:
        """Run the steps with these answers. Return the step that comes next, and its line."""
        thread = self.steps()
        try:
            step = next(thread)
            for answer in answers:
                step = thread.send(answer)
        except StopIteration as end:
            return "end", end.value, 0
        frame = thread.gi_frame if isinstance(thread, GeneratorType) else None
        return "step", step, frame.f_lineno if frame is not None else 0
