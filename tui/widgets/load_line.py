"""One line in the head of each screen: the running load and its counts."""

from rich.text import Text

from ..model import Model
from ..subjects import LOAD
from ..view_model.broker_view import OLD_US
from ..view_model.figures import duration, per_second
from ..view_model.load_view import LoadView
from .drawn import Drawn, aged, ink

#: An answer that takes longer than this, in ms, is shown in a warning colour.
SLOW_MS = 1_000


class LoadLine(Drawn):
    """The line about the load. It is shown only while a load is running."""

    subject = LOAD

    def __init__(self, model: Model) -> None:
        super().__init__(model, id="load")

    def on_mount(self) -> None:
        self.display = False

    def tick(self) -> None:
        self.display = bool(self.model.loads.loads)
        if self.display:
            super().tick()

    def draw(self) -> Text:
        running = self.model.loads.running()
        if not running:
            return Text("")
        line = self._counts(running[0])
        if len(running) > 1:
            line.append(f" · and {len(running) - 1} more", style=self.palette.dim)
        line.truncate(max(self.size.width - 2, 1), overflow="ellipsis")
        return line

    def _counts(self, view: LoadView) -> Text:
        state, colours = view.state, self.palette
        line = ink("■ load " if view.stopped else "▶ load ", f"bold {colours.ok}")
        line.append(state.topic, style="bold")
        line.append(f" acks={state.acks}", style=colours.dim)
        slow = state.waiting and state.oldest_ms > SLOW_MS
        late = f"bold {colours.warning}" if slow else ""
        line.append(f" · acked {state.acked:,} ({per_second(view.acked.now)})")
        line.append(
            f" · waiting {state.waiting:,}", style=f"bold {colours.warning}" if slow else ""
        )
        if slow:
            line.append(f" (for {duration(state.oldest_ms)})", style=late)
        line.append(f" · lost {state.lost:,}", style=f"bold {colours.error}" if state.lost else "")
        if state.refused:
            line.append(f" · refused {state.refused:,}", style=colours.error)
        line.append(f" · read {state.read:,} · sent {state.sent:,}")
        if state.error:
            line.append(f" · {state.error}", style=colours.warning)
        age_us = self.model.cluster.glow.now_us - view.sampled_us
        return aged([line], age_us if age_us > OLD_US else 0, colours)[0]
