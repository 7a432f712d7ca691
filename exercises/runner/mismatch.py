"""The message of a check when the learner's code gave another answer than expected."""


class Words(str):
    """An expected answer in words, where the answer itself would give the exercise away."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Mismatch(AssertionError):
    """The learner's code answered something else. The lab shows each part in a line of its own."""

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
        """`why` says why the expected answer is right. `drawing` shows both answers as a picture,
        line by line. `read` names the part of the learner's code that decides this.
        """
        super().__init__(f"{asked}: expected {expected!r}, your code answered {came!r}: {why}")
        self.asked = asked
        self.expected = repr(expected)
        self.came = repr(came)
        self.why = why
        self.drawing = drawing
        self.read = read
