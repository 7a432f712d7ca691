"""The screen Requests (8): where the time is spent, part by part, and one request hop by hop."""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Footer, Label

from kafka_edu.instruments.request_times import Queues, SlowRequest
from kafka_edu.instruments.trace_feed import event_files
from kafka_edu.trace.event import Envelope, Level
from kafka_edu.trace.trace_client import EventsAddress, subscribe
from kafka_edu.trace.wire_format import TraceFormatError

from ..asking import Values
from ..model import Model
from ..subjects import REQUESTS, SLOW_REQUESTS
from ..view_model.requests_view import HOP_EVENTS
from ..widgets.drawn import Lines
from ..widgets.request_board import (
    HopPicture,
    RequestAnswer,
    RequestChoice,
    RequestRows,
    SlowLines,
)
from .dashboard_screen import DashboardScreen
from .declaration import ScreenDeclaration

IO_THREAD_LOOKS: Final = 100
"""How often the screen checks whether a broker has the new number of threads.

It checks ten times a second.
"""

HOP_NAMES: Final = frozenset(cls.__name__ for cls in HOP_EVENTS)
HOPS_A_SECOND: Final = 3_000
"""The largest number of hops that the screen takes per second.

A request has five hops, and one hop costs about 25 µs.
"""
SAMPLE_SAID_S: Final = 2.0


