"""Write a presentation of a recording as an asciicast: the dashboard's own frames, for a page.

The file has the format of asciinema, version 2. Each step, and each fact that a step waited for,
becomes a marker. In the header, `moments` has the time at which each name of the script got its
value. So a page can link a number to its moment.
"""

import json
from pathlib import Path
from typing import Final, NamedTuple

from rich.console import Console
from textual.pilot import Pilot

from kafka_edu.instruments.presenter.expectation import readable
from kafka_edu.instruments.presenter.page import Role, page
from kafka_edu.instruments.presenter.presentation import Phase, Presentation

from .presenter_app import PresenterApp

COLUMNS: Final = 110
ROWS: Final = 38
MOST_STEPS_FRAMES: Final = 40
"""The maximum number of frames while a step waits. A long wait is played faster to fit."""
FRAME_S: Final = 0.15
LETTERS_A_SECOND: Final = 40
SHORTEST_S: Final = 1.5
LONGEST_S: Final = 8.0
SETTLE_TURNS: Final = 4
"""How many turns of the loop it takes until the screen shows a change."""
READ_BY_ROLE: Final = {
    Phase.NARRATION: (Role.SAY,),
    Phase.QUESTION: (Role.QUESTION, Role.CHOICE),
    Phase.ANSWER: (Role.ANSWER, Role.COMPARED),
    Phase.END: (Role.SAY,),
}


class Cast(NamedTuple):
    """The result of `write`: what the cast contains."""

    seconds: float
    frames: int
    bytes: int


class _Film:
    """The frames of a cast. Each frame is stored as its difference from the frame before."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.at = 0.0
        self.moments: dict[str, float] = {}
        self._rows: list[str] = [""] * ROWS
        self._lines: list[str] = []
        self._console = Console(
            force_terminal=True, color_system="truecolor", legacy_windows=False, width=COLUMNS
        )
        self.frames = 0
        self._marked: set[tuple[int, int]] = set()
        """(Step, number of the expectation), for all expectations that have a marker."""

    def take(self, app: PresenterApp) -> None:
        """Add the current screen as a frame, if it differs from the last frame."""
        strips = app.screen._compositor.render_strips()
        rows = [strip.render(self._console) for strip in strips][:ROWS]
        changed = [
            f"\x1b[{number};1H{row}\x1b[0m\x1b[K"
            for number, (row, before) in enumerate(zip(rows, self._rows, strict=False), 1)
            if row != before
        ]
        if changed:
            self._rows[: len(rows)] = rows
            self.frames += 1
            self._event("o", "".join(changed))
        for name in app.presentation.names:
            self.moments.setdefault(name, round(self.at, 2))

    def mark(self, label: str) -> None:
        """Add a marker with this label."""
        self._event("m", label)

    def mark_seen(self, at: Presentation) -> None:
        """Add a marker for each expectation that the step has seen since the last call."""
        for number, expectation in enumerate(at.present.expectations):
            place = (at.step, number)
            if number < len(at.seen) and at.seen[number] and place not in self._marked:
                self._marked.add(place)
                self.mark(f"✓ {readable(expectation.look, at.names)}")
                self.at += 3 * FRAME_S

    def _event(self, kind: str, text: str) -> None:
        self._lines.append(json.dumps([round(self.at, 2), kind, text], ensure_ascii=False))

    def text(self) -> str:
        """Return the text of the whole file."""
        header = {
            "version": 2,
            "width": COLUMNS,
            "height": ROWS,
            "title": self.title,
            "moments": self.moments,
        }
        return "\n".join([json.dumps(header, ensure_ascii=False), *self._lines]) + "\n"


async def write(app: PresenterApp, file: Path) -> Cast:
    """Play a presentation on its recording to the end, and write the file.

    Raises OSError if the file cannot be written.
    """
    at = app.presentation
    film = _Film(at.script.title)
    async with app.run_test(size=(COLUMNS, ROWS)) as pilot:
        await _settle(app, pilot)
        shown = -1
        while not app.finished:
            if at.shown != shown and at.shown < len(at.script.steps):
                shown = at.shown
                film.mark(f"{shown + 1} {at.script.steps[shown].title}")
            film.take(app)
            film.mark_seen(at)  # under load, an expectation can be met while the screen settles
            if at.waits and not at.failure:
                await _watch(app, pilot, film)
                continue
            film.at += _reading_s(at)
            app.action_go_on()
            await _settle(app, pilot)
        film.take(app)
        film.at += LONGEST_S
        film.mark("the end")
    text = film.text()
    file.write_text(text, encoding="utf-8")
    return Cast(film.at, film.frames, len(text.encode()))


async def _watch(app: PresenterApp, pilot: Pilot[None], film: _Film) -> None:
    """Play the recording until the step has seen all its expectations."""
    at, replay = app.presentation, app.replay
    assert replay is not None
    chunk_us = 100_000
    frames = 0
    while at.waits and not at.failure:
        app.player.tick(chunk_us)
        await _settle(app, pilot)
        film.at += FRAME_S
        film.take(app)
        film.mark_seen(at)
        frames += 1
        if frames % MOST_STEPS_FRAMES == 0:
            chunk_us *= 4
        if replay.ended and at.waits:
            at.ended()
    film.take(app)


async def _settle(app: PresenterApp, pilot: Pilot[None]) -> None:
    for _ in range(SETTLE_TURNS):
        app.tick()
        await pilot.pause()


def _reading_s(at: Presentation) -> float:
    """Return the time, in seconds, that a reader needs for the new text on the page."""
    roles = READ_BY_ROLE.get(at.phase, ())
    letters = sum(len(line.text) for line in page(at) if line.role in roles)
    return min(max(letters / LETTERS_A_SECOND, SHORTEST_S), LONGEST_S)
