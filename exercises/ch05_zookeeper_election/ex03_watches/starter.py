"""Exercise 05-3: fire watches once, and in the right order. README.md describes the task.
`kafka-edu lab check 05-3` tests your code. `kafka-edu lab hint 05-3` gives a hint.
"""

Message = tuple[int, str, str]  # (client, what, path)


class ZooKeeper:
    """A ZooKeeper with a tree of znodes without data, and the clients' watches on them."""

    def __init__(self) -> None:
        """At first, only the znode / exists."""

    def request(self, client: int, verb: str, path: str, watch: bool) -> list[Message]:
        """Execute a request. Return its messages: first the notifications, then the answer."""
        raise NotImplementedError("ZooKeeper.request is not written yet: it returns messages")

    def closed(self, client: int) -> None:
        """Forget all watches of this client, which has closed its connection."""
        raise NotImplementedError("ZooKeeper.closed is not written yet: it returns None")