def io_thread_steps(now: int, wanted: int) -> list[int]:
    """Return the numbers of threads on the way from `now` to `wanted`.

    Each number is at least half of the number before it, and at most twice that number.
    """
    steps: list[int] = []
    while 0 < now != wanted:
        now = max(wanted, (now + 1) // 2) if wanted < now else min(wanted, now * 2)
        steps.append(now)
    return steps


class HopLimit:
    """Takes at most HOPS_A_SECOND hops: the first ones of each second.

    Without this limit, a broker that answers thousands of requests a second would use up the
    dashboard's time.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._until_s = 0.0
        self._taken = 0
        self._full_s = -math.inf
        """When the limit was last reached, in seconds of the clock."""

    def wants(self, name: str) -> bool:
        """Return whether to decode an event with this name."""
        if name not in HOP_NAMES:
            return False
        now = self._clock()
        if now >= self._until_s:
            self._until_s, self._taken = now + 1, 0
        self._taken += 1
        if self._taken > HOPS_A_SECOND:
            self._full_s = now
            return False
        return True

    @property
    def words(self) -> str:
        """Return the end of the list's title: " (a sample)" if the list is only a sample, or else
        "".
        """
        return " (a sample)" if self._clock() - self._full_s < SAMPLE_SAID_S else ""


class RequestsScreen(DashboardScreen):
    """Shows the answer, the table of a request's parts, and the slowest requests."""

    declaration = ScreenDeclaration(
        name="requests",
        key="8",
        title="Requests",
        question="Where is the time spent?",
        subjects=(REQUESTS, SLOW_REQUESTS),
        acts=("broker-config",),
        break_="a backlog of produces while num.io.threads is 1 (i)",
    )
    default_subject = REQUESTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h", "hops", "hops"),
        Binding("i", "io_threads", "1 io thread / all"),
        Binding("w", "wire", "bytes"),
    ]

    def body(self) -> ComposeResult:
        """Yield the screen's widgets, and keep references to them for later updates."""
        self._choice = RequestChoice()
        self._limit = HopLimit()
        self._answer = RequestAnswer(self.model, self._choice)
        self._rows = RequestRows(self.model, self._choice)
        self._slow = SlowLines(self.model, self._choice)
        yield self._answer
        yield self._rows
        yield self._slow

    def on_mount(self) -> None:
        self._rows.border_title = "mean of each part in the last 10 s; p50 and p99 of the total"
        self._slow.focus()
        self.tick()

    def tick(self) -> None:
        order = self._slow.order_words()
        left_out = self.model.requests.times.left_out_words(self._choice.broker)
        self._slow.border_title = (
            f"the latest requests{self._limit.words}{order}, hop by hop: ⏎ one of them, h stops"
            if self._choice.hops
            else f"the slowest of the last minute{left_out}{order}: ⏎ its hops"
        )
        super().tick()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the keys for hops and I/O threads on a recording, which cannot be changed."""
        if action in ("hops", "io_threads") and self.folder is None:
            return False
        return super().check_action(action, parameters)

    def act_values(self) -> dict[str, int | str]:
        return {} if self._choice.broker is None else {"broker": self._choice.broker}

    def action_io_threads(self) -> None:
        """Set num.io.threads to 1, or back to the old number.

        It changes the chosen broker, or all brokers if none is chosen.
        """
        view = self.model.requests
        broker = self._choice.broker
        brokers = view.times.brokers() if broker is None else [broker]
        few = [b for b in brokers if view.times.queues.get(b, Queues()).handlers == 1]
        self.run_worker(self._set_io_threads(brokers, back=len(few) == len(brokers)), group="acts")

    async def _set_io_threads(self, brokers: list[int], *, back: bool) -> None:
        """Change num.io.threads step by step, through the supervisor.

        In one step, a broker takes at least half of its present number and at most twice.
        """
        for broker in brokers:
            now = self.model.requests.times.queues.get(broker, Queues()).handlers
            most = self.model.requests.times.most_handlers.get(broker, now)
            for threads in io_thread_steps(now, most if back else 1):
                values: Values = {"broker": broker, "setting": f"num.io.threads={threads}"}
                if not await self.acts.perform("broker-config", values):
                    return
                if not await self._has_io_threads(broker, threads):
                    return

    async def _has_io_threads(self, broker: int, threads: int) -> bool:
        """Wait until the broker uses the new number, which it reads from ZooKeeper.

        Return whether it does so in time.
        """
        for _ in range(IO_THREAD_LOOKS):
            queues = self.model.requests.times.queues.get(broker)
            if queues is not None and queues.handlers == threads:
                return True
            await asyncio.sleep(0.1)
        self.acts.refuse(f"broker {broker} does not use the change yet")
        return False

    def action_broker(self, by: int) -> None:
        self._choice.move(self.model.requests, by)
        self.tick()

    def action_hops(self) -> None:
        """Start or stop recording every hop of every request, for this screen only."""
        if self.folder is None:
            return
        self._choice.hops = not self._choice.hops
        if self._choice.hops:
            self.run_worker(self._record(), group="hops", exclusive=True)
        else:
            self.workers.cancel_group(self, "hops")
        self.tick()

    async def action_wire(self) -> None:
        """Go to the Wire screen, to the bytes of the request under the cursor."""
        if self._slow.cursor < len(self._slow.rows):
            sent = self._slow.rows[self._slow.cursor].sent
            self.model.wire.want(sent.connection_id, sent.correlation_id)
        await self.app.run_action("look('wire')")

    def on_screen_suspend(self) -> None:
        """Stop recording hops while this screen is hidden.

        Do not stop if the window of one request is opened, because it still needs the hops.
        """
        if not isinstance(self.app.screen, HopsScreen) and self._choice.hops:
            self.action_hops()

    async def _record(self) -> None:
        """Subscribe to each broker at level hops, until the task is cancelled."""
        assert self.folder is not None
        listening: list[Awaitable[None]] = [
            self._listen(path)
            for source, path in event_files(self.folder).items()
            if source.broker is not None and path.exists()
        ]
        await asyncio.gather(*listening)

    async def _listen(self, path: Path) -> None:
        try:
            address = EventsAddress.read(str(path))
            async for envelope in subscribe(
                address, Level.HOPS, gauges=False, wanted=self._limit.wants
            ):
                self.model.requests.take_hop(envelope)
        except (OSError, TraceFormatError, ValueError):
            return  # the broker is gone; the main stream reports it

    def on_lines_chosen(self, message: Lines.Chosen) -> None:
        if message.lines is self._slow and message.index < len(self._slow.rows):
            row, hops = self._slow.rows[message.index], self._slow.hops(message.index)
            self.app.push_screen(HopsScreen(self.model, row, hops))
        else:
            self.action_about()


class HopsScreen(ModalScreen[None]):
    """Shows one request: its six parts one after another, and its recorded hops."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "back", key_display="esc"),
        Binding("w", "wire", "its bytes"),
    ]

    def __init__(self, model: Model, request: SlowRequest, hops: list[Envelope]) -> None:
        super().__init__()
        self._model = model
        self._request = request
        self._hops = hops

    def compose(self) -> ComposeResult:
        with Vertical(classes="box"):
            yield Label(
                f"{self._request.name} at broker {self._request.broker}: how its time was spent",
                classes="title",
                markup=False,
            )
            yield HopPicture(self._model, self._request, self._hops)
        yield Footer(compact=True, show_command_palette=False)

    def action_wire(self) -> None:
        """Go to the Wire screen, to the bytes of this request."""
        self._model.wire.want(self._request.sent.connection_id, self._request.sent.correlation_id)
        self.dismiss()
        self.app.call_later(self.app.run_action, "look('wire')")

    async def action_dismiss(self, result: None = None) -> None:
        self.dismiss()
