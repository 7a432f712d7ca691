"""Exercise 03-1, wrong: it arms the time-out of what its own look has found completed."""

from collections.abc import Generator, Sequence
from types import GeneratorType

Step = str | tuple[str, str]


class CheckThenWatch:
    """The thread that has the request: it completes the operation, or leaves it in the watch lists
    of `keys`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys

    def steps(self) -> Generator[Step, bool, str]:
        """Yield one step after the other, and return "mine", "theirs" or "waits"."""
        if (yield "try"):
            return "mine"
        for number, key in enumerate(self.keys):
            if number and (yield "look"):
                break
            yield "watch", key
        if (yield "try"):
            return "mine"
        yield "arm"
        if (yield "look"):
            yield "disarm"
            return "theirs"
        return "waits"

    def play(self, answers: Sequence[bool]) -> tuple[str, object, int]:
        """Return the step that follows these answers, and its line."""
        thread = self.steps()
        try:
            step = next(thread)
            for answer in answers:
                step = thread.send(answer)
        except StopIteration as end:
            return "end", end.value, 0
        frame = thread.gi_frame if isinstance(thread, GeneratorType) else None
        return "step", step, frame.f_lineno if frame is not None else 0
