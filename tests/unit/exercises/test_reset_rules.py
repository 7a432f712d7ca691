"""The rules of exercise 14-2: the consumers of the public tests go through every case."""

from collections import Counter
from random import Random

import pytest

from exercises.ch14_offsets.reset_rules import POLICIES, Answer, ResetWorld, RightReset


class Counted(RightReset):
    """Counts the answers of each call."""

    def __init__(self, policy: str) -> None:
        super().__init__(policy)
        self.seen: Counter[tuple[str, str]] = Counter()

    def _count(self, call: str, answer: Answer) -> Answer:
        self.seen[call, "nothing" if answer is None else answer[0]] += 1
        return answer

    def begin(self, partition: str, committed: int | None) -> Answer:
        return self._count("begin", super().begin(partition, committed))

    def out_of_range(self, partition: str, offset: int) -> Answer:
        return self._count("out_of_range", super().out_of_range(partition, offset))

    def truncated(self, partition: str, offset: int, end: int | None) -> Answer:
        return self._count("truncated", super().truncated(partition, offset, end))

    def found(self, partition: str, place: str | int, offset: int | None) -> Answer:
        return self._count("found", super().found(partition, place, offset))


@pytest.mark.parametrize("policy", POLICIES)
def test_each_case_comes(policy: str) -> None:
    rules = Counted(policy)
    for seed in range(30):
        ResetWorld(rules, Random(seed), 3).run(200)
    failed = "fail" if policy == "none" else "look"
    for case in (
        ("begin", "go"),
        ("begin", failed),
        ("out_of_range", failed),
        ("truncated", "go"),
        ("truncated", failed),
        ("found", "go"),
        ("found", "look"),
        ("found", "nothing"),
    ):
        assert rules.seen[case] > 5, case
