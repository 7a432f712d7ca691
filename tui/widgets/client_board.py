"""The widgets of the Client screen: each producer's batches, and each consumer's positions."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from kafka_edu.common.words import plural
from kafka_edu.instruments.rebalances import STABLE
from kafka_edu.trace.events.consumer import ConsumedPartition, ConsumerDescription
from kafka_edu.trace.events.producer import ClientLink, PartitionBuffer, ProducerDescription

from ..model import Model
from ..subjects import CLIENT_PARTITIONS, CLIENTS
from ..view_model.broker_view import OLD_US
from ..view_model.client_view import (
    FETCHING,
    IN_TRANSACTION,
    READY,
    TXN_READY,
    WAITS,
    ClientKey,
    ClientView,
    Origin,
    Role,
    Seen,
    fill_of,
    in_flight,
    lag_of,
    lag_of_partition,
)
from ..view_model.figures import count, duration, old, per_second, size, sparkline
from .answer_line import answer_line
from .drawn import Drawn, Lines, aged, ink, stacked
from .event_text import coloured
from .prose import column_width, fitted_name, fitted_partition, gauge
from .time_left import time_left

_NAMES: Final = (14, 22)
_PARTITIONS: Final = (9, 24)
"""The minimum and the maximum width of the column with the partitions' names."""
_FILL: Final = 12
_NARROW_FILL: Final = 6
_CLOCK: Final = 8
_WIDE: Final = 118
"""At this width or more, a line has room for all columns. A narrower line has fewer columns."""
_UNKNOWN: Final = "?"

Row = ClientView | Seen


class ClientChoice:
    """The client that the lower part shows. It stays chosen when the list changes."""

    def __init__(self) -> None:
        self.key: ClientKey | None = None
        self.rows: list[Row] = []

    def settle(self, rows: list[Row]) -> int:
        """Update the list of clients, and return the row of the chosen client.

        If no client is chosen yet, the first one is chosen.
        """
        self.rows = rows
        keys = [row.key for row in rows]
        if self.key not in keys:
            self.key = keys[0] if keys else None
        return keys.index(self.key) if self.key is not None else 0

    @property
    def row(self) -> Row | None:
        """The chosen client, or None if there is no client."""
        return next((row for row in self.rows if row.key == self.key), None)

    def group(self) -> str:
        """Return the group of the chosen client, or "" if it is in no group."""
        row = self.row
        if isinstance(row, Seen):
            return row.story.group if row.story is not None else ""
        return row.consumer.group if row is not None and row.consumer is not None else ""


class ClientAnswer(Drawn):
    """One line: which client is in trouble, and why."""

    subject = CLIENTS

    def draw(self) -> Text:
        return answer_line(self, self.model.clients.answer())


