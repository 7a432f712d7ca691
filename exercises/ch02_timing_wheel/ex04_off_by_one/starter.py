"""Exercise 02-4: one line of this timer is wrong. README.md describes the task. Check your file
with `kafka-edu lab check 02-4`. `kafka-edu lab hint 02-4` gives a hint.
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
        ahead = (slot - hand - 1) % self.size(level) + 1
        return (hand + ahead) * tick_ms

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
        moves: list[Move] = []
        while self.buckets:
            next_one = min(self.buckets, key=lambda place: (self.due_ms(*place), -place[0]))
            due_ms = self.due_ms(*next_one)
            if due_ms > time_ms:
                break
            self.now_ms = due_ms
            for task, deadline_ms in self.buckets.pop(next_one):
                moves.append((due_ms, task, self.add(task, deadline_ms)))
        self.now_ms = time_ms
        return moves

    def diagnosis(self) -> tuple[int, int, str]:
        """Return your three findings: the number of the first wrong event in events.txt, the ms by
        which its task runs late, and the name of the wrong method.
        """
        raise NotImplementedError(
            "Timer.diagnosis is not written yet: it returns (number of the event, ms late, method)"
        )
