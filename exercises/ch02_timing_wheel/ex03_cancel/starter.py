"""Exercise 02-3: write Bucket.remove and Timer.cancel. README.md describes the task. Check your
file with `kafka-edu lab check 02-3`. `kafka-edu lab hint 02-3` gives a hint.
"""

from collections.abc import Sequence

Place = tuple[int, int]  # a level from 1 and a slot from 0
Move = tuple[int, int, Place | None]  # when, which task, and where to; None if it runs


class Entry:
    """An entry of the doubly linked list (环形双向链表): a task and its deadline."""

    def __init__(self, task: int, deadline_ms: int) -> None:
        self.task = task
        self.deadline_ms = deadline_ms
        self.next = self
        self.prev = self
        self.bucket: Bucket | None = None


class Bucket:
    """The doubly linked list of a bucket's tasks: root ⇄ first ⇄ … ⇄ last ⇄ root."""

    def __init__(self, level: int, slot: int) -> None:
        self.level = level
        self.slot = slot
        self.size = 0
        self.root = Entry(0, 0)

    def append(self, entry: Entry) -> None:
        """Put an entry at the end of this list. The entry must not be in any list. O(1)."""
        last = self.root.prev
        entry.prev, entry.next, entry.bucket = last, self.root, self
        last.next = self.root.prev = entry
        self.size += 1

    def take_all(self) -> list[Entry]:
        """Remove all entries, and return them in their order."""
        entries = []
        entry = self.root.next
        while entry is not self.root:
            entries.append(entry)
            entry.bucket = None
            entry = entry.next
        self.root.next = self.root.prev = self.root
        self.size = 0
        return entries

    def tasks(self) -> list[int]:
        """Return the tasks from first to last."""
        tasks = []
        entry = self.root.next
        while entry is not self.root:
            tasks.append(entry.task)
            entry = entry.next
        return tasks

    def tasks_backward(self) -> list[int]:
        """Return the tasks from last to first."""
        tasks = []
        entry = self.root.prev
        while entry is not self.root:
            tasks.append(entry.task)
            entry = entry.prev
        return tasks

    def remove(self, entry: Entry) -> None:
        """Remove an entry of this list from the list. O(1)."""
        raise NotImplementedError("Bucket.remove is not written yet: it returns nothing")


class Timer:
    """A timer: its wheels have buckets, and the buckets hold tasks. A task is a number."""

    def __init__(self, tick_ms: int, slots: Sequence[int], start_ms: int) -> None:
        self.tick_ms = tick_ms
        self.slots = slots
        self.now_ms = start_ms
        self.buckets: dict[Place, Bucket] = {}
        self.entries: dict[int, Entry] = {}  # the tasks that wait

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
        return self._add(Entry(task, deadline_ms))

    def _add(self, entry: Entry) -> Place | None:
        place = self.place(entry.deadline_ms)
        if place is None:
            self.entries.pop(entry.task, None)
            return None
        if place not in self.buckets:
            self.buckets[place] = Bucket(*place)
        self.buckets[place].append(entry)
        self.entries[entry.task] = entry
        return place

    def advance_clock(self, time_ms: int) -> list[Move]:
        """Empty every bucket that is due up to `time_ms`, and return the moves of its tasks
        (exercise 02-2).
        """
        moves: list[Move] = []
        while self.buckets:
            next_one = min(self.buckets, key=lambda place: (self.due_ms(*place), -place[0]))
            due_ms = self.due_ms(*next_one)
            if due_ms > time_ms:
                break
            self.now_ms = due_ms
            for entry in self.buckets.pop(next_one).take_all():
                moves.append((due_ms, entry.task, self._add(entry)))
        self.now_ms = time_ms
        return moves

    def bucket(self, level: int, slot: int) -> tuple[int, list[int], list[int]]:
        """Return the number of tasks in a bucket, its tasks forward, and its tasks backward."""
        bucket = self.buckets.get((level, slot), Bucket(level, slot))
        return bucket.size, bucket.tasks(), bucket.tasks_backward()

    def cancel(self, task: int) -> Place | None:
        """Remove a waiting task. Return its place, or None if it does not wait. O(1)."""
        raise NotImplementedError(
            "Timer.cancel is not written yet: it returns (level, slot), or None"
        )
