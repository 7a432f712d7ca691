"""Exercise 02-2: the reference solution."""

from collections.abc import Sequence

Place = tuple[int, int]  # a level from 1 and a slot from 0
Move = tuple[int, int, Place | None]  # when, which task, and where to; None if it runs


class Timer:
    """A hierarchical timing wheel. Its buckets hold tasks, and a task is a number."""

    def __init__(self, tick_ms: int, slots: Sequence[int], start_ms: int) -> None:
        self.tick_ms = tick_ms
        self.slots = slots
        self.now_ms = start_ms
        self.buckets: dict[Place, list[tuple[int, int]]] = {}

    def size(self, level: int) -> int:
        """Return how many slots a level has."""
        return self.slots[min(level, len(self.slots)) - 1]

    def tick(self, level: int) -> int:
        """Return how many ms a bucket of a level covers."""
        tick_ms = self.tick_ms
        for below in range(1, level):
            tick_ms *= self.size(below)
        return tick_ms

    def place(self, deadline_ms: int) -> Place | None:
        """Return (level, slot) of the bucket for a deadline, or None if the task is due already."""
        if deadline_ms < self.now_ms - self.now_ms % self.tick_ms + self.tick_ms:
            return None
        level = 1
        while True:
            tick_ms = self.tick(level)
            if deadline_ms < self.now_ms - self.now_ms % tick_ms + tick_ms * self.size(level):
                return level, deadline_ms // tick_ms % self.size(level)
            level += 1

    def due_ms(self, level: int, slot: int) -> int:
        """Return the time (ms) at which a bucket is due: the start of the time that it covers."""
        tick_ms = self.tick(level)
        hand = self.now_ms // tick_ms
        return (hand + (slot - hand) % self.size(level)) * tick_ms

    def add(self, task: int, deadline_ms: int) -> Place | None:
        """Put a task into its bucket. Return the bucket's place, or None if the task is due."""
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
        """Empty every bucket that is due up to `time_ms`. Return a Move for each of its tasks."""
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
