"""The line above the footer: an act to confirm, and its result."""

from typing import Final, NamedTuple

from rich.text import Text
from textual.widget import Widget

from kafka_edu.supervisor.act_table import ACTS, Act
from kafka_edu.supervisor.action_client import ActionRefusedError, NoSupervisorError
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..asking import Values, ask_of
from ..model import Model
from ..widgets.drawn import ink, palette_of

_SHOWN_S: Final = 8.0


class _Chosen(NamedTuple):
    act: Act
    values: Values

    @property
    def title(self) -> str:
        return self.act.title_with(dict(self.values))


class ActLine(Widget):
    """Asks the supervisor to carry out acts. A dangerous act must be confirmed first.

    The line shows the result of every act of every screen, including acts that do not go through
    the supervisor. It shows `…` until the supervisor answers, then `✓` and the result, or `✗` and
    the reason why the act was not done. The supervisor also emits an event, so that all dashboards
    show the act.
    """

    def __init__(self, model: Model, folder: ClusterFolder | None) -> None:
        """Create the line. `folder` is None for a recording, where no act is possible."""
        super().__init__(id="act")
        self.model = model
        self._folder = folder
        self.pending: _Chosen | None = None
        """The act that waits for yes or no, or None."""
        self._question = Text("")
        """The question. It is shown instead of results while an act waits for yes or no."""
        self._words = Text("")

    @property
    def can_act(self) -> bool:
        return self._folder is not None

    def render(self) -> Text:
        return self._question or self._words

    def on_mount(self) -> None:
        self.display = False

    def _show(self) -> None:
        self.display = bool(self._question or self._words)
        self.refresh()

    def _say(self, words: str, colour: str) -> None:
        self._words = said = ink(words, f"bold {colour}")
        self._show()

        def forget() -> None:
            if self._words is said:
                self._words = Text("")
                self._show()

        self.set_timer(_SHOWN_S, forget)

    def confirm(self, words: str) -> None:
        """Show the result of an act that was done."""
        self._say(f"✓ {words}", palette_of(self).ok)

    def refuse(self, words: str) -> None:
        """Show why an act was not done."""
        self._say(f"✗ {words}", palette_of(self).error)

    def ask(self, name: str, values: Values) -> None:
        """Start an act of the table ACTS. A dangerous act first waits for [y]."""
        chosen = _Chosen(ACTS[name], values)
        if chosen.act.dangerous:
            self.pending = chosen
            words = " ".join([f"{chosen.title}?", *self._costs(chosen), "  [y] yes  [n] no"])
            self._question = ink(words, f"bold reverse {palette_of(self).error}")
            self._show()
            self.screen.refresh_bindings()
        else:
            self.run_worker(self.perform(name, values), group="act")

    def _costs(self, chosen: _Chosen) -> list[str]:
        """Return lines with the effects of a kill at this moment. For another act, return a
        description.
        """
        broker, view = chosen.values.get("broker"), self.model.cluster
        if chosen.act.name != "kill" or not isinstance(broker, int):
            return [chosen.act.effect]
        led, all_of_them = view.partitions.led_by(broker), len(view.partitions.by_key)
        costs = f"It leads {led} of {all_of_them} partitions"
        return [costs + (" and is the controller." if view.controller == broker else ".")]

    def answer(self, yes: bool) -> None:
        """Carry out the pending act if the answer is yes ([y]), or drop it ([n])."""
        chosen, self.pending = self.pending, None
        self._question = Text("")
        self._show()
        self.screen.refresh_bindings()
        if chosen is not None and yes:
            self.run_worker(self.perform(chosen.act.name, chosen.values), group="act")

    async def perform(self, name: str, values: Values) -> bool:
        """Send an act of the table ACTS to the supervisor. Return whether it was done."""
        chosen = _Chosen(ACTS[name], values)
        self._words = ink(f"… {chosen.title}", f"bold {palette_of(self).warning}")
        self._show()
        try:
            message = await self._ask(name, values)
        except (NoSupervisorError, ActionRefusedError) as error:
            self.refuse(str(error))
            return False
        self.confirm(message)
        return True

    async def ask_simulation(self, command: str, values: Values | None = None) -> str | None:
        """Send a command to a simulated run. Return its result, or None if it was refused."""
        try:
            return await self._ask(command, values or {})
        except (NoSupervisorError, ActionRefusedError) as error:
            self.refuse(str(error))
            return None

    async def _ask(self, name: str, values: Values) -> str:
        return await ask_of(self)(name, {**self.model.moment(), **values})