class ClientLines(Lines):
    """One line for each client: first those that report themselves, then those that only brokers
    know.
    """

    subject = CLIENTS

    def __init__(self, model: Model, choice: ClientChoice) -> None:
        super().__init__(id="clients")
        self.model = model
        self.choice = choice

    def tick(self) -> None:
        view = self.model.clients
        self.cursor = self.choice.settle([*view.clients(), *view.seen()])
        super().tick()

    def cursor_moved(self) -> None:
        if self.cursor < len(self.choice.rows):
            self.choice.key = self.choice.rows[self.cursor].key

    def count(self) -> int:
        return len(self.choice.rows)

    def empty(self) -> str:
        return "no client reports itself: start a load with l, or give your client a tracer"

    def line(self, index: int) -> Text:
        colours, row = self.palette, self.choice.rows[index]
        key = row.key
        line = ink("▶ " if key == self.choice.key else "  ", "bold")
        name = column_width([each.key.client for each in self.choice.rows], _NAMES)
        line.append(f"{fitted_name(key.client, name):<{name}} ", style="bold")
        line.append(f"{row.kind:<9}", style=colours.dim)
        if isinstance(row, Seen):
            line.append_text(self._member(row))
        elif row.producer is not None:
            line.append_text(self._producer(row, row.producer))
        elif row.consumer is not None:
            line.append_text(self._consumer(row, row.consumer))
        else:
            line.append(f"{_UNKNOWN} facts only, and no sample", style=colours.dim)
        return coloured(line, colours)

    def _producer(self, view: ClientView, state: ProducerDescription) -> Text:
        colours = self.palette
        full = state.buffer_used / state.buffer_memory if state.buffer_memory else 0.0
        bar, rest = gauge(full, _CLOCK)
        style = colours.error if state.waiting_sends else colours.ok
        line = ink("buffer ", colours.dim).append(bar, style=style)
        line.append(f"{rest} ", style=colours.dim)
        line.append(f"{size(state.buffer_used)} · in flight {in_flight(state.links)}")
        line.append(f" · acked {count(state.acked)} ({per_second(view.rate.now)})")
        line.append(f" · retried {count(state.retried)}", style=_if(state.retried, colours.warning))
        line.append(f" · failed {count(state.failed)}", style=_if(state.failed, colours.error))
        return aged([line], self.model.clients.old_us(view), colours)[0]

    def _consumer(self, view: ClientView, state: ConsumerDescription) -> Text:
        colours = self.palette
        line = Text("")
        if state.group:
            style = f"bold {colours.ok if state.state == STABLE else colours.warning}"
            line.append(f"{state.group} ", style="bold").append(state.state, style=style)
            line.append(f" · generation {state.generation}" if state.generation >= 0 else "")
            line.append(" · ")
        line.append(plural(len(state.partitions), "partition"))
        lag = lag_of(state)
        line.append(f" · lag {count(lag) if lag >= 0 else _UNKNOWN}")
        line.append(f" · read {count(state.records)} ({per_second(view.rate.now)})")
        return aged([line], self.model.clients.old_us(view), colours)[0]

    def _member(self, seen: Seen) -> Text:
        colours, line = self.palette, Text("")
        if seen.story is not None:
            line.append(f"{seen.story.group} ", style="bold")
            line.append(f"{seen.story.state} · {plural(len(seen.offsets), 'partition')}")
            line.append(f" · lag {_UNKNOWN if seen.lag is None else count(seen.lag)}")
        now_us = self.model.clients.now_us
        rates = [each.rates(now_us) for each in seen.asked]
        if any(each.requests.produces for each in seen.asked):
            made = per_second(sum(produces for produces, _, _ in rates))
            line.append(f"{' · ' if line else ''}produces {made}")
        if any(each.requests.fetches for each in seen.asked):
            read = per_second(sum(fetches for _, _, fetches in rates))
            line.append(f"{' · ' if line else ''}fetches {read}")
        idle_us = min((each.heard_us_ago(now_us) for each in seen.asked), default=0)
        if idle_us > OLD_US:
            idle = duration(idle_us / 1000)
            line.append(f"{' · ' if line else ''}no produce or fetch for {idle}")
        return line.append(" · seen from the brokers' side", style=colours.dim)


def _if(value: int, style: str) -> str:
    return f"bold {style}" if value else ""


