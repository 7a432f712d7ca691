"""Exercise 18-1: choose the next event of a simulation. README.md describes the task.
`kafka-edu lab check 18-1` tests your code. `kafka-edu lab hint 18-1` gives a hint.
"""


class Agenda:
    """The events that wait in a simulation, and its clock. Times are in ns."""

    def soon(self, event: int, process: str) -> None:
        """Add an event that is ready now."""
        raise NotImplementedError("Agenda.soon is not written yet: it adds an event")

    def at(self, time: int, event: int, process: str) -> None:
        """Add a timer."""
        raise NotImplementedError("Agenda.at is not written yet: it adds a timer")

    def cancel(self, event: int) -> None:
        """Take an event back."""
        raise NotImplementedError("Agenda.cancel is not written yet: it takes an event back")

    def kill(self, process: str) -> None:
        """Drop the events of a process for ever."""
        raise NotImplementedError("Agenda.kill is not written yet: it ends a process")

    def pause(self, process: str) -> None:
        """Put the events of a process aside from now on."""
        raise NotImplementedError("Agenda.pause is not written yet: it pauses a process")

    def resume(self, process: str) -> None:
        """Let a process go on."""
        raise NotImplementedError("Agenda.resume is not written yet: it lets a process go on")

    def next(self, until: int) -> tuple[int, int] | None:
        """Return the next event and its time, or None if none is due until then."""
        raise NotImplementedError(
            "Agenda.next is not written yet: it returns (event, time) or None"
        )
