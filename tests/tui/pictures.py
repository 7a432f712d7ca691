"""Draw the pictures of docs/dashboard.md, and its table of screens, from the declarations.

PYTHONPATH=. python -m tests.tui.pictures              # all pictures and the table
PYTHONPATH=. python -m tests.tui.pictures --table      # the table alone
"""

import asyncio
import os
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
    for each in DECLARATIONS:
        (PICTURES / f"{each.name}.svg").write_text(draw(each.name), encoding="utf-8")
        light = PICTURES / f"{each.name}-light.svg"
        light.write_text(draw(each.name, light=True), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
