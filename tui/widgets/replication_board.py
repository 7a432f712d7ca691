"""The widgets of the Replication screen: the partitions, and the chosen one's replicas.

The partitions with the worst trouble come first.
"""

from collections.abc import Mapping
from typing import Final

from rich.text import Text

from kafka_edu.common.words import plural

from ..model import NEVER, Model
from ..palette import Palette
from ..subjects import REPLICAS, TROUBLE
from ..view_model.figures import count, duration, old, short_count
from ..view_model.glow import GLOW_US
from ..view_model.partition_view import (
    DEAD,
    IN_ISR,
    LEADER,
    OUT_OF_SYNC,
    PartitionKey,
    PartitionView,
)
from ..view_model.replication_view import (
    BELOW_MIN_ISR,
    ISR_UNKNOWN,
    LAGS,
    NO_LEADER_LIVES,
    TROUBLES,
    UNDER_REPLICATED,
    WELL,
    IsrStep,
    PartitionReplication,
    ReplicaView,
    Scale,
    scale_of,
)
from .answer_line import answer_line
from .drawn import Drawn, Order, Value, ink, stacked
from .event_text import coloured
from .partition_lines import PartitionChoice, PartitionLines
from .partition_matrix import offset

COMMITTED, WRITTEN, CUT, TRACK = "▇", "▒", "╳", "·"
_LABEL: Final = 14
_EPOCHS_SHOWN: Final = 8
_ROOMY: Final = 32
"""From this many rows of the terminal on, the bars are high and the ISR has its own lines."""


class ReplicationChoice(PartitionChoice):
    """The partition that the screen shows, and one of its replicas."""

    def __init__(self) -> None:
        super().__init__()
        self.by_hand = False
        """Whether the reader has chosen the partition. Otherwise the worst partition is shown."""
        self._broker: int | None = None

    def selected(self, model: Model) -> int | None:
        """Return the broker of the selected replica.

        At first it is a follower, which can be paused.
        """
        p = model.cluster.partitions.get(self.key) if self.key is not None else None
        if p is None or not p.replicas:
            return None
        if self._broker in p.replicas:
            return self._broker
        return next((broker for broker in p.replicas if broker != p.leader), p.replicas[0])

    def move(self, model: Model, by: int) -> None:
        """Select the next replica, in the order of the assignment."""
        selected = self.selected(model)
        if selected is not None and self.key is not None:
            replicas = model.cluster.partitions.by_key[self.key].replicas
            self._broker = replicas[(replicas.index(selected) + by) % len(replicas)]


class ReplicationAnswer(Drawn):
    """One line: which replica lags, or which records were cut off."""

    subject = TROUBLE

    def draw(self) -> Text:
        return answer_line(self, self.model.replication.answer())


class TroubleHead(Drawn):
    """The headings of the columns."""

    subject = TROUBLE

    def __init__(self, model: Model, lines: "TroubleLines") -> None:
        super().__init__(model, id="trouble-head")
        self._lines = lines

    def draw(self) -> Text:
        colours, width = self.palette, self._lines.name_width
        named = self._lines.column
        head = f"{'  ' + named('partition'):<{width}}{'replicas':<16}{named('epoch'):>6}"
        head += f"{named('HW'):>11}{named('LEO'):>11}  state"
        line = ink(head, f"bold {colours.dim}")
        line.truncate(self.size.width, overflow="ellipsis")
        return line


