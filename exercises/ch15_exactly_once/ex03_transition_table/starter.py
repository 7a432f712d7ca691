"""Exercise 15-3: the transaction coordinator's table. README.md describes the task. `kafka-edu lab
check 15-3` tests your code. `kafka-edu lab hint 15-3` gives a hint.
"""


class TransactionTable:
    """The decisions of a transaction coordinator."""

    def next(self, state: str, event: str) -> str | None:
        """Return the next state, the name of an error, or None if nothing happens."""
        raise NotImplementedError("TransactionTable.next is not written yet: it returns a name")
