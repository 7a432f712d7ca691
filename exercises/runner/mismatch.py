"""The error for a check in which the learner's code returned a wrong answer."""


class Words(str):
    """A description of the expected answer, used where the answer itself would be the solution."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Mismatch(AssertionError):
    """The learner's code returned a wrong answer. The lab shows each part of the message on a
    line.
    """

    def __init__(
        self,
        asked: str,
        expected: object,
        came: object,
        why: str,
        *,
        drawing: tuple[str, ...] = (),
        read: str = "",
    ) -> None:
        """`asked` is the call, `expected` the right answer, and `came` the learner's answer.

        `why` says why the expected answer is right. `drawing` shows both answers as a picture, line
        by line. `read` names the part of the learner's code that decides the answer, which the
        learner should read again.
        """
        super().__init__(f"{asked}: expected {expected!r}, your code answered {came!r}: {why}")
        self.asked = asked
        self.expected = repr(expected)
        self.came = repr(came)
        self.why = why
        self.drawing = drawing
        self.read = read
