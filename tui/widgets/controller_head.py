"""The head of the Controller screen: which broker is the controller, and its queue."""

from rich.text import Text

from kafka_edu.common.words import joined, plural

from ..model import Model
from ..subjects import CONTROLLER_QUEUE
from ..view_model.controller_view import ControllerView, Term
from ..view_model.figures import duration, old, sparkline
from .drawn import Drawn, ink, stacked

_QUEUE_BARS = 12


def took(us: int) -> str:
    """Format a short time: in µs if it is below one ms, else as a duration."""
    return f"{us} µs" if us < 1000 else duration(us / 1000)


class ControllerHead(Drawn, can_focus=True):
    """Shows the controller and its term, its queue, and the earlier terms."""

    subject = CONTROLLER_QUEUE

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="controller-head")
        self.selected: int | None = None
        """The broker to which the screen's acts apply."""

    def draw(self) -> Text:
        view = self.model.controller
        lines = [self._term(view), self._queue(view), self._before(view)]
        return stacked(lines[: max(self.size.height, 1)], self.size.width)

    def _term(self, view: ControllerView) -> Text:
        colours, term = self.palette, view.term
        glow = f" on {colours.glow}" if view.glow.glows("term") else ""
        broker, unknown = self.model.cluster.controller, self.model.controller_unknown()
        if unknown and broker >= 0:
            line = ink("♛ ", colours.warning)
            line.append(f"broker {broker}", f"bold {colours.broker(broker)}")
            why = unknown.removeprefix("not known: ")
            line.append(f" is the controller. Its queue and decisions are not known: {why}")
        elif unknown:
            return ink(f"? no controller is known yet: {unknown}", colours.warning)
        elif term is None:
            last = view.terms[-1] if view.terms else None
            words = "there is no controller" if last is not None else "no controller is known yet"
            line = ink(f"✕ {words}", f"bold {colours.error}{glow}")
            if last is not None:
                ago = duration((view.glow.now_us - last.to_us) / 1000)
                line.append(f": broker {last.broker}'s term ended {ago} ago, {last.ended}")
        else:
            line = ink("♛ ", colours.warning)
            line.append(f"broker {term.broker}", f"bold {colours.broker(term.broker)}{glow}")
            line.append(" is the controller")
            if term.from_us >= 0:
                line.append(f", elected {duration((view.glow.now_us - term.from_us) / 1000)} ago")
            line.append(f" · epoch {term.epoch}", "bold")
            if view.sampled is not None:
                sampled = view.sampled
                line.append(
                    f" · {plural(sampled.partitions, 'partition')}, {sampled.offline_partitions:,}"
                    f" offline, {sampled.preferred_replica_imbalance:,} not led by the preferred"
                    " replica",
                    colours.dim,
                )
            if age_us := self.model.old_us(term.broker):
                line.append(f" · ? {old(age_us)}", f"bold {colours.warning}")
        return line

    def _queue(self, view: ControllerView) -> Text:
        colours = self.palette
        line = ink("queue ", colours.dim)
        line.append(sparkline(view.queue_history, _QUEUE_BARS, 4.0), colours.warning)
        waiting, running = view.waiting(), view.running()
        if waiting:
            oldest = duration((view.glow.now_us - waiting[0].at_us) / 1000)
            names = joined([event.name for event in waiting], 2)
            line.append(f" {plural(len(waiting), 'event')} waiting, the oldest {oldest}", "bold")
            line.append(f": {names}", colours.dim)
        elif self.model.controller_unknown():
            line.append(" ?", colours.dim)
        else:
            line.append(" nothing waits", colours.dim)
        if running is not None:
            busy = duration((view.glow.now_us - running.envelope.mono_us) / 1000)
            line.append(f" · busy with {running.name} for {busy}", f"bold {colours.warning}")
        elif view.term is not None:
            line.append(" · idle", colours.dim)
        if view.sampled is not None and view.sampled.requests_queued:
            sent = plural(view.sampled.requests_queued, "request")
            line.append(f" · {sent} to brokers not answered", colours.warning)
        if self.selected is not None:
            line.append(" · ← → acts on ", colours.dim)
            line.append(f"broker {self.selected}", f"bold {colours.broker(self.selected)}")
        return line

    def _before(self, view: ControllerView) -> Text:
        """Return which brokers were the controller before, as a text."""
        colours = self.palette
        past = [term for term in reversed(view.terms) if term.to_us >= 0]
        if not past and self.model.controller_unknown():
            return Text()
        if not past:
            return ink("no other controller since you began to look", colours.dim)
        line = ink("before: ", colours.dim)
        for index, term in enumerate(past[:3]):
            line.append(" ← " if index else "", colours.dim)
            line.append(f"broker {term.broker}", colours.broker(term.broker))
            line.append(f" (epoch {term.epoch}{self._length(term)}: {term.ended})", colours.dim)
        return line

    def _length(self, term: Term) -> str:
        return f", {duration((term.to_us - term.from_us) / 1000)}" if term.from_us >= 0 else ""
