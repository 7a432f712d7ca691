"""Exercise 05-3: fire watches once, and in the right order. README.md describes the task.
`kafka-edu lab check 05-3` tests your code. `kafka-edu lab hint 05-3` gives a hint.
"""

Message = tuple[int, str, str]  # (client, what, path)


class ZooKeeper:
    """A tree of znodes without data, and those who watch it."""

    def __init__(self) -> None:
        """Only the znode / is there."""

    def request(self, client: int, verb: str, path: str, watch: bool) -> list[Message]:
        """Do a request. Return the notifications, and then the answer."""
        raise NotImplementedError("ZooKeeper.request is not written yet: it returns messages")

    def closed(self, client: int) -> None:
        """Forget the watches of a client."""
        raise NotImplementedError("ZooKeeper.closed is not written yet: it returns None")
