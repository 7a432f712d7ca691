"""The Moves screen: what moves, how far it is, and what holds it back."""

from typing import Final

from rich.text import Text

from ..model import Model
from ..subjects import MOVES, THROTTLES
from ..view_model.figures import duration, size
from ..view_model.moves_view import (
    DONE,
    NO_BOUND,
    SHUTDOWN,
    UNKNOWN,
    Move,
)
from .answer_line import answer_line
from .drawn import Drawn, Lines, ink, stacked
from .event_text import coloured

FILLED, TRACK = "█", "·"
_MOST_STEPS: Final = 8


class MovesChoice:
    """The move that the lower part shows. It stays chosen when the list changes."""

    def __init__(self) -> None:
        self.move: Move | None = None

    def settle(self, moves: list[Move]) -> int:
        """Return the row of the chosen move. If no move is chosen, choose the first one."""
        if self.move not in moves:
            self.move = moves[0] if moves else None
        return moves.index(self.move) if self.move is not None else 0


class MovesAnswer(Drawn):
    """One line: what moves now."""

    subject = MOVES

    def draw(self) -> Text:
        return answer_line(self, self.model.moves.answer(self.model.silence()))


class MoveLines(Lines):
    """One line for each move: those that run, and then the finished ones, the newest first."""

    subject = MOVES

    def __init__(self, model: Model, choice: MovesChoice) -> None:
        super().__init__(id="moves")
        self.model = model
        self.choice = choice
        self._moves: list[Move] = []

    def tick(self) -> None:
        self._moves = self.model.moves.moves()
        self.cursor = self.choice.settle(self._moves)
        super().tick()

    def cursor_moved(self) -> None:
        if self.cursor < len(self._moves):
            self.choice.move = self._moves[self.cursor]

    def count(self) -> int:
        return len(self._moves)

    def empty(self) -> str:
        return (
            "nothing has moved since you began to look; stop a broker, or use reassign-partitions"
        )

    def line(self, index: int) -> Text:
        colours, move = self.palette, self._moves[index]
        sign, style = _sign(move), _style(move, self)
        line = ink(f"{sign} ", style)
        line.append(f"{move.name:<26}", style="bold" if move is self.choice.move else "")
        line.append_text(self._bar(move))
        words = move.steps[-1].words if move.steps else "runs"
        if move.throttled:
            words += " · throttled"
        line.append(f"  {words}", style=style)
        line.append(f"  {_lasted(move, self.model.moves.now_us)}", style=colours.dim)
        return coloured(line, colours)

    def _bar(self, move: Move) -> Text:
        """Draw the progress of a move: a bar of twelve cells, and the percentage."""
        colours = self.palette
        if move.kind == SHUTDOWN:
            words = "" if move.left < 0 or not move.runs else f"{move.left:,} leaders left"
            return ink(words.ljust(19), colours.dim)
        copied, total = self.model.moves.progress(move)
        if min(copied, total) < 0 or not total:
            return ink(("" if not move.runs else "?").ljust(19), colours.dim)
        filled = min(12 * copied // total, 12)
        line = ink(FILLED * filled, colours.ok if not move.throttled else colours.warning)
        line.append(TRACK * (12 - filled), style=colours.dim)
        return line.append(f" {min(100 * copied // total, 100):>3} % ", style="bold")


def _sign(move: Move) -> str:
    return "▶" if move.runs else "✕" if move.failed else "✓"


def _style(move: Move, widget: Lines) -> str:
    colours = widget.palette
    if move.failed:
        return f"bold {colours.error}"
    if not move.runs:
        return colours.dim
    return f"bold {colours.warning if move.throttled else colours.ok}"


def _lasted(move: Move, now_us: int) -> str:
    """Return how long a move has lasted. For a finished move, add how long ago it ended."""
    end = now_us if move.runs else move.ended_us
    at_least = "at least " if move.at_least else ""
    lasted = f"{at_least}{duration(max(end - move.began_us, 0) / 1000)}"
    if move.runs:
        return f"for {lasted}"
    return f"took {lasted}, {duration(max(now_us - move.ended_us, 0) / 1000)} ago"


class MoveBoard(Drawn, can_focus=True):
    """The chosen move: its path, its bytes, its phases; and the throttles of all brokers."""

    subject = THROTTLES

    def __init__(self, model: Model, choice: MovesChoice) -> None:
        super().__init__(model, id="move")
        self.choice = choice

    def draw(self) -> Text:
        colours, move = self.palette, self.choice.move
        if move is None:
            lines = [ink("choose a move with ↑ ↓", colours.dim)]
        else:
            lines = [self._title(move), *self._bytes(move), *self._steps(move)]
        return stacked([*lines, *self._throttles()][: max(self.size.height, 1)], self.size.width)

    def _title(self, move: Move) -> Text:
        line = ink(move.name, "bold")
        line.append(f"  {move.route}", style=self.palette.dim)
        return coloured(line, self.palette)

    def _bytes(self, move: Move) -> list[Text]:
        copied, total = self.model.moves.progress(move)
        if move.kind == SHUTDOWN or min(copied, total) < 0:
            return []
        line = ink(f"{size(copied)} of {size(total)}", "bold")
        if move.runs:
            line.append(f" · {size(max(total - copied, 0))} left")
            if move.rate() > 0:
                left_ms = 1000 * (total - copied) / move.rate()
                line.append(f" · {size(move.rate())}/s, {duration(left_ms)} more")
        if move.throttled:
            line.append(" · throttled", style=f"bold {self.palette.warning}")
        return [line]

    def _steps(self, move: Move) -> list[Text]:
        """Draw the phases, each with the time from the beginning of the move."""
        colours, lines = self.palette, []
        for number, step in enumerate(move.steps[-_MOST_STEPS:], 1):
            now = number == len(move.steps[-_MOST_STEPS:]) and move.runs
            after = duration(max(step.at_us - move.began_us, 0) / 1000)
            line = ink(f"{'▶' if now else ' '} +{after:>9}  ", colours.dim)
            style = f"bold {colours.ok}" if step.words == DONE else "bold" if now else ""
            line.append(
                step.words,
                style=f"bold {colours.error}" if self._fails(move, step.words) else style,
            )
            lines.append(coloured(line, colours))
        return lines

    @staticmethod
    def _fails(move: Move, words: str) -> bool:
        return bool(move.failed) and words == move.failed

    def _throttles(self) -> list[Text]:
        """Draw one line for each side of a broker whose replication is throttled."""
        colours, view = self.palette, self.model.moves
        lines = []
        for (broker, side), one in sorted(view.throttles.items()):
            if not one.shown(view.now_us):
                continue
            bound = "no bound" if one.bound == NO_BOUND else f"{size(one.bound)}/s"
            line = ink(f"throttle of broker {broker} as {side}: ", colours.dim)
            line.append(f"{size(one.rate)}/s of {bound}", style="bold")
            if one.holds_since_us != UNKNOWN:
                held = duration(max(view.now_us - one.holds_since_us, 0) / 1000)
                line.append(f" · holds copies back for {held}", style=f"bold {colours.warning}")
            lines.append(coloured(line, colours))
        return lines
