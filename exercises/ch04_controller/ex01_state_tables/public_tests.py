"""Public tests of exercise 04-1. `kafka-edu lab check 04-1` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..state_rules import GONE, TABLES, RightMachine

FORM = "handle returns (changed, refused): two lists of (name, the state that it had)"


class Checked:
    """A state machine of the learner's class. Each answer is compared with the right answer."""

    def __init__(self, learner: Learner, machine: str) -> None:
        self.made = learner.make(machine)
        self.machine = machine
        self.right = RightMachine(machine)

    def handle(self, names: Sequence[str], wanted: str) -> None:
        """Call `handle`, and compare its answer with the right answer. Raises Mismatch if they
        differ.
        """
        before = {name: self.right.known.get(name, GONE) for name in names}
        expected = self.right.handle(names, wanted)
        came = self.made.call("handle", list(names), wanted)
        if came != expected:
            raise Mismatch(
                f"handle({list(names)}, {wanted!r}) of a {self.machine}'s machine",
                expected,
                came,
                self._why(expected, came, wanted),
                drawing=tuple(f"{name}: {state} → {wanted}?" for name, state in before.items()),
                read="the table, and the loop over the names",
            )

    def _why(self, expected: tuple[object, object], came: object, wanted: str) -> str:
        match came:
            case (tuple(changed), tuple(refused)):
                pass
            case _:
                return FORM
        right = {*_items(expected[0]), *_items(expected[1])}
        if {*changed, *refused} == right and {*changed} != {*_items(expected[0])}:
            allowed = ", ".join(sorted(TABLES[self.machine].get(wanted, ()))) or "nowhere"
            return f"{wanted} may be entered from {allowed}, and from no other state"
        return (
            "each name is judged by the state that it has at that moment, in the order of the"
            f" names; a name that was never heard of is {GONE}. {FORM}"
        )

    def states(self) -> None:
        """Call `states`, and compare its answer with the right answer. Raises Mismatch if they
        differ.
        """
        expected, came = self.right.states(), self.made.call("states")
        if came != expected:
            raise Mismatch(
                "states()",
                expected,
                came,
                f"it names all that exist, in the order of their names, and nothing that is {GONE}",
                read="states, and what handle remembers",
            )


def _items(value: object) -> tuple[object, ...]:
    return value if isinstance(value, tuple) else ()


def test_example(learner: Learner) -> None:
    """the example of README.md"""
    one = Checked(learner, "partition")
    one.handle(["web-0", "web-1"], "New")
    one.handle(["web-0", "pay-0"], "Online")
    one.states()


def test_partition_changes(learner: Learner) -> None:
    """each change of a partition that the table allows, and each that it does not allow"""
    _each_change(learner, "partition")


def test_replica_changes(learner: Learner) -> None:
    """each change of a replica that the table allows, and each that it does not allow"""
    _each_change(learner, "replica")


def _each_change(learner: Learner, machine: str) -> None:
    ways = _ways(machine)
    for before, way in ways.items():
        for wanted in TABLES[machine]:
            one = Checked(learner, machine)
            for state in way:
                one.handle(["a"], state)
            assert one.right.known.get("a", GONE) == before
            one.handle(["a"], wanted)
            one.states()


def _ways(machine: str) -> dict[str, tuple[str, ...]]:
    """Return, for each state, a shortest path of states that leads to it from NonExistent."""
    ways: dict[str, tuple[str, ...]] = {GONE: ()}
    todo = [GONE]
    for state in todo:
        for after, befores in TABLES[machine].items():
            if state in befores and after not in ways:
                ways[after] = (*ways[state], after)
                todo.append(after)
    return ways


def test_some_refused(learner: Learner) -> None:
    """one refused name does not stop the changes of the other names"""
    one = Checked(learner, "partition")
    one.handle(["a-0", "a-2"], "New")
    one.handle(["a-0", "a-1", "a-2", "a-3"], "Offline")
    one.states()


def test_twice(learner: Learner) -> None:
    """the same name stands twice in one call"""
    one = Checked(learner, "partition")
    one.handle(["b", "a", "b"], "New")
    one.handle(["a", "a"], "Online")
    one.states()


def test_forgotten(learner: Learner) -> None:
    """a deleted name is forgotten, and may be created again"""
    one = Checked(learner, "replica")
    for state in ("New", "Online", "Offline", "DeletionStarted", "DeletionSuccessful", GONE):
        one.handle(["web-0 on 1", "web-0 on 2"], state)
        one.states()
    one.handle(["web-0 on 2"], "New")
    one.states()


@pytest.mark.parametrize(
    ("machine", "wanted"), [("partition", "DeletionStarted"), ("replica", "Deleted")]
)
def test_no_such_state(learner: Learner, machine: str, wanted: str) -> None:
    """the wanted state does not exist in this machine: each name is refused"""
    one = Checked(learner, machine)
    one.handle(["a"], "New")
    one.handle(["a", "b"], wanted)
    one.states()


def test_random(learner: Learner, seed: int) -> None:
    """a hundred random calls"""
    random = Random(f"states/{seed}")
    machine = random.choice(sorted(TABLES))
    one = Checked(learner, machine)
    names = [f"t-{number}" for number in range(6)]
    for _ in range(100):
        chosen = random.choices(names, k=random.randint(1, 4))
        one.handle(chosen, random.choice(sorted(TABLES[machine])))
    one.states()
