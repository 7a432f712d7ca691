"""The certificate of the capstone: one HTML page with the timeline of the run, and a picture.

The timeline has a row for each broker, and time runs from left to right. The colour of a cell shows
whether the broker ran, was paused or was down. The last row shows the id of each new controller,
at the time of its election.
"""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final, NamedTuple

import graphviz

from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    WHITE,
    YELLOW,
    cell,
    new_figure,
    rendered,
    table,
)
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import ControllerElected
from kafka_edu.trace.events.supervisor import (
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessStarted,
)

SLICES: Final = 36
"""The number of cells in a row. All of them fit on the screen of a phone."""
RUNS, STANDS, DEAD = "runs", "stands still", "is down"
COLOURS: Final = {RUNS: GREEN, STANDS: YELLOW, DEAD: RED}
US_A_S: Final = 1_000_000
_STYLE: Final = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, "DejaVu Sans", sans-serif; color: #1f2328; background: #fff;
  max-width: 50rem; margin: 0 auto; padding: 1rem; }
main { border: 3px double #57606a; border-radius: .6rem; padding: 1.2rem; }
h1 { font-size: 1.6rem; margin: 0; } h2 { font-size: 1.1rem; margin: 1.6rem 0 .4rem; }
.big { font-size: 1.15rem; }
svg { width: 100%; height: auto; display: block; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .5rem; border-bottom: 1px solid #d0d7de; text-align: left; }
td:nth-child(3), th:nth-child(3) { text-align: right; }
.ours { color: #57606a; }
p { margin: .5rem 0; }
"""


class Line(NamedTuple):
    """A line of the certificate, about one part of the broker."""

    name: str
    whose: str
    """The id of the learner's exercise whose part ran; empty if the course's own part ran."""
    asked: int
    passed: bool


class Certificate(NamedTuple):
    """All facts that the certificate shows."""

    name: str
    """The name of the learner; may be empty."""
    date: str
    seconds: float
    seed: int
    acked: int
    lost: int
    acts: Mapping[str, int]
    longest_ms: float
    """The longest time without a leader, in ms."""
    ours_longest_ms: float | None
    """The longest time without a leader (ms) in a run with the course's own parts; None if there
    was no such run.
    """
    lines: Sequence[Line]
    envelopes: Sequence[Envelope]

    @property
    def mine(self) -> int:
        """The number of parts that the learner wrote."""
        return sum(bool(line.whose) for line in self.lines)


def timeline(envelopes: Sequence[Envelope], brokers: Sequence[int]) -> graphviz.Digraph:
    """Draw the state of each broker and the elections of controllers over time, in SLICES cells."""
    begin, end = envelopes[0].mono_us, envelopes[-1].mono_us
    step = max((end - begin) / SLICES, 1.0)
    legend = [(colour, words) for words, colour in COLOURS.items()]
    title = f"{(end - begin) / US_A_S:.0f} s, {step / US_A_S:.0f} s a cell"
    figure = new_figure("timeline", title, [*legend, (BLUE, "a new controller")])
    rows = []
    for broker in brokers:
        cells = "".join(
            _narrow(COLOURS[_state(envelopes, broker, begin + (n + 1) * step, begin + n * step)])
            for n in range(SLICES)
        )
        rows.append(cell(f"broker {broker}", plain=True) + cells)
    rows.append(cell("controller", plain=True) + _controllers(envelopes, begin, step))
    figure.node("timeline", shape="plaintext", label=table(rows, 1))
    return figure


def _narrow(colour: str, text: str = " ") -> str:
    return f'<td bgcolor="{colour}" width="10" height="20">{text}</td>'


def _state(envelopes: Sequence[Envelope], broker: int, until: float, since: float) -> str:
    """Return the worst state of a broker between the times `since` and `until`, in µs.

    The order from best to worst is: running, paused, down.
    """
    state, worst = DEAD, RUNS
    order = (RUNS, STANDS, DEAD)
    for one in envelopes:
        if one.mono_us > until:
            break
        match one.event:
            case ProcessStarted(child=child) | ProcessResumed(child=child):
                after = RUNS
            case ProcessPaused(child=child):
                after = STANDS
            case ProcessEnded(child=child):
                after = DEAD
            case _:
                continue
        if child.broker != broker:
            continue
        if one.mono_us >= since and order.index(after) > order.index(worst):
            worst = after
        state = after
    return max(state, worst, key=order.index)


def _controllers(envelopes: Sequence[Envelope], begin: float, step: float) -> str:
    """Return the cells of the controller's row.

    A cell has the id of the controller that was elected in the cell's time. All other cells are
    empty.
    """
    elected = {
        min(int((one.mono_us - begin) / step), SLICES - 1): one.broker
        for one in envelopes
        if isinstance(one.event, ControllerElected)
    }
    return "".join(
        _narrow(BLUE, str(elected[n])) if n in elected else _narrow(GREY if elected else WHITE)
        for n in range(SLICES)
    )


def picture(made: Certificate, brokers: Sequence[int]) -> bytes:
    """Return the certificate as a PNG picture. Raises DrawingError."""
    figure = timeline(made.envelopes, brokers)
    rows = [f'<td border="0" align="left"><b>{escape(title_of(made))}</b></td>']
    rows += [f'<td border="0" align="left">{escape(one)}</td>' for one in sentences(made)]
    for line in made.lines:
        whose = line.whose or "ours"
        text = f"{line.name}: {whose}, asked {line.asked:,} times"
        rows.append(f'<td border="0" align="left">{escape(text)}</td>')
    figure.node("words", shape="plaintext", label=table(rows, 2))
    figure.edge("words", "timeline", style="invis")
    return rendered(figure, "png")


def title_of(made: Certificate) -> str:
    """Return the title of the certificate, which names the learner."""
    who = made.name or "Somebody"
    return f"{who} has built a broker, and it stood."


def sentences(made: Certificate) -> list[str]:
    """Return the sentences of the certificate that tell what happened in the run."""
    acts = ", ".join(f"{count} times {what}" for what, count in made.acts.items() if count)
    longest = f"The longest time without a leader was {made.longest_ms / 1000:.1f} s"
    if made.ours_longest_ms is not None:
        longest += f", and {made.ours_longest_ms / 1000:.1f} s with all parts from the course"
    return [
        f"{made.mine} of {len(made.lines)} parts are {'theirs' if made.name else 'of their own'}.",
        f"In {made.seconds:.0f} s brokers were {acts}.",
        f"{made.acked:,} records were acknowledged, and {made.lost} were lost.",
        longest + ".",
    ]


def page(made: Certificate, brokers: Sequence[int]) -> str:
    """Return the certificate as an HTML page that needs no other file. Raises DrawingError."""
    drawn = rendered(timeline(made.envelopes, brokers)).decode()
    svg = drawn[drawn.index("<svg") :]
    rows = "".join(
        f"<tr{'' if line.whose else ' class=ours'}><td>{escape(line.name)}</td>"
        f"<td>{escape(line.whose or 'ours')}</td><td>{line.asked:,}</td></tr>"
        for line in made.lines
    )
    said = "".join(f'<p class="big">{escape(one)}</p>' for one in sentences(made))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    return (
        f'<!doctype html><html lang="en"><head>{head}<title>kafka-edu: a broker of one\'s own'
        f"</title><style>{_STYLE}</style></head><body><main><h1>{escape(title_of(made))}</h1>"
        f"<p>kafka-edu, {escape(made.date)}, seed {made.seed}</p>{said}<h2>What happened</h2>{svg}"
        f"<h2>The parts</h2><table><tr><th>part</th><th>exercise</th><th>asked</th></tr>{rows}"
        "</table></main></body></html>\n"
    )
