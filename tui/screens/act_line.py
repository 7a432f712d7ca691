"""The line above the footer: the act to confirm, and its result."""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from rich.text import Text
from textual.widget import Widget

from kafka_edu.supervisor.act_table import ACTS, Act
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
Values = Mapping[str, int | str]
"""The values of an act's parameters, by their names."""


class _Chosen(NamedTuple):
    act: Act
    values: Values

    @property
    def title(self) -> str:
        return self.act.title_with(dict(self.values))


class ActLine(Widget):
    """Asks the supervisor to act, after a confirmation if the act is dangerous.

    The supervisor then emits an event, which shows the act to everyone.
    """

    def __init__(self, model: Model, folder: ClusterFolder | None) -> None:
        """Pass None as `folder` for a recording, where no act is possible."""
        super().__init__(id="act")
        self.model = model
        self._folder = folder
        self.pending: _Chosen | None = None
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

    def ask(self, name: str, values: Values) -> None:
        """Begin an act of the table. A dangerous one first waits for [y]."""
        chosen = _Chosen(ACTS[name], values)
        if chosen.act.dangerous:
            self.pending = chosen
            words = " ".join([f"{chosen.title}?", *self._costs(chosen), "  [y] yes  [n] no"])
            self._say(words, f"bold reverse {palette_of(self).error}")
            self.screen.refresh_bindings()
        else:
            self._begin(chosen)

    def _costs(self, chosen: _Chosen) -> list[str]:
        """Say what the act costs right now, or what it does."""
        broker, view = chosen.values.get("broker"), self.model.cluster
        if chosen.act.name != "kill" or not isinstance(broker, int):
            return [chosen.act.effect]
        led, all_of_them = view.partitions.led_by(broker), len(view.partitions.by_key)
        costs = f"It leads {led} of {all_of_them} partitions"
        return [costs + (" and is the controller." if view.controller == broker else ".")]

    def answer(self, yes: bool) -> None:
        """Take [y] or [n]."""
        chosen, self.pending = self.pending, None
        self.screen.refresh_bindings()
        if chosen is not None and yes:
            self._begin(chosen)
        else:
            self._say("", "")

    def _begin(self, chosen: _Chosen) -> None:
        self._say(f"… {chosen.title}", f"bold {palette_of(self).warning}")
        self.run_worker(self._perform(chosen), group="act")

    async def _perform(self, chosen: _Chosen) -> None:
        try:
            message = await asyncio.to_thread(self._ask_supervisor, chosen)
            self._say(f"✓ {message}", f"bold {palette_of(self).ok}")
        except (NoSupervisorError, ActionRefusedError) as error:
            self._say(f"✗ {error}", f"bold {palette_of(self).error}")
        said = self._words
        await asyncio.sleep(_SHOWN_S)
        if self._words is said:
            self._say("", "")

    def _ask_supervisor(self, chosen: _Chosen) -> str:
        if self._folder is None:
            raise ActionRefusedError("this is a recording: nothing can be done to it")
        with ActionClient(ActionAddress.read(self._folder.action_address)) as client:
            return str(client.ask(chosen.act.name, **chosen.values).get("message", ""))
