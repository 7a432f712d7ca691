"""One line on the Cluster screen: which parts of the brokers were written by a learner."""

from rich.text import Text

from kafka_edu.common.words import joined

from ..model import Model
from ..palette import Palette
from ..subjects import LEARNERS
from ..view_model.learners_view import LearnersView
from .drawn import Drawn, ink


class LearnerLine(Drawn):
    """The line about learners' parts. It is shown only while a learner's part is used."""

    subject = LEARNERS

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="learner")

    def on_mount(self) -> None:
        self.display = False

    def tick(self) -> None:
        self.display = bool(self.model.learners.parts)
        if self.display:
            super().tick()

    def draw(self) -> Text:
        return line_of(self.model.learners, self.palette, max(self.size.width - 2, 1))


def line_of(learners: LearnersView, colours: Palette, width: int) -> Text:
    """Return the line's text, at most `width` columns wide."""
    line = ink("your parts (calls): ", f"bold {colours.ok}")
    for number, (exercise, parts) in enumerate(sorted(learners.parts.items())):
        failures = sum(part.failures for part in parts.values())
        retired = [str(broker) for broker, part in sorted(parts.items()) if part.retired]
        line.append(" · " if number else "")
        line.append(exercise, style="bold")
        line.append(f" {sum(part.calls for part in parts.values()):,}", style=colours.dim)
        if failures:
            line.append(f" ✕ {failures:,}", style=colours.error)
        if retired:
            line.append(f", ours in broker {joined(retired)}", style=colours.warning)
    brokers = learners.brokers
    which = "broker" if len(brokers) == 1 else "brokers"
    line.append(f" · {which} {joined(list(map(str, brokers)))}", style=colours.dim)
    line.truncate(width, overflow="ellipsis")
    return line