class TroubleLines(PartitionLines[PartitionView]):
    """One line for each partition, the worst first.

    Internal partitions without trouble share one line.
    """

    subject = TROUBLE
    orders = (
        Order("partition"),
        Order("epoch", greatest_first=True),
        Order("HW", greatest_first=True),
        Order("LEO", greatest_first=True),
    )

    def __init__(self, model: Model, choice: ReplicationChoice) -> None:
        super().__init__(model, choice, id="troubles")
        self._by_hand = choice
        self._folded_old_us = 0
        """The age of the data about the folded partitions, in µs. 0 if they are up to date."""

    def tick(self) -> None:
        """Sort the partitions by trouble. The worst one is chosen until the reader chooses
        another.
        """
        view, choice = self.model.replication, self._by_hand
        rows: list[PartitionView] = []
        folded: list[PartitionView] = []
        longest = 0
        for p in view.by_trouble():
            calm = p.internal and view.trouble(p) == WELL and view.recent_cut(p.key) is None
            longest = max(longest, len(str(p.key)))
            if calm and not choice.unfolded:
                folded.append(p)
            else:
                rows.append(p)
        self._folded_old_us = view.isrs_old_us(folded)
        self.put(rows, len(folded), longest, stays=choice.by_hand)
        choice.by_hand = choice.by_hand and choice.key is not None
        super().tick()

    def row_values(self, row: PartitionView) -> Mapping[str, Value | None]:
        return {"epoch": row.leader_epoch, "HW": row.hw, "LEO": row.leo}

    def cursor_moved(self) -> None:
        super().cursor_moved()
        if isinstance(self.row(self.cursor), PartitionView):
            self._by_hand.by_hand = True

    def empty(self) -> str:
        return "no topics yet: press l to make one and to produce and consume, or use any client"

    def line(self, index: int) -> Text:
        view, colours = self.model.replication, self.palette
        row = self._rows[index]
        if isinstance(row, int):
            then = f" then, {old(self._folded_old_us)}" if self._folded_old_us else ""
            words = f"▸ {plural(row, 'internal partition')}, all in sync{then} · ⏎ unfolds"
            return ink(words, colours.dim)
        level = view.trouble(row)
        line = self.draw_name(row.key)
        for broker in row.replicas[:5]:
            sign = self.model.cluster.partitions.sign(row, broker)
            line.append(
                f"{broker}{sign} ", style=sign_style(sign, broker, colours, row.key, self.model)
            )
        line.pad_right(max(self.name_width + 16 - line.cell_len, 0))
        line.append(f"{row.leader_epoch:>6,}" if row.leader_epoch >= 0 else "     ?")
        age_us = self.model.age_of_offsets_us(row)
        line.append(f"{offset(row.hw, age_us):>11}", style=colours.dim if age_us else "")
        line.append(f"{offset(row.leo, age_us):>11}  ", style=colours.dim if age_us else "")
        if age_us > 0 and level == WELL:
            return line.append(f"? {old(age_us)}: {TROUBLES[level]} then", style=colours.dim)
        line.append_text(self._state(row, level))
        return line

    def _state(self, p: PartitionView, level: int) -> Text:
        view, colours = self.model.replication, self.palette
        style = {
            ISR_UNKNOWN: colours.dim,
            NO_LEADER_LIVES: f"bold {colours.error}",
            BELOW_MIN_ISR: f"bold {colours.error}",
            UNDER_REPLICATED: f"bold {colours.warning}",
            LAGS: f"bold {colours.warning}",
        }.get(level, colours.ok)
        words = ink(TROUBLES[level], style)
        late = [(view.behind(p, b), b) for b in p.replicas if view.lags(p, b)]
        if late:
            behind, broker = max(late)
            words.append(f" · broker {broker} -{short_count(behind)}", style=colours.warning)
        if cut := view.recent_cut(p.key):
            words.append(f" · {CUT} {cut.records:,} cut off", style=f"bold {colours.error}")
        return coloured(words, colours)


def sign_style(sign: str, broker: int, colours: Palette, key: PartitionKey, model: Model) -> str:
    """Return the style of a replica's sign. It is the same as on the Cluster screen."""
    style = {
        LEADER: f"bold {colours.broker(broker)}",
        IN_ISR: colours.broker(broker),
        OUT_OF_SYNC: f"bold {colours.warning}",
    }.get(sign, f"bold {colours.error}" if DEAD in sign else "")
    return style + (f" on {colours.glow}" if model.cluster.glow.glows("cell", key, broker) else "")


