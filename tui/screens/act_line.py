"""The line above the footer: the act to confirm, and its result."""

import asyncio
from typing import Final, NamedTuple

from rich.text import Text
from textual.widget import Widget

from kafka_edu.supervisor.action_client import (
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    NoSupervisorError,
)
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..model import Model
from ..widgets.drawn import ink, palette_of

_SHOWN_S: Final = 8.0
#: action → the text shown while it is under way
DOING: Final = {
    "kill": "killing",
    "start": "starting",
    "pause": "pausing",
    "resume": "resuming",
    "stop": "stopping",
}


class Act(NamedTuple):
    action: str
    broker: int


class ActLine(Widget):
    """Asks the supervisor to act, after a confirmation if a process is to die.

    The supervisor then emits an event, which shows the act to everyone.
    """

    def __init__(self, model: Model, folder: ClusterFolder | None) -> None:
        """Pass None as `folder` for a recording, where no act is possible."""
        super().__init__(id="act")
        self.model = model
        self._folder = folder
        self.pending: Act | None = None
        """The act that waits for yes or no."""
        self._words = Text("")

    @property
    def can_act(self) -> bool:
        return self._folder is not None

    def render(self) -> Text:
        return self._words

    def _say(self, words: str, style: str) -> None:
        self._words = ink(words, style)
        self.display = bool(words)
        self.refresh()

    def on_mount(self) -> None:
        self.display = False

    def ask(self, act: Act) -> None:
        """Begin an act. A kill first waits for [y]."""
        if act.action == "kill":
            self.pending = act
            view = self.model.cluster
            costs = [
                f"it leads {view.partitions.led_by(act.broker)} of {len(view.partitions.by_key)}"
                " partitions"
            ]
            if view.controller == act.broker:
                costs.append("it is the controller")
            self._say(
                f"kill broker {act.broker} with SIGKILL? {', '.join(costs)}   [y] yes  [n] no",
                f"bold reverse {palette_of(self).error}",
            )
            self.screen.refresh_bindings()
        else:
            self._begin(act)

    def answer(self, yes: bool) -> None:
        """Take [y] or [n]."""
        act, self.pending = self.pending, None
        self.screen.refresh_bindings()
        if act is not None and yes:
            self._begin(act)
        else:
            self._say("", "")

    def _begin(self, act: Act) -> None:
        self._say(f"… {DOING[act.action]} broker {act.broker}", f"bold {palette_of(self).warning}")
        self.run_worker(self._perform(act), group="act")

    async def _perform(self, act: Act) -> None:
        try:
            message = await asyncio.to_thread(self._ask_supervisor, act)
            self._say(f"✓ {message}", f"bold {palette_of(self).ok}")
        except (NoSupervisorError, ActionRefusedError) as error:
            self._say(f"✗ {error}", f"bold {palette_of(self).error}")
        said = self._words
        await asyncio.sleep(_SHOWN_S)
        if self._words is said:
            self._say("", "")

    def _ask_supervisor(self, act: Act) -> str:
        if self._folder is None:
            raise ActionRefusedError("this is a recording: nothing can be done to it")
        with ActionClient(ActionAddress.read(self._folder.action_address)) as client:
            return str(client.ask(act.action, broker=act.broker).get("message", ""))
