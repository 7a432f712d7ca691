"""Exercise 05-1: the reference solution (Kafka: KafkaController.elect, since KAFKA-6082)."""

Came = tuple[object, ...]  # what has come: ("fired",), ("epoch", 3, 3)
Operation = tuple[object, ...]  # what to do next: ("look",), ("run", 4, 3)


class Candidate:
    """A broker that wants to be the controller."""

    def __init__(self, broker: int) -> None:
        """Begin as a broker that does not lead and knows no controller."""
        self.broker = broker
        self.led = 0
        self.active = -1
        self.mine = False
        self.known = False  # whether what was read is still of use
        self.deletes = False
        self.tried = 0
        self.makes_epoch = False

    def next(self, came: Came) -> Operation:
        """Return the next operation. `came` is an event, or the result of the last operation."""
        made, self.makes_epoch = self.makes_epoch, False
        match came:
            case ("office", id_, bool(mine)):
                self.active = id_ if isinstance(id_, int) else -1
                self.mine = mine
                self.known = True
                if not self.led:
                    return self.after_reading()
                return ("wait",) if self.active == self.broker and mine else ("resign",)
            case ("resigned",):
                self.led = 0
                return self.after_reading()
            case ("epoch", int(epoch), int(version)):
                self.tried = epoch + 1
                return ("delete", version) if self.deletes else ("run", self.tried, version)
            case ("epoch", None, None):
                self.makes_epoch = True
                return ("create_epoch",)
            case ("won",):
                self.led = self.tried
                self.active = self.broker
                return "lead", self.led
            case ("session_lost",):
                self.known = False
                return ("resign",) if self.led else ("look",)
        return ("read_epoch",) if made else ("look",)

    def after_reading(self) -> Operation:
        """Return the operation after `/controller` was read by a broker that does not lead."""
        if not self.known:
            return ("look",)
        self.deletes = self.active >= 0
        return ("read_epoch",) if self.mine or not self.deletes else ("wait",)

    def controller(self) -> int:
        """Return the controller's broker id as last read or won; -1 if there is none."""
        return self.active

    def epoch(self) -> int:
        """Return the epoch in which this broker leads; 0 if it does not lead."""
        return self.led
