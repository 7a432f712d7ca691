"""Exercise 06-1: the reference solution (Kafka: KafkaServer.controlledShutdown)."""

Came = tuple[object, ...]  # what has come: ("begin",), ("answer", "NONE", [])
Operation = tuple[object, ...]  # what to do next: ("find",), ("wait", 500)


class Shutdown:
    """Decides the steps of a broker that shuts down."""

    def __init__(self, max_retries: int, backoff_ms: int) -> None:
        """Allow `max_retries` attempts, with a pause of `backoff_ms` between two attempts."""
        self.left = max_retries
        self.backoff_ms = backoff_ms
        self.connected: int | None = None

    def next(self, came: Came) -> Operation:
        """Return the next operation. `came` is the result of the last one, or ("begin",)."""
        match came:
            case ("begin",) | ("waited",):
                return self.attempt()
            case ("controller", int(id_)):
                if id_ == self.connected:
                    return ("ask",)
                self.connected = id_
                return "connect", id_
            case ("connected",):
                return ("ask",)
            case ("answer", "NONE", []):
                return "stop", True
            case ("failed",):
                self.connected = None
        return self.again()

    def attempt(self) -> Operation:
        """Begin the next attempt. If no attempt is left, stop."""
        if self.left == 0:
            return "stop", False
        self.left -= 1
        return ("find",)

    def again(self) -> Operation:
        """Return the operation after a failed attempt: wait, or stop if no attempt is left."""
        return ("wait", self.backoff_ms) if self.left else ("stop", False)
