"""Exercise 06-1: the reference solution (Kafka: KafkaServer.controlledShutdown)."""

Came = tuple[object, ...]  # what has come: ("begin",), ("answer", "NONE", [])
Operation = tuple[object, ...]  # what to do next: ("find",), ("wait", 500)


class Shutdown:
    """A broker that is about to stop."""

    def __init__(self, max_retries: int, backoff_ms: int) -> None:
        """It may ask `max_retries` times, with `backoff_ms` between two attempts."""
        self.left = max_retries
        self.backoff_ms = backoff_ms
        self.connected: int | None = None

    def next(self, came: Came) -> Operation:
        """Return the next operation."""
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
        """Begin an attempt, if one is left."""
        if self.left == 0:
            return "stop", False
        self.left -= 1
        return ("find",)

    def again(self) -> Operation:
        """An attempt has ended without success."""
        return ("wait", self.backoff_ms) if self.left else ("stop", False)