class ClientHead(Drawn):
    """The chosen client: its memory or its time limits, its connections, and its last news."""

    subject = CLIENTS

    def __init__(self, model: Model, choice: ClientChoice) -> None:
        super().__init__(model, id="client-head")
        self.choice = choice

    def draw(self) -> Text:
        row, height = self.choice.row, max(self.size.height, 1)
        if row is None:
            return ink("docs/dashboard.md says how a program shows its clients", self.palette.dim)
        if isinstance(row, Seen):
            lines = self._foreign(row)
        else:
            lines = self._own(row)
            lines += self._news(row, height - len(lines))
        return stacked([coloured(line, self.palette) for line in lines[:height]], self.size.width)

    def _own(self, view: ClientView) -> list[Text]:
        if view.producer is not None:
            lines = self._producer(view, view.producer)
        elif view.consumer is not None:
            lines = self._consumer(view.consumer)
        else:
            names = ", ".join(view.assigned) or _UNKNOWN
            lines = [ink(f"{view.key.role} {view.key.client}", "bold")]
            if view.key.role is Role.CONSUMER:
                lines.append(ink(f"{view.state or _UNKNOWN} · has {names}"))
        return aged(lines, self.model.clients.old_us(view), self.palette)

    def _producer(self, view: ClientView, state: ProducerDescription) -> list[Text]:
        colours = self.palette
        name = ink(f"producer {state.client}", "bold")
        name.append(
            f" · acks={'all' if state.acks < 0 else state.acks}"
            f" · batch.size {size(state.batch_size)} · linger.ms {state.linger_ms}",
            style=colours.dim,
        )
        if state.producer_id >= 0:
            name.append(f" · id {state.producer_id}, epoch {state.epoch}", style=colours.dim)
        if state.transactional_id:
            name.append(f" · transactional.id {state.transactional_id}", style=colours.dim)
        if state.state:
            quiet = state.state in (TXN_READY, IN_TRANSACTION)
            name.append(f" · {state.state}", style="" if quiet else f"bold {colours.warning}")
        full = state.buffer_used / state.buffer_memory if state.buffer_memory else 0.0
        bar, rest = gauge(full, 2 * _CLOCK)
        style = colours.error if full > 0.9 else colours.warning if full > 0.5 else colours.ok
        buffer = ink("buffer ", colours.dim).append(bar, style=style)
        buffer.append(f"{rest} ", style=colours.dim)
        buffer.append(f"{size(state.buffer_used)} of {size(state.buffer_memory)}")
        if state.waiting_sends:
            words = f" · {plural(state.waiting_sends, 'call')} of send() wait for memory"
            buffer.append(words, style=f"bold {colours.error}")
        buffer.append("  ").append(sparkline(view.fills, 20), style=colours.dim)
        buffer.append(" the last 10 s", style=colours.dim)
        if state.oldest_ms:
            left = max(state.delivery_timeout_ms - state.oldest_ms, 0)
            buffer.append(" · oldest batch ", style=colours.dim)
            buffer.append(f"{duration(state.oldest_ms)}, given up in {duration(left)}")
        return [name, buffer, self._links(state.links, state.max_in_flight)]

    def _links(self, links: Sequence[ClientLink], most: int) -> Text:
        """Draw a square for each request without a response, grouped by connection."""
        colours, line = self.palette, ink("in flight: ", self.palette.dim)
        wide = self.size.width >= _WIDE
        shown = [link for link in links if link.broker_id >= 0 or link.in_flight] or links
        if not shown:
            return line.append("no connection yet", style=colours.dim)
        for number, link in enumerate(shown):
            line.append(" · " if number else "")
            name = f"broker {link.broker_id}" if link.broker_id >= 0 else "bootstrap server"
            line.append(f"{name} ", style="bold")
            if link.state != READY:
                line.append(link.state, style=f"bold {colours.warning}")
                continue
            line.append("■" * min(link.in_flight, 10), style=colours.ok)
            line.append("□" * max(min(most, 10) - link.in_flight, 0), style=colours.dim)
            line.append(f" {link.in_flight} of {most}" if most else f" {link.in_flight}")
            if link.in_flight:
                oldest = f", oldest {duration(link.oldest_ms)}" if wide else ""
                line.append(oldest, style=colours.dim)
            if link.muted_ms:
                words = f", throttled for {duration(link.muted_ms)}"
                line.append(words, style=f"bold {colours.warning}")
        return line

    def _consumer(self, state: ConsumerDescription) -> list[Text]:
        colours = self.palette
        name = ink(f"consumer {state.client}", "bold")
        if not state.group:
            name.append(" · no group", style=colours.dim)
            return [name, self._links(state.links, 0)]
        style = f"bold {colours.ok if state.state == STABLE else colours.warning}"
        name.append(f" · group {state.group} · ", style=colours.dim).append(
            state.state, style=style
        )
        where = f"broker {state.coordinator}" if state.coordinator >= 0 else "not known"
        name.append(
            f" · generation {state.generation} · {state.assignor or _UNKNOWN}"
            f" · coordinator {where}",
            style=colours.dim,
        )
        clocks = ink("heartbeat ", colours.dim)
        if state.session_left_ms < 0:
            clocks.append("no session", style=colours.dim)
        else:
            clocks.append_text(time_left(state.session_left_ms, state.session_timeout_ms, colours))
            if state.heartbeat_waits:
                clocks.append(", waits for an answer", style=colours.warning)
        clocks.append(" · poll() ", style=colours.dim)
        if state.polled_ms_ago < 0:
            clocks.append("not called yet", style=colours.dim)
        else:
            left = max(state.max_poll_interval_ms - state.polled_ms_ago, 0)
            clocks.append_text(time_left(left, state.max_poll_interval_ms, colours))
        every = duration(state.auto_commit_ms)
        clocks.append(
            f" · commits every {every}" if state.auto_commit_ms else " · commits by hand",
            style=colours.dim,
        )
        return [name, clocks, self._links(state.links, 0)]

    def _foreign(self, seen: Seen) -> list[Text]:
        colours = self.palette
        name = ink(f"{seen.key.client or '(no client.id)'}", "bold")
        lines = [name]
        if seen.story is not None and seen.member is not None:
            story, member = seen.story, seen.member
            name.append(f" · {member.client_host} · group {story.group} · ", style=colours.dim)
            name.append(story.state, style="bold")
            name.append(f" · coordinator broker {story.coordinator}", style=colours.dim)
            heard = ink("heartbeat ", colours.dim)
            if age_us := self.model.old_us(story.coordinator):
                heard.append(f"{_UNKNOWN} broker {story.coordinator}: {old(age_us)}")
            elif member.waits:
                heard.append(f"its {member.waits} waits", style=colours.warning)
            else:
                left = max(member.session_timeout_ms - member.heard_ms_ago, 0)
                heard.append_text(time_left(left, member.session_timeout_ms, colours))
            lines.append(heard)
        software = next((each.requests.software for each in seen.asked), "")
        name.append(f" · {software}" if software else "", style=colours.dim)
        note = "seen from the brokers' side: its buffers, positions and poll clock are not known"
        if seen.origin is Origin.UNTRACED:
            note = "a client of ours that reports nothing: it has no tracer, or it has ended"
        return [*lines, self._asked(seen), ink(note, colours.dim)]

    def _asked(self, seen: Seen) -> Text:
        """Draw the produces and fetches that brokers have handled."""
        line = ink("requests: ", self.palette.dim)
        if not seen.asked:
            return line.append("neither produces nor fetches lately", style=self.palette.dim)
        for number, each in enumerate(seen.asked):
            line.append(" · " if number else "").append(f"broker {each.broker} ", style="bold")
            produces, sent, fetches = each.rates(self.model.clients.now_us)
            parts = []
            if each.requests.produces:
                parts.append(f"{per_second(produces)} produces, {size(sent)}/s")
            if each.requests.fetches:
                parts.append(f"{per_second(fetches)} fetches")
            line.append(", ".join(parts))
        return line

    def _news(self, view: ClientView, rows: int) -> list[Text]:
        """Draw the last facts, the newest first."""
        lines = []
        for news in list(reversed(view.news))[: max(rows, 0)]:
            ago = duration(max(self.model.clients.now_us - news.at_us, 0) / 1000)
            line = ink(f"{ago:>9} ago  ", self.palette.dim)
            style = "" if news.kind == "ok" else f"bold {self.palette.verdict(news.kind)}"
            line.append(news.words, style=style)
            line.append(f" (×{news.times})" if news.times > 1 else "", style=self.palette.dim)
            lines.append(line)
        return lines


