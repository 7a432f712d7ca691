"""Compare a learner's timer with a correct timer, for the exercises 02-2 to 02-4."""

from collections.abc import Callable
from random import Random
from typing import Final

from kafka_edu.learner.learner import Learner

from ..runner.mismatch import Mismatch
from .moves import Course, Move, side_by_side

ROUNDS: Final = 8
STEPS: Final = 25


class CheckedTimer:
    """A timer of the learner's class and a correct timer. All answers of the two are compared."""

    def __init__(
        self,
        learner: Learner,
        tick_ms: int,
        slots: tuple[int, ...],
        start_ms: int,
        *,
        judge_cancel: bool = False,
    ) -> None:
        """Make both timers. The answers of `cancel` are compared only if `judge_cancel` is True."""
        self.made = learner.make(tick_ms, slots, start_ms)
        self.right = Course(tick_ms, slots, start_ms)
        self._numbers = f"Timer({tick_ms}, {list(slots)}, {start_ms})"
        self._deadlines: dict[int, int] = {}
        self._judge_cancel = judge_cancel

    @property
    def now_ms(self) -> int:
        return self.right.wheels.now_ms

    def _asked(self, call: str) -> str:
        return f"{call} at {self.now_ms} ms, {self._numbers}"

    def add(self, task: int, deadline_ms: int) -> None:
        """Add a task to both timers. Raises Mismatch if their answers differ."""
        asked = self._asked(f"add({task}, {deadline_ms})")
        expected = self.right.add(task, deadline_ms)
        came = self.made.call("add", task, deadline_ms)
        self._deadlines[task] = deadline_ms
        if came != expected:
            raise Mismatch(
                asked,
                expected,
                came,
                f"the hand is at {self.now_ms:,} ms, and the deadline is"
                f" {deadline_ms - self.now_ms:,} ms away"
                + ("" if came is None else ". If add was right before, where is your hand?"),
                read="self.now_ms, which add looks at, and place",
            )

    def cancel(self, task: int) -> None:
        """Cancel a task in both timers. Raises Mismatch if their answers differ."""
        asked = self._asked(f"cancel({task})")
        was_known = task in self._deadlines
        expected = self.right.cancel(task)
        came = self.made.call("cancel", task)
        if self._judge_cancel and came != expected:
            if expected is not None:
                why = f"task {task} is in the bucket of level {expected[0]}, slot {expected[1]}"
                if came is not None:
                    why += ". It stays there until that bucket is due, wherever the hand is"
            elif was_known:
                why = f"task {task} does not wait any more: it has run, or was cancelled before"
            else:
                why = f"task {task} was never added"
            raise Mismatch(asked, expected, came, why, read="cancel")

    def sees_bucket(self, level: int, slot: int) -> None:
        """Compare the tasks in a bucket, forward and backward. Raises Mismatch if they differ."""
        tasks = self.right.tasks_in((level, slot))
        expected = len(tasks), tuple(tasks), tuple(reversed(tasks))
        came = self.made.call("bucket", level, slot)
        if came == expected:
            return
        why, read = "the size, the tasks forward, the tasks backward", "Bucket.remove"
        match came:
            case (int(size), tuple(forward), tuple(backward)):
                if forward != expected[1]:
                    why = "from the root, the arrows `next` lead to other tasks"
                    why += ": a cancelled task is still linked" if set(forward) - set(tasks) else ""
                elif backward != expected[2]:
                    why = "the arrows `next` are right, but the arrows `prev` lead to other tasks"
                elif size != expected[0]:
                    why = "the list is right, but its size is not"
        raise Mismatch(self._asked(f"bucket({level}, {slot})"), expected, came, why, read=read)

    def advance(self, time_ms: int) -> None:
        """Advance the clock of both timers. Raises Mismatch if their moves differ."""
        asked = self._asked(f"advance_clock({time_ms})")
        expected = self.right.advance_clock(time_ms)
        came = self.made.call("advance_clock", time_ms)
        if came != tuple(expected):
            moves = list(came) if isinstance(came, tuple) else [came]
            raise Mismatch(
                asked,
                expected,
                list(came) if isinstance(came, tuple) else came,
                self._why(expected, moves),
                drawing=side_by_side(expected, moves),
                read="advance_clock",
            )

    def _why(self, expected: list[Move], came: list[object]) -> str:
        """Return an explanation of the first wrong move."""
        index = next(
            (i for i, (one, other) in enumerate(zip(expected, came, strict=False)) if one != other),
            min(len(expected), len(came)),
        )
        right = expected[index] if index < len(expected) else None
        wrong = came[index] if index < len(came) else None
        if right is not None and not any(
            isinstance(move, tuple) and move[:2] == right[:2] for move in came
        ):
            return (
                f"task {right[1]} was in a bucket that is due at {right[0]:,} ms, and your answer"
                " leaves that out"
            )
        match right, wrong:
            case None, (int(when), int(task), *_):
                return f"nothing more was due; your answer has task {task} at {when:,} ms"
            case (when, task, (level, slot)), (int(same), int(other), None) if (
                when == same and task == other
            ):
                left_ms = self._deadlines[task] - when
                return (
                    f"at {when:,} ms task {task} has {left_ms:,} ms left, so it must not run yet:"
                    f" it comes down to level {level}, slot {slot}"
                )
            case (when, task, None), (int(same), int(other), _) if when == same and task == other:
                return f"the deadline of task {task} is {when:,} ms, so it runs"
            case (when, task, (level, _)), (int(same), int(other), (int(theirs), int(_))) if (
                when == same and task == other
            ):
                return (
                    f"at {when:,} ms task {task} has {self._deadlines[task] - when:,} ms left, and"
                    f" level {level} reaches that far. You put it on level {theirs}: where was the"
                    " hand when you added it again?"
                )
            case (when, task, _), (int(same), int(other), *_) if when == same and task != other:
                return (
                    f"both tasks move at {when:,} ms. The bucket of the higher level comes first,"
                    " and in a bucket the task that was put in first"
                )
            case (when, task, _), (int(other_ms), int(other), *_):
                return (
                    f"the bucket that is due first comes first: task {task} at {when:,} ms, not"
                    f" task {other} at {other_ms:,} ms"
                )
        return "a move is (when, task, place), and place is (level, slot) or None"


def try_many(make: Callable[..., CheckedTimer], seed: int) -> None:
    """Make timers with random wheels. Add and cancel random tasks, and advance the clock."""
    random = Random(seed)
    for _ in range(ROUNDS):
        slots = tuple(random.randint(2, 25) for _ in range(random.randint(1, 3)))
        tick_ms = random.choice((1, 1, 5, 10))
        timer = make(tick_ms, slots, random.randrange(1_000_000))
        for step in range(STEPS):
            distance = random.randrange(10 ** random.randint(1, 5))
            deadline_ms = timer.now_ms + distance
            edge = timer.right.wheels.reach(random.randint(1, 3))[random.randint(0, 1)]
            timer.add(step, random.choice((deadline_ms, edge, edge - 1)))
            if step and random.random() < 0.2:
                timer.cancel(random.randrange(step))
            if random.random() < 0.4:
                timer.advance(timer.now_ms + random.randrange(10 ** random.randint(1, 4)))
        timer.advance(timer.now_ms + 10_000_000)
