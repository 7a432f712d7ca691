"""Exercise 16-1: parse a line, or say what is wrong with it. README.md says what is asked;
`kafka-edu lab check 16-1` tries it, `kafka-edu lab hint 16-1` helps.
"""


class AccessLog:
    """Reads the lines of an access log."""

    def parse(self, line: str) -> tuple[object, ...]:
        """Return ("ok", its fields...) or ("bad", the first field that is wrong)."""
        raise NotImplementedError(
            'AccessLog.parse is not written yet: it returns ("ok", ...) or ("bad", field)'
        )
