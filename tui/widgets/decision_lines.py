"""The effects of one controller event: elections with candidates, and requests with answers."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from typing import Final, NamedTuple

from rich.text import Text

from kafka_edu.common.words import joined, plural
from kafka_edu.instruments.sentences import sentence
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.controller import (
    ActiveControllerChanged,
    ElectionsHeld,
    LeaderElected,
    LeaderElectionFailed,
    LeaderImbalanceMeasured,
)

from ..model import Model
from ..subjects import DECISIONS
from ..view_model.controller_view import (
    Candidate,
    ControllerEventView,
    Sent,
    candidates,
    partition_of,
    worth_telling,
)
from ..view_model.state_machine_view import StateMachineView
from .controller_events import result_of
from .controller_head import took
from .drawn import Lines, ink
from .event_text import coloured

_SMALL: Final = 9
"""If there are fewer rows than this, the elections come before the requests."""


class Line(NamedTuple):
    """One line: its text, and the fact whose chain [enter] shows."""

    what: "Envelope | Candidate | list[Sent] | str"
    envelope: Envelope | None
    more: str = ""


def lines_of(
    record: ControllerEventView, machines: dict[str, StateMachineView], *, small: bool = False
) -> Iterator[Line]:
    """Yield the lines about an event, the shortest parts first.

    In a small place the elections come first, because they are the answer.
    """
    for envelope in worth_telling(record.notes, record.broker):
        yield Line(envelope, envelope)
    for replica, times in record.left_isr.items():
        led = f"; it led {record.led[replica]:,} of them" if record.led[replica] else ""
        of = plural(times, "partition")
        yield Line(f"broker {replica} was taken out of the ISR of {of}{led}", None)
    if small:
        yield from _elections(record)
    for machine, changes in groupby(record.moves(), key=lambda move: move[3]):
        short = machines[machine].short
        said = [
            f"{times:,} {short(before)} → {short(after)}" for before, after, times, _ in changes
        ]
        yield Line(f"{machine}s: {' · '.join(said)}", None)
    by_request: dict[str, list[Sent]] = {}
    for sent in record.sent:
        by_request.setdefault(sent.request, []).append(sent)
    for requests in by_request.values():
        yield Line(requests, requests[-1].envelope)
    for broker, times in record.unreachable.items():
        yield Line(f"✕ broker {broker} did not answer: tried {plural(times, 'time')}", None)
    if not small:
        yield from _elections(record)
    if record.error:
        yield Line(f"✕ it failed: {record.error}", None)


def _elections(record: ControllerEventView) -> Iterator[Line]:
    for envelope in record.elections:
        yield from lines_of_election(envelope)
    if (untold := record.elected + record.failed - len(record.elections)) > 0:
        yield Line(f"and {plural(untold, 'election')} that the dashboard does not keep", None)


def lines_of_election(envelope: Envelope) -> Iterator[Line]:
    event = envelope.event
    if not isinstance(event, LeaderElected | LeaderElectionFailed):
        return
    yield Line(envelope, envelope, "election")
    for candidate in candidates(event):
        yield Line(candidate, envelope)


class DecisionLines(Lines):
    """Shows the effects of the event that is selected above, or the selected partition's
    election.
    """

    subject = DECISIONS

    def __init__(self, model: Model) -> None:
        super().__init__(id="controller-decisions")
        self.model = model
        self.record: ControllerEventView | None = None
        self.election: Envelope | None = None
        """The only election to show, or None if everything is shown."""
        self._lines: list[Line] = []
        self._of: tuple[int, int, Envelope | None, bool] = (0, -1, None, False)

    def show(self, record: ControllerEventView | None, election: Envelope | None = None) -> None:
        """Select the event, and optionally the one election, to show."""
        small = self.size.height < _SMALL
        stamp = (id(record), record.version if record is not None else -1, election, small)
        if stamp == self._of:
            return
        if (stamp[0], stamp[2]) != (self._of[0], self._of[2]):
            self.cursor = 0
            self.scroll_to(y=0, animate=False)
        self._of, self.record, self.election = stamp, record, election
        if election is not None:
            self._lines = list(lines_of_election(election))
        elif record is not None:
            self._lines = list(lines_of(record, self.model.controller.machines, small=small))
        else:
            self._lines = []

    def fact(self, index: int) -> Envelope | None:
        """Return the fact whose chain [enter] shows: the line's own fact, or the event if it has
        none.
        """
        own = self._lines[index].envelope if index < len(self._lines) else None
        return own or (self.record.envelope if self.record is not None else None)

    def count(self) -> int:
        return len(self._lines)

    def empty(self) -> str:
        if self.record is None:
            return ""
        return "not done yet" if self.record.busy else "nothing followed"

    def line(self, index: int) -> Text:
        what, envelope, more = self._lines[index]
        colours = self.palette
        if isinstance(what, Candidate):
            return self._candidate(what)
        if isinstance(what, list):
            return self._requests(what)
        if isinstance(what, str):
            style = f"bold {colours.error}" if what.startswith("✕") else ""
            return coloured(ink(what, style), colours)
        if more and envelope is not None:
            return self._election(envelope)
        match what.event:
            case ActiveControllerChanged(controller_id=-1):
                return ink("there is no controller", f"bold {colours.error}")
            case ActiveControllerChanged(controller_id=broker):
                return coloured(ink(f"broker {broker} is the controller, it reads"), colours)
            case LeaderImbalanceMeasured() as e:
                words = (
                    f"broker {e.broker_id}: preferred by {plural(e.preferred_here, 'partition')},"
                    f" {e.led_elsewhere:,} of them led elsewhere ({e.allowed_percentage} % are"
                    f" allowed), {e.given_back:,} given back"
                )
                return coloured(ink(words, "bold" if e.given_back else colours.dim), colours)
            case ElectionsHeld() as e:
                asked = f"{e.trigger} asked for {plural(e.asked, 'election')}"
                return ink(f"{asked} ({e.election_type}), {e.elected:,} won", "bold")
        said = sentence(what.event)
        line = coloured(ink(said.text(), "bold"), colours)
        if said.reason:
            line.append(f"  because {said.reason}", colours.dim)
        return line

    def _election(self, envelope: Envelope) -> Text:
        colours, event = self.palette, envelope.event
        line = ink(f"{partition_of(envelope)}", "bold")
        line.append("  ")
        line.append_text(result_of(envelope, colours.error, colours.ok))
        if isinstance(event, LeaderElected):
            in_isr = sorted(event.isr_before or event.isr)
            line.append(f"  ISR {in_isr}" + ("" if event.isr_before else " (new)"), colours.dim)
            if event.isr_before and set(event.isr) != set(event.isr_before):
                line.append(f" → {sorted(event.isr)}", colours.dim)
        elif isinstance(event, LeaderElectionFailed):
            line.append(f"  {event.reason}", colours.error)
        return coloured(line, colours)

    def _candidate(self, candidate: Candidate) -> Text:
        colours = self.palette
        sign, style = (
            ("✓", f"bold {colours.ok}")
            if candidate.chosen
            else ("✕", f"bold {colours.error}")
            if not candidate.alive
            else ("◌", f"bold {colours.warning}")
            if not candidate.in_isr
            else ("○", colours.dim)
        )
        line = ink(f"   {sign} ", style)
        line.append(f"broker {candidate.replica}", f"bold {colours.broker(candidate.replica)}")
        facts = [
            "alive" if candidate.alive else "not alive",
            "in the ISR" if candidate.in_isr else "not in the ISR",
        ]
        if candidate.shutting_down:
            facts.append("shutting down")
        line.append(f"  {', '.join(facts):<24}", colours.dim)
        if candidate.chosen:
            line.append(" ← chosen", f"bold {colours.ok}")
        if candidate.reason:
            line.append(f"  {candidate.reason}", "" if candidate.chosen else colours.dim)
        return line

    def _requests(self, requests: list[Sent]) -> Text:
        """Return a text with the brokers to which a request was sent, and when each of them
        answered.

        The text also gives the number of partitions in each request.
        """
        colours = self.palette
        line = ink(f"sent {requests[0].request}")
        by_broker: dict[int, list[Sent]] = {}
        for sent in requests:
            by_broker.setdefault(sent.broker, []).append(sent)
        for index, (broker, sent_there) in enumerate(by_broker.items()):
            line.append(" · " if index else " → ", colours.dim)
            line.append(f"broker {broker}", f"bold {colours.broker(broker)}")
            named = sum(sent.partitions for sent in sent_there)
            line.append(f" ({plural(named, 'partition')}" if named else " (the live brokers")
            times_us = [sent.took_us for sent in sent_there if sent.took_us is not None]
            if times_us:
                least, most = took(min(times_us)), took(max(times_us))
                span = least if least == most else f"{least} to {most}"
                line.append(f", answered in {span}", colours.dim)
            if waiting := len(sent_there) - len(times_us):
                line.append(f", {waiting} not answered yet", f"bold {colours.warning}")
            if errors := Counter(sent.error_code for sent in sent_there if sent.error_code):
                line.append(f", error code {joined(sorted(errors))}", f"bold {colours.error}")
            line.append(")")
        return line