class ClientPartitions(Lines):
    """The partitions of the chosen client: the batches that wait, or the offsets that it reads."""

    subject = CLIENT_PARTITIONS
    heads = 1

    def __init__(self, model: Model, choice: ClientChoice) -> None:
        super().__init__(id="client-partitions")
        self.model = model
        self.choice = choice

    def count(self) -> int:
        rows = len(self._partitions())
        return rows + 1 if rows else 0

    def _partitions(self) -> Sequence[object]:
        row = self.choice.row
        if isinstance(row, Seen):
            return row.offsets or row.asked
        if row is None:
            return ()
        if row.producer is not None:
            return row.producer.partitions
        return row.consumer.partitions if row.consumer is not None else ()

    def empty(self) -> str:
        row = self.choice.row
        if row is None:
            return ""
        if isinstance(row, Seen):
            return "no broker has heard of its partitions"
        if row.key.role is Role.CONSUMER:
            return "it has no partitions now"
        return "nothing was sent yet"

    def line(self, index: int) -> Text:
        row = self.choice.row
        if isinstance(row, Seen):
            line = self._offsets(row, index) if row.offsets else self._asked(row, index)
        elif row is None:
            line = Text("")
        elif row.producer is not None:
            line = self._buffer(row, row.producer, index)
        elif row.consumer is not None:
            line = self._position(row, row.consumer, index)
        else:
            line = Text("")
        return coloured(line, self.palette)

    @property
    def _wide(self) -> bool:
        return self.scrollable_content_region.width >= _WIDE

    def _widest(self, names: Sequence[str]) -> int:
        """Return the width of the column of partitions."""
        return column_width(names, _PARTITIONS) + 1

    def _leader(self, leader: int) -> Text:
        style = f"bold {self.palette.broker(leader)}"
        return ink(f"{f'b{leader}' if leader >= 0 else 'none':<6}", style)

    def _buffer(self, view: ClientView, state: ProducerDescription, index: int) -> Text:
        colours, wide = self.palette, self._wide
        width = self._widest([f"{each.topic}-{each.partition}" for each in state.partitions])
        fill = _FILL if wide else _NARROW_FILL
        if index == 0:
            head = f"{'partition':<{width}}leader {'queue':<{fill}}    bytes  "
            head += "in flight    sent  " if wide else "sent  "
            return ink(f"{head}oldest batch", colours.dim)
        each = state.partitions[index - 1]
        glows = self.model.clients.glow.glows("partition", view.key, each.topic, each.partition)
        name = fitted_partition(each.topic, each.partition, width - 1)
        line = ink(f"{name:<{width}}", f"bold on {colours.glow}" if glows else "bold")
        line.append_text(self._leader(each.leader)).append(" ")
        part = fill_of(each, state.batch_size) if each.batches < 2 else 1.0
        bar, rest = gauge(part, fill)
        line.append(bar, style=colours.warning if each.attempts else colours.ok)
        line.append(rest, style=colours.dim)
        line.append(f" {size(each.bytes):>8}  ")
        squares = "■" * min(each.in_flight, 5)
        line.append(f"{squares:<5} {each.in_flight:<2} " if wide else "")
        line.append(f"{count(each.sent):>7}  " if wide else f"{count(each.sent):>4}  ")
        return line.append_text(self._wait(each, state))

    def _wait(self, each: PartitionBuffer, state: ProducerDescription) -> Text:
        """Draw why the oldest batch is not sent yet. Without a batch, describe the last one."""
        colours = self.palette
        if not each.batches:
            if not each.sent:
                return ink("nothing waits", colours.dim)
            words = (
                f"none; the last had {plural(each.last_records, 'record')},"
                f" {size(each.last_bytes)}, and waited {duration(each.last_waited_ms)}"
            )
            return ink(words, colours.dim)
        held = f"{each.batches} batches, " if each.batches > 1 else ""
        held += plural(each.records, "record")
        if each.wait == "linger":
            bar, rest = gauge(each.left_ms / state.linger_ms if state.linger_ms else 0.0, _CLOCK)
            line = ink("linger ", colours.dim).append(bar, style=colours.ok)
            line.append(f"{rest} ", style=colours.dim)
            line.append(f"{each.left_ms} of {state.linger_ms} ms left")
            return line.append(f" · {held}", style=colours.dim)
        stuck = each.wait not in ("ready", "in flight", "order")
        line = ink(WAITS[each.wait], f"bold {colours.warning}" if stuck else "bold")
        if each.attempts:
            again = f" · sent {plural(each.attempts, 'time')} already"
            line.append(again, style=f"bold {colours.warning}")
        return line.append(f" · {duration(each.age_ms)} old · {held}", style=colours.dim)

    def _position(self, view: ClientView, state: ConsumerDescription, index: int) -> Text:
        colours = self.palette
        width = self._widest([f"{each.topic}-{each.partition}" for each in state.partitions])
        if index == 0:
            head = f"{'partition':<{width}}leader {'position':>12} {'committed':>12}"
            return ink(f"{head} {'HW':>12} {'lag':>8}  state", colours.dim)
        each = state.partitions[index - 1]
        name = fitted_partition(each.topic, each.partition, width - 1)
        line = ink(f"{name:<{width}}", "bold")
        line.append_text(self._leader(each.leader)).append(" ")
        line.append(f"{_offset(each.position):>12}")
        glows = self.model.clients.glow.glows("committed", view.key, each.topic, each.partition)
        line.append(" ").append(
            f"{_offset(each.committed):>12}", style=f"on {colours.glow}" if glows else ""
        )
        line.append(f" {_offset(each.high_watermark):>12}")
        lag = lag_of_partition(each)
        line.append(f" {_offset(lag):>8}", style="bold" if lag > 0 else "")
        line.append_text(self._fetch_state(each))
        return line

    def _fetch_state(self, each: ConsumedPartition) -> Text:
        colours = self.palette
        if each.paused:
            return ink("  paused", f"bold {colours.warning}")
        quiet = each.state == FETCHING
        return ink(f"  {each.state}", colours.dim if quiet else f"bold {colours.warning}")

    def _offsets(self, seen: Seen, index: int) -> Text:
        colours = self.palette
        width = self._widest([f"{topic}-{partition}" for (topic, partition), _, _ in seen.offsets])
        if index == 0:
            return ink(
                f"{'partition':<{width}}{'committed':>12} {'HW':>12} {'lag':>8}", colours.dim
            )
        (topic, partition), committed, hw = seen.offsets[index - 1]
        line = ink(f"{fitted_partition(topic, partition, width - 1):<{width}}", "bold")
        line.append(f"{_offset(committed):>12} {_offset(hw):>12}")
        lag = max(hw - committed, 0) if committed is not None and hw is not None else -1
        return line.append(f" {_offset(lag):>8}", style="bold" if lag > 0 else "")

    def _asked(self, seen: Seen, index: int) -> Text:
        """Draw the requests that one broker has handled for a client without known partitions."""
        if index == 0:
            head = f"{'broker':<10}{'produces':>10} {'bytes':>10} {'fetches':>10}  last"
            return ink(head, self.palette.dim)
        each = seen.asked[index - 1]
        line = ink(f"{f'broker {each.broker}':<10}", "bold")
        line.append(f"{count(each.requests.produces):>10} {size(each.requests.produced_bytes):>10}")
        ago = duration(each.heard_us_ago(self.model.clients.now_us) / 1000)
        return line.append(f" {count(each.requests.fetches):>10}  {ago} ago")


def _offset(offset: int | None) -> str:
    return _UNKNOWN if offset is None or offset < 0 else count(offset)
