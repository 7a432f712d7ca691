"""The brokers as cards in one row, in the order of their ids, each in its colour."""

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import HorizontalScroll
from textual.events import Click
from textual.message import Message

from kafka_edu.common.words import plural

from ..model import Model
from ..subjects import BROKERS
from ..view_model.broker_view import BrokerView
from ..view_model.figures import old, size, sparkline
from .drawn import Drawn, ink, palette_of, stacked

_RATE_WIDTH = 11


class BrokerCard(Drawn):
    """The card of one broker. Its border shows whether it is selected (double line) and alive."""

    subject = BROKERS

    class Selected(Message):
        """A message: a card was clicked."""

        def __init__(self, broker_id: int) -> None:
            super().__init__()
            self.broker_id = broker_id

    def __init__(self, model: Model, broker_id: int) -> None:
        super().__init__(model, id=f"broker-{broker_id}")
        self.broker_id = broker_id
        self.selected = False

    @property
    def _broker(self) -> BrokerView | None:
        """Return the broker, or None if the model does not know it.

        This happens if the view was wound back to a time before the broker existed. The next frame
        removes the card. Do not use `brokers[…]` here, because it would create the broker.
        """
        return self.model.cluster.brokers.by_id.get(self.broker_id)

    @property
    def _glows(self) -> bool:
        return self.model.cluster.glow.glows("broker", self.broker_id)

    @property
    def _quiet(self) -> str:
        return self.palette.quiet(self._glows)

    def title(self) -> Text:
        view, colours = self.model.cluster, self.palette
        broker = self._broker
        if broker is None:
            return Text()
        crown = " ♛" if view.controller == self.broker_id and not broker.dead else ""
        mark = "▶ " if self.selected else ""
        title = ink(f"{mark}broker {broker.id}", f"bold {colours.broker(broker.id)}")
        if broker.port:
            title.append(f" :{broker.port}", style=self._quiet)
        title.append(crown, style=f"bold {colours.warning}")
        return title

    def tick(self) -> None:
        broker, colours = self._broker, self.palette
        if broker is None:
            return
        self.border_title = self.title().markup
        colour = (
            colours.error
            if broker.dead
            else colours.warning
            if broker.process == "paused"
            else colours.broker(self.broker_id)
        )
        kind = "double" if self.selected else "round"
        border = (kind, colour)
        if (
            self.styles.border.top[0] != kind
            or self.styles.border.top[1].hex.lower() != colour.lower()
        ):
            self.styles.border = border  # type: ignore[assignment]  # Textual takes (kind, colour name) here
        self.styles.background = colours.glow if self._glows else None
        super().tick()

    def draw(self) -> Text:
        view, colours = self.model.cluster, self.palette
        broker = self._broker
        if broker is None:
            return Text()
        width = max(self.size.width, 10)
        head, second = view.status(broker)
        if broker.dead or broker.process == "paused" or broker.guest:
            return self._absent(broker, head, second, width)
        spark = max(width - _RATE_WIDTH - 4, 3)
        old_us = broker.old_us(view.glow.now_us)
        lines = []
        for label, rate in (("in", broker.bytes_in), ("out", broker.bytes_out)):
            line = ink(f"{label:<4}", self._quiet)
            line.append(
                sparkline(list(rate.history), spark, floor=1000.0), style=colours.broker(broker.id)
            )
            now = f"{size(rate.now)}/s" if broker.network_known else "?"
            line.append(f"{now:>{_RATE_WIDTH}}", style="bold" if rate.now else self._quiet)
            lines.append(line)
        if head:
            lines.append(ink(f"{head} {second}"[:width], f"bold {colours.warning}"))
        elif not broker.network_known:
            lines.append(ink("req q ? · resp q ?", self._quiet))
        else:
            full = (
                broker.request_queue_capacity
                and broker.request_queue * 2 >= broker.request_queue_capacity
            )
            queues = ink(
                f"req q {broker.request_queue}/{broker.request_queue_capacity}",
                f"bold {colours.warning}" if full else "",
            )
            queues.append(f" · resp q {broker.response_queue}")
            if width >= 34:
                queues.append(f" · {broker.requests.now:,.0f} req/s")
            lines.append(queues)
        last = ink("")
        if broker.rss_anon or self.model.simulation is None:  # simulated brokers share a process
            last.append(f"{size(broker.rss_anon) if broker.rss_anon else '? B'} · ")
        unknown = self.model.unknown()
        last.append(f"leads {'?' if unknown else view.partitions.led_by(broker.id)}")
        if width >= 34:
            busy = f"{broker.handlers_busy}/{broker.handlers}" if broker.handlers else "?"
            last.append(f" · busy {busy}")
        if width >= 46 and broker.network_known:
            last.append(f" · {plural(broker.connections, 'connection')}")
        lines.append(last)
        if old_us:
            lines = [ink(line.plain, colours.dim) for line in lines]
            lines[2] = ink(head or f"? all this is {old(old_us)}", f"bold {colours.warning}")
        return stacked(lines, width)

    def _absent(self, broker: BrokerView, head: str, second: str, width: int) -> Text:
        colours = self.palette
        partitions = self.model.cluster.partitions
        follows = sum(broker.id in p.replicas for p in partitions.by_key.values())
        still_leads = partitions.led_by(broker.id)
        colour = colours.warning if broker.process == "paused" else colours.error
        if broker.guest and not broker.dead:
            colour = colours.broker(broker.id)
        lines = [ink(head, f"bold {colour}"), Text(second)]
        if broker.guest and not broker.dead:
            lines.append(Text(f"leads {still_leads} · holds {plural(follows, 'replica')}"))
        elif still_leads:
            lines.append(ink(f"still leader of {still_leads}!", f"bold {colours.error}"))
        elif self.model.unknown():
            lines.append(ink("holds ? replicas", self._quiet))
        else:
            lines.append(ink(f"holds {plural(follows, 'replica')}", self._quiet))
        last = max(
            [p.replica_leos.get(broker.id, -1) for p in partitions.by_key.values()], default=-1
        )
        lines.append(ink(f"last seen LEO {last:,}" if last >= 0 else "", self._quiet))
        return stacked(lines, width)

    def on_click(self, event: Click) -> None:
        self.post_message(self.Selected(self.broker_id))