class ReplicaBoard(Drawn, can_focus=True):
    """The chosen partition: each replica as a bar, the ISR over time, epochs and truncations."""

    subject = REPLICAS

    def __init__(self, model: Model, choice: ReplicationChoice) -> None:
        super().__init__(model, id="replicas")
        self.choice = choice

    def needs(self) -> int:
        """Return how many rows the board needs to show everything, including its border."""
        p, known = self._chosen()
        replicas = len(p.replicas) if p is not None else 3
        roomy = self.app.size.height >= _ROOMY
        cuts = min(max(len(known.truncations), 1), 4) if known is not None else 1
        return 2 * replicas + 8 + cuts if roomy else replicas + 5 + cuts

    def _chosen(self) -> tuple[PartitionView | None, PartitionReplication | None]:
        key = self.choice.key
        if key is None:
            return None, None
        partitions = self.model.cluster.partitions.by_key
        return partitions.get(key), self.model.replication.by_key.get(key)

    def draw(self) -> Text:
        colours = self.palette
        p, known = self._chosen()
        if p is None or known is None:
            return ink("choose a partition with ↑ ↓", colours.dim)
        cuts = self._cuts(known)
        needed = 4 + len(p.replicas) + min(len(cuts), 2)
        spare = self.size.height - needed
        high = spare >= 2 * len(p.replicas) + 4
        bars = self._bars(p, known, rows=2 if high else 1, cut_row=spare > 2)
        steps = [self._isr(p, known)] if spare < 4 else self._isr_steps(p, known, 6 if high else 4)
        lines = [self._title(p), *bars, *steps, self._epochs(p, known), *cuts]
        return stacked(lines[: max(self.size.height, 1)], self.size.width)

    def _title(self, p: PartitionView) -> Text:
        colours = self.palette
        line = ink(str(p.key), "bold")
        if self.model.cluster.partitions.leader_lives(p):
            line.append("  leader ", style=colours.dim)
            line.append(f"broker {p.leader}", style=f"bold {colours.broker(p.leader)}")
        else:
            line.append("  no live leader", style=f"bold {colours.error}")
        isr = _set(p.isr) if p.isr_known else "?"
        line.append(f" · epoch {p.leader_epoch} · ISR {isr} of {_set(p.replicas)}")
        age_us = self.model.age_of_offsets_us(p)
        if p.hw >= 0:
            words = f"  HW {offset(p.hw, age_us)}  LEO {offset(p.leo, age_us)}"
            line.append(words, style=colours.dim if age_us else "bold")
        if age_us > 0:
            line.append(f"  {old(age_us)}", style=f"bold {colours.warning}")
        short = p.isr_known and len(p.isr) < p.min_isr
        style = f"bold {colours.error}" if short else colours.dim
        line.append(f"  min ISR {p.min_isr or '?'}", style=style)
        if p.log_start >= 0:
            line.append(f"  log start {count(p.log_start)}", style=colours.dim)
        return line

    def _bars(
        self, p: PartitionView, known: PartitionReplication, rows: int, cut_row: bool
    ) -> list[Text]:
        """Draw one bar for each replica, all on one scale, under the offsets of the scale.

        If each has two rows, the bars are higher and separated. With `cut_row`, truncated records
        always get a row.
        """
        view, colours, width = self.model.replication, self.palette, self.size.width
        ends = [known[b].end for b in p.replicas if known[b].end >= 0]
        age_us = self.model.age_of_offsets_us(p)
        if not ends or age_us == NEVER:
            words = "how far the replicas are: not known, there is no sample of this time"
            return [ink(words, colours.dim)]
        cut = view.recent_cut(p.key)
        low = min([*ends, p.hw if p.hw >= 0 else ends[0], cut.after if cut else ends[0]])
        high = max([*ends, p.hw, cut.before if cut is not None else 0])
        notes = 62 if width >= 150 else 48 if width >= 110 else 34
        scale = scale_of(low, high, max(width - _LABEL - notes - 2, 10))
        lines = [self._ruler(p, scale)]
        for broker in p.replicas:
            glyph = COMMITTED if rows == 1 else "█"
            lines.append(self._bar(p, known, broker, scale, glyph))
            is_cut = cut is not None and cut.broker == broker
            if rows > 1 or (is_cut and cut_row):
                lines.append(self._below(p, known[broker], scale))
        return [ink(line.plain, colours.dim) for line in lines] if age_us else lines

    def _ruler(self, p: PartitionView, scale: Scale) -> Text:
        colours = self.palette
        left, right = count(scale.left), count(scale.right)
        cells = [" "] * scale.width
        mark = scale.column(p.hw) if scale.left <= p.hw <= scale.right else -1
        label = f"HW {count(p.hw)} ▼"
        line = ink(" " * _LABEL, "")
        text = left + "".join(cells[len(left) :])
        text = text[: scale.width - len(right)] + right
        at = mark - len(label) + 1
        if mark >= 0 and len(left) < at and mark < scale.width - len(right):
            text = text[:at] + label + text[at + len(label) :]
        elif mark >= 0 and len(left) < mark < scale.width - len(right):
            text = text[:mark] + "▼" + text[mark + 1 :]
        line.append(text, style=colours.dim)
        return line

    def _bar(
        self, p: PartitionView, known: PartitionReplication, broker: int, scale: Scale, glyph: str
    ) -> Text:
        view, colours = self.model.replication, self.palette
        partitions, replica = self.model.cluster.partitions, known[broker]
        sign = partitions.sign(p, broker)
        line = ink("▶ " if broker == self.choice.selected(self.model) else "  ", "bold")
        line.append(f"broker {broker} ", style=f"bold {colours.broker(broker)}")
        line.append(f"{sign}", style=sign_style(sign, broker, colours, p.key, self.model))
        line.pad_right(max(_LABEL - line.cell_len, 0))
        self._shape(line, p, replica, scale, glyph)
        line.append("  ")
        if replica.end < 0:
            return line.append("not known how far", style=colours.dim)
        if broker == p.leader and partitions.leader_lives(p):
            line.append("leader", style="bold")
            uncommitted = max(p.leo - p.hw, 0) if p.hw >= 0 else 0
            if uncommitted:
                line.append(f", {uncommitted:,} not committed yet", style=colours.warning)
            return line
        if broker == p.leader:
            return line.append(f"led it, last LEO {count(replica.end)}", style=colours.error)
        words = view.lag_words(p, broker)
        line.append(words, style=f"bold {colours.warning}" if view.lags(p, broker) else "")
        left_us = known.left_isr_us(broker)
        if left_us is not None and broker not in p.isr:
            since_ms = (view.now_us - left_us) / 1000
            line.append(f", left the ISR {duration(since_ms)} ago", style=colours.error)
        return line

    def _shape(
        self, line: Text, p: PartitionView, replica: ReplicaView, scale: Scale, glyph: str
    ) -> Text:
        """Append a replica's bar: the committed part, the written part, and the empty rest."""
        colours = self.palette
        end = scale.column(replica.end) if replica.end >= 0 else 0
        committed = min(scale.column(max(p.hw, 0)), end)
        body = colours.broker(replica.broker)
        line.append(glyph * committed, style=body)
        line.append(WRITTEN * (end - committed), style=body)
        return line.append(TRACK * (scale.width - end), style=colours.dim)

    def _below(self, p: PartitionView, replica: ReplicaView, scale: Scale) -> Text:
        """Draw the second row of a bar: recently truncated records, or the bar's lower half."""
        view, colours = self.model.replication, self.palette
        line, cut = Text(" " * _LABEL), view.recent_cut(p.key)
        if cut is None or cut.broker != replica.broker:
            return self._shape(line, p, replica, scale, "▀")
        begin, end = scale.column(cut.after), scale.column(cut.before)
        fresh = f" on {colours.glow}" if view.now_us - cut.at_us <= GLOW_US else ""
        line.append(" " * begin)
        line.append(CUT * max(end - begin, 1), style=f"bold {colours.error}{fresh}")
        line.append(" " * max(scale.width - end, 0) + "  ")
        line.append(f"{cut.records:,} cut off", style=f"bold {colours.error}")
        return line.append(f", {cut.after:,} to {cut.before - 1:,}", style=colours.error)

    def _isr(self, p: PartitionView, known: PartitionReplication) -> Text:
        """Draw the ISR over time: each set, how long it lasted, and why it changed."""
        view, colours, width = self.model.replication, self.palette, self.size.width
        line = ink("ISR".ljust(_LABEL), colours.dim)
        steps = list(known.steps)
        if not steps:
            return line.append("not known yet", style=colours.dim)
        parts: list[Text] = []
        for at, step in enumerate(steps):
            ends_us = steps[at + 1].at_us if at + 1 < len(steps) else view.isr_known_until_us(p)
            parts.append(self._step(step, ends_us, last=at + 1 == len(steps)))
        while len(parts) > 1 and sum(part.cell_len for part in parts) > width - _LABEL:
            parts.pop(0)
        if len(parts) < len(steps):
            line.append("… ", style=colours.dim)
        for part in parts:
            line.append_text(part)
        return coloured(line, colours)

    def _isr_steps(self, p: PartitionView, known: PartitionReplication, most: int) -> list[Text]:
        """Draw the ISR over time, the newest first, one line for each set."""
        view, colours = self.model.replication, self.palette
        steps = list(known.steps)
        if not steps:
            return [ink("ISR".ljust(_LABEL), colours.dim).append("not known yet")]
        lines: list[Text] = []
        for at in range(len(steps) - 1, max(len(steps) - 1 - most, -1), -1):
            last = at + 1 == len(steps)
            ends_us = view.isr_known_until_us(p) if last else steps[at + 1].at_us
            held = self._held(steps[at], ends_us)
            line = ink(("ISR" if last else "").ljust(_LABEL), colours.dim)
            line.append(_set(steps[at].isr), style="bold" if last else "")
            words = self._now(steps[at], held, ends_us) if last else f" for {held}"
            unsure = last and ends_us < view.now_us
            line.append(words, style=colours.dim if unsure or not last else "")
            if steps[at].because:
                line.append(f", because {steps[at].because}", style="" if last else colours.dim)
            lines.append(coloured(line, colours))
        return lines

    def _step(self, step: IsrStep, ends_us: int, last: bool) -> Text:
        colours, held = self.palette, self._held(step, ends_us)
        part = ink(_set(step.isr), "bold")
        if last:
            part.append(self._now(step, held, ends_us))
        if step.because:
            part.append(f", because {step.because}" if last else f" because {step.because}")
        if not last:
            part.append(f" ─{held}─▶ ", style=colours.dim)
        return part

    def _held(self, step: IsrStep, ends_us: int) -> str:
        """Return how long an ISR lasted. The first known ISR may have lasted longer."""
        held = duration(max(ends_us - step.at_us, 0) / 1000)
        return f"at least {held}" if step.at_least else held

    def _now(self, step: IsrStep, held: str, until_us: int) -> str:
        """Return how long the last known ISR has lasted. The ISR is known up to the time
        `until_us`.
        """
        if age_us := self.model.replication.now_us - until_us:
            return f" for {held} then, {old(age_us)}"
        return f" now, {held}: since you began to look" if step.at_least else f" for {held} now"

    def _epochs(self, p: PartitionView, known: PartitionReplication) -> Text:
        """Draw the leader epochs of the leader's log, and name the replicas whose epochs differ."""
        colours = self.palette
        line = ink("epochs".ljust(_LABEL), colours.dim)
        leader = known.replicas.get(p.leader)
        epochs = leader.epochs if leader is not None else {}
        if not epochs:
            unknown = leader is None or not leader.sampled
            words = "not known" if unknown else "none yet: nothing was written"
            return line.append(words, style=colours.dim)
        entries = sorted(epochs.items())[-_EPOCHS_SHOWN:]
        if len(epochs) > len(entries):
            line.append("… ")
        line.append("  ".join(f"{epoch} from {start:,}" for epoch, start in entries))
        for broker in p.replicas:
            theirs = known[broker].epochs
            wrong = [
                f"{epoch} from {start:,}"
                for epoch, start in sorted(theirs.items())
                if epochs.get(epoch, start) != start
                or (epoch not in epochs and epoch > min(epochs))
            ]
            if broker != p.leader and wrong:
                line.append(f"   ≠ broker {broker}: {', '.join(wrong)}", style=colours.warning)
        return coloured(line, colours)

    def _cuts(self, known: PartitionReplication) -> list[Text]:
        """Draw the truncations, the newest first."""
        view, colours = self.model.replication, self.palette
        lines: list[Text] = []
        for cut in reversed(known.truncations):
            label = "cut off" if not lines else ""
            line = ink(label.ljust(_LABEL), colours.dim)
            ago = duration(max(view.now_us - cut.at_us, 0) / 1000)
            style = f"bold {colours.error}" if cut.committed else "bold"
            line.append(f"{CUT} {cut.words()}", style=style)
            line.append(f", {ago} ago: {cut.reason}", style=colours.dim)
            lines.append(coloured(line, colours))
        return lines or [
            ink("cut off".ljust(_LABEL), colours.dim).append(
                "nothing since you began to look", style=colours.dim
            )
        ]


def _set(brokers: tuple[int, ...]) -> str:
    return f"{{{','.join(map(str, sorted(brokers)))}}}"
