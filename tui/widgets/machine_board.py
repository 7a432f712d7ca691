"""The controller's state machines: each state, its number of objects, and the next states."""

from rich.text import Text

from ..model import Model
from ..subjects import STATE_MACHINES
from ..view_model.figures import count
from ..view_model.state_machine_view import StateMachineView
from .drawn import Drawn, ink, stacked

_NAME = 20
_FIGURES = 3


class MachineBoard(Drawn, can_focus=True):
    """One state machine: a line for each state. In a small place the counts share one line."""

    subject = STATE_MACHINES

    def __init__(self, model: Model, machine: str) -> None:
        super().__init__(model, id=f"machine-{machine}")
        self.machine = machine

    def draw(self) -> Text:
        view = self.model.controller.machines[self.machine]
        lines = [self._brief(view)] if self.size.height < 4 else list(self._table(view))
        return stacked(lines[: max(self.size.height, 1)], self.size.width)

    def _brief(self, view: StateMachineView) -> Text:
        colours = self.palette
        line = ink(f"{self.machine}s", f"bold {colours.dim}")
        shown = [s for s in view.states if view.counts[s] and s != view.nowhere]
        for state in shown:
            glow = f"bold on {colours.glow}" if view.glows(state) else ""
            line.append("  ").append(f"{view.short(state)} {count(view.counts[state])}", glow)
        if not shown:
            unknown = self.model.controller_unknown()
            line.append(f"  ? {unknown}" if unknown else "  none known yet", colours.dim)
        return line

    def _brief_name(self, view: StateMachineView, state: str) -> str:
        """Shorten the name of a state that is shown in full at the left."""
        return view.short(state).replace("Deletion", "Del")

    def _table(self, view: StateMachineView) -> list[Text]:
        colours = self.palette
        title = ink(f"{self.machine}s", f"bold {colours.dim}")
        unknown = self.model.controller_unknown()
        if unknown and not any(view.counts.values()):
            return [title.append(f"  ? {unknown}", colours.dim)]
        known = "what may follow" if view.known else "what followed: this recording has no table"
        title.append(f"  how many, and {known}", colours.dim)
        lines = [title]
        name = min(max((len(view.short(s)) for s in view.states), default=8) + 1, _NAME)
        figures = max((len(count(number)) for number in view.counts.values()), default=0)
        for state in view.states:
            here = view.counts[state]
            glows = view.glows(state)
            there = state == view.nowhere
            strong = f"bold on {colours.glow}" if glows else "bold"
            style = strong if here and not there else colours.quiet(glows)
            line = ink(f"{view.short(state):<{name}}", style)
            line.append(f"{'–' if there else count(here):>{max(figures, _FIGURES)}} ", style)
            for edge in view.edges(state):
                if edge.after == state and not edge.times:
                    continue  # a transition to the same state is not interesting
                hot = f"bold {colours.warning} on {colours.glow}"
                line.append(" ")
                line.append("━▶ " if edge.glows else "→ ", hot if edge.glows else colours.dim)
                words = "itself" if edge.after == state else self._brief_name(view, edge.after)
                words += f" {count(edge.times)}" if edge.times else ""
                words += "" if edge.in_table else " !"
                style = hot if edge.glows else "" if edge.times else colours.dim
                line.append(words, style)
            lines.append(line)
        return lines
