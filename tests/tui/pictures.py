"""Draw the pictures of docs/dashboard.md, and its table of screens, from the declarations.

PYTHONPATH=. python -m tests.tui.pictures              # all pictures and the table
PYTHONPATH=. python -m tests.tui.pictures --table      # the table alone
"""

import asyncio
import os
import re
import sys
import time
from pathlib import Path
from typing import Final

from kafka_edu.instruments.recording import cluster_of, read_recordings
from kafka_edu.instruments.replay import Replay
from tests.tui.moments import MOMENTS, RECORDINGS, captured
from tui.app import picture
from tui.screens.registry import DECLARATIONS

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = ROOT / "docs" / "dashboard.md"
PICTURES: Final = ROOT / "docs" / "screenshots"
SIZE: Final = (120, 40)
MOVING: Final = "leader-killed"
"""The name of the moving picture."""
MOVING_MS: Final = (9_000, 11_300, 14_000, 16_900, 20_000, 27_000)
"""Its moments: well, a leader is killed, its session lives, another one leads, and well again."""
MOVING_S: Final = 2.5
"""Seconds of each moment."""
MOVING_SIZE: Final = (110, 30)
BEGIN: Final = "<!-- screens: written by python -m tests.tui.pictures --table -->\n"
END: Final = "<!-- end of screens -->\n"


def draw(screen: str, light: bool = False) -> str:
    """Return the picture of a screen at its moment."""
    moment = MOMENTS[screen]
    path = RECORDINGS / moment.recording
    if ".capture" in path.name:
        drawn = picture("capture", None, 0, screen, SIZE, light, captured(path))
    else:
        replay = Replay(read_recordings([path]))
        drawn = picture(cluster_of(path), replay, moment.at_ms, screen, SIZE, light)
    return asyncio.run(drawn)


def moving() -> str:
    """Return the first picture of README.md: a leader is killed, moment by moment.

    One SVG contains all frames, and its style shows one frame after the other. A reader who has
    switched off motion sees only the last frame.
    """
    frames = []
    for at_ms in MOVING_MS:
        path = RECORDINGS / MOMENTS["cluster"].recording
        replay = Replay(read_recordings([path]))
        drawn = picture(cluster_of(path), replay, at_ms, "cluster", MOVING_SIZE, light=False)
        frames.append(asyncio.run(drawn))
    box = re.search(r'viewBox="([^"]+)"', frames[0])
    assert box is not None
    inner = [frame.partition(">")[2].rpartition("</svg>")[0] for frame in frames]
    share = 100 / len(frames)
    style = (
        f".frame {{ animation: shown {len(frames) * MOVING_S}s steps(1) infinite; opacity: 0; }}"
        f"@keyframes shown {{ 0% {{ opacity: 1; }} {share:.2f}% {{ opacity: 0; }} }}"
        "@media (prefers-reduced-motion: reduce)"
        " { .frame { animation: none; } .frame:last-child { opacity: 1; } }"
    )
    groups = "".join(
        f'<g class="frame" style="animation-delay: {number * MOVING_S}s">{text}</g>\n'
        for number, text in enumerate(inner)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box[1]}">\n'
        f"<style>{style}</style>\n{groups}</svg>\n"
    )


def table() -> str:
    """Return the table of screens, as the page has it."""
    rows = ["| key | screen | the question it answers | the break that shows it |"]
    rows.append("| --- | --- | --- | --- |")
    rows += [
        f"| `{each.key}` | [{each.title}](screenshots/{each.name}.svg),"
        f" [light](screenshots/{each.name}-light.svg) | {each.question} |"
        f" {each.break_} |"
        for each in DECLARATIONS
    ]
    return "\n".join(rows) + "\n"


def page_with_table(page: str) -> str:
    """Return the page with the table of now."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE} has no place for the table: {BEGIN.strip()} … {END.strip()}")
    return before + BEGIN + "\n" + table() + "\n" + END + after


def main(arguments: list[str]) -> None:
    os.environ["TZ"] = "UTC"
    time.tzset()
    PAGE.write_text(page_with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    if "--table" in arguments:
        return
    (PICTURES / f"{MOVING}.svg").write_text(moving(), encoding="utf-8")
    for each in DECLARATIONS:
        (PICTURES / f"{each.name}.svg").write_text(draw(each.name), encoding="utf-8")
        light = PICTURES / f"{each.name}-light.svg"
        light.write_text(draw(each.name, light=True), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
