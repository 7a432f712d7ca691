"""Exercise 16-1: parse a line, or name its first wrong field. README.md has the task.
`kafka-edu lab check 16-1` tests your code, and `kafka-edu lab hint 16-1` gives you a hint.
"""


class AccessLog:
    """Parses the lines of a web server's access log."""

    def parse(self, line: str) -> tuple[object, ...]:
        """Return ("ok", the values...), or ("bad", the name of the first field that is wrong)."""
        raise NotImplementedError(
            'AccessLog.parse is not written yet: it returns ("ok", ...) or ("bad", field)'
        )
