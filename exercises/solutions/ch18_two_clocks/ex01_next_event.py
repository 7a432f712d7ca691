"""Exercise 18-1: the reference solution (models: FoundationDB's simulator, trio's MockClock)."""

import heapq
from collections import deque


class Agenda:
    """The events that wait in a simulation, and its clock. Times are in ns."""

    def __init__(self) -> None:
        self.now = 0
        self.ready: deque[tuple[int, str]] = deque()
        self.timers: list[tuple[int, int, int, str]] = []
        self.count = 0
        self.waiting: set[int] = set()
        self.dead: set[str] = set()
        self.aside: dict[str, list[int]] = {}

    def soon(self, event: int, process: str) -> None:
        """Add an event that is ready now."""
        self.waiting.add(event)
        self.ready.append((event, process))

    def at(self, time: int, event: int, process: str) -> None:
        """Add a timer."""
        self.waiting.add(event)
        self.count += 1
        heapq.heappush(self.timers, (max(time, self.now), self.count, event, process))

    def cancel(self, event: int) -> None:
        """Take an event back."""
        self.waiting.discard(event)

    def kill(self, process: str) -> None:
        """Drop the events of a process for ever."""
        self.dead.add(process)

    def pause(self, process: str) -> None:
        """Put the events of a process aside from now on."""
        self.aside.setdefault(process, [])

    def resume(self, process: str) -> None:
        """Let a process go on."""
        self.ready.extend((event, process) for event in self.aside.pop(process, ()))

    def next(self, until: int) -> tuple[int, int] | None:
        """Return the next event and its time, or None if none is due until then."""
        while self.ready or (self.timers and self.timers[0][0] <= until):
            if self.ready:
                event, process = self.ready.popleft()
            else:
                self.now, _, event, process = heapq.heappop(self.timers)
            if event not in self.waiting or process in self.dead:
                continue
            if process in self.aside:
                self.aside[process].append(event)
                continue
            self.waiting.remove(event)
            return event, self.now
        self.now = until
        return None
