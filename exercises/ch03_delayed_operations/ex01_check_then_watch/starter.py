"""Exercise 03-1: write the steps of tryCompleteElseWatch. README.md describes the task. Check your
file with `kafka-edu lab check 03-1`. `kafka-edu lab hint 03-1` gives a hint.
"""

from collections.abc import Generator, Sequence
from types import GeneratorType

Step = str | tuple[str, str]


class CheckThenWatch:
    """The thread of a new request. It completes the request's operation at once, or leaves the
    operation in the watch lists of `keys`.
    """

    def __init__(self, keys: Sequence[str]) -> None:
        self.keys = keys

    def steps(self) -> Generator[Step, bool, str]:
        """Yield each step, and return "mine", "theirs" or "waits" in the end.

        At each `yield`, other threads may do their steps. The value of the `yield` expression is
        the answer to your step.
        """
        raise NotImplementedError(
            'CheckThenWatch.steps is not written yet: it returns "mine", "theirs" or "waits", and'
            ' yields its steps, as in `done = yield "try"`'
        )

    def play(self, answers: Sequence[bool]) -> tuple[str, object, int]:
        """Return the step that follows these answers, and its line number. The tests call this
        method. It works; do not change it.
        """
        thread = self.steps()
        try:
            step = next(thread)
            for answer in answers:
                step = thread.send(answer)
        except StopIteration as end:
            return "end", end.value, 0
        frame = thread.gi_frame if isinstance(thread, GeneratorType) else None
        return "step", step, frame.f_lineno if frame is not None else 0
