"""Compute the right bucket for a task in the wheels of a timer, with an explanation and a picture.

The checks of this chapter compare a learner's answers with the buckets that are computed here.
"""

from itertools import count
from typing import Final, NamedTuple

SLOTS_A_ROW: Final = 20


class Place(NamedTuple):
    """A bucket for a task, as `add` of exercise 02-1 returns it."""

    level: int
    slot: int
    left_over_ms: int


class Wheels(NamedTuple):
    """The numbers that describe the wheels of one timer at one moment."""

    tick_ms: int
    """The tick of level 1."""
    slots: tuple[int, ...]
    """The number of slots of each level from 1. The last number counts for all higher levels."""
    now_ms: int

    def size(self, level: int) -> int:
        """Return the number of slots of the wheel on this level."""
        return self.slots[min(level, len(self.slots)) - 1]

    def tick(self, level: int) -> int:
        """Return the time that one bucket of this level covers, in ms."""
        tick_ms = self.tick_ms
        for below in range(1, level):
            tick_ms *= self.size(below)
        return tick_ms

    def hand(self, level: int) -> int:
        """Return the hand's position on this level: the current time, rounded down to its tick."""
        return self.now_ms - self.now_ms % self.tick(level)

    def reach(self, level: int) -> tuple[int, int]:
        """Return the earliest deadline that belongs to this level, and the earliest deadline that
        is too late for it.
        """
        hand, tick_ms = self.hand(level), self.tick(level)
        return hand + tick_ms, hand + tick_ms * self.size(level)

    def on_level(self, level: int, deadline_ms: int) -> Place:
        """Return the bucket of this level that covers `deadline_ms`."""
        tick_ms = self.tick(level)
        return Place(level, deadline_ms // tick_ms % self.size(level), deadline_ms % tick_ms)

    def place(self, deadline_ms: int) -> Place | None:
        """Return the right bucket for a task; None if the task is due already."""
        if deadline_ms < self.reach(1)[0]:
            return None
        level = next(level for level in count(1) if deadline_ms < self.reach(level)[1])
        return self.on_level(level, deadline_ms)

    def why(self, deadline_ms: int, came: object) -> tuple[str, str]:
        """Return why the answer `came` is wrong, and the part of `add` that makes it wrong."""
        expected = self.place(deadline_ms)
        first = self.reach(1)[0]
        due_rule = "the first comparison in add, which finds the tasks that are due"
        match came:
            case None if expected is not None:
                return (
                    f"the task is not due: the tick under the hand is [{self.hand(1):,},"
                    f" {first:,}), and {deadline_ms:,} lies after it",
                    due_rule,
                )
            case None | (int(), int(), int()) if not isinstance(came, bool):
                pass
            case _:
                return (
                    "an answer is three whole numbers (level, slot, left_over_ms), or None for a"
                    " task that is due",
                    "the return statements of add",
                )
        if expected is None:
            return (
                f"the task is due: {deadline_ms:,} lies before {first:,}, the end of the tick under"
                " the hand",
                due_rule,
            )
        assert isinstance(came, tuple)
        level, slot, left_ms = came
        if level != expected.level:
            return self._why_level(deadline_ms, level, expected), (
                "the second comparison in add, which finds the lowest wheel that reaches far enough"
            )
        tick_ms, size = self.tick(level), self.size(level)
        if slot != expected.slot:
            text = (
                f"a bucket of level {level} covers {tick_ms:,} ms, and there are {size} of them, so"
                f" the slot is {deadline_ms:,} // {tick_ms:,} % {size} = {expected.slot}. Slots"
                " count from time 0, not from the hand"
            )
            if left_ms < 0:
                text += f". Your bucket is due {-left_ms:,} ms after the task, which would run late"
            return text, "the line that computes the slot"
        due_ms = deadline_ms - expected.left_over_ms
        return (
            f"the bucket covers [{due_ms:,}, {due_ms + tick_ms:,}) and is due when that begins, at"
            f" {due_ms:,}; then {deadline_ms:,} - {due_ms:,} = {expected.left_over_ms:,} ms are"
            " left",
            "the line that computes left_over_ms",
        )

    def _why_level(self, deadline_ms: int, level: int, expected: Place) -> str:
        first, end = self.reach(expected.level)
        if level < expected.level:
            below_end = self.reach(max(level, 1))[1]
            text = (
                f"level {level} ends before {below_end:,}, so {deadline_ms:,} is beyond it; the"
                f" lowest level that reaches far enough is {expected.level}, with"
                f" [{first:,}, {end:,})"
            )
            if deadline_ms == below_end:
                text += (
                    f". The bucket of {below_end:,} on level {level} is slot"
                    f" {self.on_level(max(level, 1), deadline_ms).slot}, which is under the hand"
                )
            return text
        return (
            f"level {expected.level} takes [{first:,}, {end:,}), and {deadline_ms:,} fits there;"
            " the lowest level that reaches far enough is right"
        )

    def draw(self, deadline_ms: int, came: object) -> tuple[str, ...]:
        """Return a picture of the wheels with the right place, and with the place `came` if it is
        one.
        """
        expected = self.place(deadline_ms)
        wrong = None
        match came:
            case (int(level), int(slot), int(left_ms)) if (
                1 <= level <= 12 and 0 <= slot < self.size(level)
            ):
                wrong = Place(level, slot, left_ms)
        lines: list[str] = []
        for level in sorted({place.level for place in (expected, wrong) if place is not None}):
            marks = {
                place.slot: mark
                for place, mark in ((wrong, "✗"), (expected, "✓"))
                if place is not None and place.level == level
            }
            lines += self._draw_level(level, marks)
        if expected is not None:
            due_ms = deadline_ms - expected.left_over_ms
            lines.append(
                f"✓ level {expected.level}, slot {expected.slot}: due at {due_ms:,} ms,"
                f" {expected.left_over_ms:,} ms are left"
            )
        if wrong is not None:
            due_ms = deadline_ms - wrong.left_over_ms
            late = f", {due_ms - deadline_ms:,} ms too late" if due_ms > deadline_ms else ""
            lines.append(
                f"✗ level {wrong.level}, slot {wrong.slot}: by your numbers due at"
                f" {due_ms:,} ms{late}"
            )
        return tuple(lines)

    def _draw_level(self, level: int, marks: dict[int, str]) -> list[str]:
        tick_ms, size, hand = self.tick(level), self.size(level), self.hand(level)
        under_hand = hand // tick_ms % size
        lines = [
            f"level {level}: {size} slots of {tick_ms:,} ms; the hand ▲ is at {hand:,} ms, slot"
            f" {under_hand}"
        ]
        for begin in range(0, size, SLOTS_A_ROW):
            row = range(begin, min(begin + SLOTS_A_ROW, size))
            signs = [marks.get(slot, "·") for slot in row]
            if size > SLOTS_A_ROW and not set(row) & {*marks, under_hand}:
                continue  # a picture of a big wheel has only the rows that show something
            lines.append("  slot " + "".join(f"{slot:>3}" for slot in row))
            lines.append("       " + "".join(f"{sign:>3}" for sign in signs))
            if under_hand in row:
                lines.append("       " + "   " * (under_hand - begin) + "  ▲")
        return lines
