"""Exercise 03-1: write the steps of tryCompleteElseWatch. README.md says what is asked; `kafka-edu
lab check 03-1` tries it, `kafka-edu lab hint 03-1` helps.
"""

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
        """Yield one step after the other, and return "mine", "theirs" or "waits".

        Each `yield` is a moment at which other threads may do something. Its value is the answer of
        the step.
        """
        raise NotImplementedError(
            'CheckThenWatch.steps is not written yet: it returns "mine", "theirs" or "waits", and'
            ' yields its steps, as in `done = yield "try"`'
        )

    def play(self, answers: Sequence[bool]) -> tuple[str, object, int]:
        """Return the step that follows these answers, and its line. The tests call this; it works,
        and you need not change it.
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
