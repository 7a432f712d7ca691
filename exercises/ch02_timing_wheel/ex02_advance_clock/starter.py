"""Exercise 02-2: write the method Timer.advance_clock. README.md describes the task. Check your
file with `kafka-edu lab check 02-2`. `kafka-edu lab hint 02-2` gives a hint.
"""

from collections.abc import Sequence

Place = tuple[int, int]  # a level from 1 and a slot from 0
Move = tuple[int, int, Place | None]  # when, which task, and where to; None if it runs


class Timer:
    """A timer: its wheels have buckets, and the buckets hold tasks. A task is a number."""

    def __init__(self, tick_ms: int, slots: Sequence[int], start_ms: int) -> None:
        self.tick_ms = tick_ms
        self.slots = slots
        self.now_ms = start_ms
        self.buckets: dict[Place, list[tuple[int, int]]] = {}

    def size(self, level: int) -> int:
        """Return the number of slots of a level."""
        return self.slots[min(level, len(self.slots)) - 1]

    def tick(self, level: int) -> int:
        """Return the time that one bucket of a level covers, in ms."""
        tick_ms = self.tick_ms
        for below in range(1, level):
            tick_ms *= self.size(below)
        return tick_ms

    def place(self, deadline_ms: int) -> Place | None:
        """Return the bucket for a deadline, or None if the task is due already (exercise 02-1)."""
        if deadline_ms < self.now_ms - self.now_ms % self.tick_ms + self.tick_ms:
            return None
        level = 1
        while True:
            tick_ms = self.tick(level)
            if deadline_ms < self.now_ms - self.now_ms % tick_ms + tick_ms * self.size(level):
                return level, deadline_ms // tick_ms % self.size(level)
            level += 1

    def due_ms(self, level: int, slot: int) -> int:
        """Return when a bucket is due, in ms: at the beginning of the time that it covers."""
        tick_ms = self.tick(level)
        hand = self.now_ms // tick_ms
        return (hand + (slot - hand) % self.size(level)) * tick_ms

    def add(self, task: int, deadline_ms: int) -> Place | None:
        """Put a task into its bucket. Return this bucket, or None if the task is due already."""
        place = self.place(deadline_ms)
        if place is not None:
            self.buckets.setdefault(place, []).append((task, deadline_ms))
        return place

    def cancel(self, task: int) -> None:
        """Take a task out of its bucket."""
        for place, tasks in list(self.buckets.items()):
            self.buckets[place] = [one for one in tasks if one[0] != task]
            if not self.buckets[place]:
                del self.buckets[place]

    def advance_clock(self, time_ms: int) -> list[Move]:
        """Empty every bucket that is due up to `time_ms`. Return the moves of its tasks."""
        raise NotImplementedError(
            "Timer.advance_clock is not written yet: it returns a list of (when, task, place)"
        )