class BrokerCards(HorizontalScroll, can_focus=True):
    """The cards of all brokers. The keys act on the selected broker."""

    subject = BROKERS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "screen.broker(-1)", "broker", key_display="←→"),
        Binding("right", "screen.broker(1)", "broker", show=False),
    ]

    def __init__(self, model: Model) -> None:
        super().__init__(id="cards")
        self.model = model
        self.selected = -1

    def cards(self) -> list[BrokerCard]:
        return list(self.query(BrokerCard))

    def tick(self) -> None:
        """Add cards for new brokers, then update each card from the model."""
        ids = list(self.model.cluster.brokers.by_id)
        cards = self.cards()
        if [card.broker_id for card in cards] != ids:
            known = {card.broker_id for card in cards}
            for card in cards:
                if card.broker_id not in ids:
                    card.remove()
            for place, broker_id in enumerate(ids):
                if broker_id not in known:
                    after = [card for card in self.cards() if card.broker_id in ids[:place]]
                    new = BrokerCard(self.model, broker_id)
                    if after:
                        self.mount(new, after=after[-1])
                    else:
                        self.mount(new, before=0 if self.cards() else None)
        if self.selected not in ids and ids:
            self.select(ids[0])
        for card in self.cards():
            card.selected = card.broker_id == self.selected
            card.tick()

    def select(self, broker_id: int) -> None:
        self.selected = broker_id
        for card in self.cards():
            if card.broker_id == broker_id:
                card.scroll_visible(animate=False)

    def move(self, by: int) -> None:
        """Select the next broker to the left (-1) or right (1)."""
        ids = list(self.model.cluster.brokers.by_id)
        if ids:
            at = ids.index(self.selected) if self.selected in ids else 0
            self.select(ids[(at + by) % len(ids)])
            self.tick()

    def on_broker_card_selected(self, message: BrokerCard.Selected) -> None:
        self.select(message.broker_id)
        self.tick()

    @property
    def colour(self) -> str:
        return palette_of(self).broker(self.selected)
