"""Draw a state machine: the table of its states, and the path that one object took through it."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import graphviz

from .figure import BLUE, GREY, LOUD, YELLOW, new_figure

NAME_WIDTH: Final = 28


class Machine(NamedTuple):
    """A state machine, and the path of one object (a partition, a replica) through it."""

    title: str
    befores: Mapping[str, Collection[str]]
    """Each state, and the states from which it may be entered. The code has the same table."""
    way: Sequence[str]
    """The states that the object entered, in order.

    A step that is not in the table is drawn dashed. Such steps happen when a new owner of the
    machine sets states directly. Without a table, no step is dashed.
    """
    of: str
    """The name of the object whose path is drawn: `t-0`."""


def machine_figure(machine: Machine) -> graphviz.Digraph:
    """Draw the table, and the path as numbered bold arrows.

    Steps from a state to the same state are left out.
    """
    of = machine.of if len(machine.of) <= NAME_WIDTH else f"{machine.of[:NAME_WIDTH]}…"
    legend = [(BLUE, "a state")] if machine.befores else []
    if machine.way:
        legend.append((YELLOW, f"on the way of {of}"))
    figure = new_figure("states", machine.title, legend, rankdir="TB")
    figure.attr("node", shape="box", style="filled")
    steps = [step for step in pairwise(machine.way) if step[0] != step[1]]
    numbers: dict[tuple[str, str], list[str]] = {}
    for number, step in enumerate(steps, 1):
        numbers.setdefault(step, []).append(str(number))
    states = [*machine.befores, *(s for s in machine.way if s not in machine.befores)]
    last = machine.way[-1] if machine.way else ""
    for state in dict.fromkeys(states):
        colour = YELLOW if state in machine.way else BLUE if machine.befores else GREY
        figure.node(state, fillcolor=colour, penwidth="3" if state == last else "1")
    for after, befores in machine.befores.items():
        for before in sorted(befores):
            figure.edge(before, after, **_arrow(numbers.pop((before, after), [])))
    for (before, after), times in numbers.items():
        style = "dashed" if machine.befores else "solid"
        figure.edge(before, after, **_arrow(times), style=style)
    return figure


def _arrow(times: Sequence[str]) -> dict[str, str]:
    if not times:
        return {}
    shown = ", ".join(times[:3]) + (" …" if len(times) > 3 else "")
    return {"penwidth": "3", "color": LOUD, "label": f" {shown} "}
