"""Write what the live page needs of each chapter that can run on a simulated cluster.

    python -m chapters.page_files FOLDER

For each chapter it writes a file NN.json with its id and title, the text of its script, its
pictures, the names of its jobs, its number of steps, the numbers of the steps that are left out,
and the names that its simulated run binds. The builder of the site must not import a chapter, so it
runs this program in a separate process.
"""

import json
import sys
from pathlib import Path
from typing import Final

from .chapter import Chapter, find_chapters
from .command import presenter
from .simulated import NotSimulatedError, scenario_text, simulated

LAST_OF_FIRST: Final = "08"
LATER: Final = frozenset({"18"})
"""Chapters 00 to 08 are about things that the simulator has. Of the later ones only these are."""


def in_page(number: str) -> bool:
    """Return whether the live page has this chapter."""
    return number <= LAST_OF_FIRST or number in LATER


def data_of(chosen: Chapter) -> dict[str, object]:
    """Return what the page needs of a chapter. Raises NotSimulatedError."""
    script = chosen.script(presenter().screen_names())
    scenario_text(chosen.id, script)
    here = simulated(chosen.id, script, "")
    return {
        "id": chosen.id,
        "title": chosen.title.removeprefix(chosen.number).strip(),
        "page": f"chapters/{chosen.name}/{chosen.page.name}",
        "script": chosen.script_file.read_text(encoding="utf-8"),
        "pictures": {name: one._asdict() for name, one in script.pictures.items()},
        "jobs": dict(script.jobs.names),
        "steps": len(script.steps),
        "left_out": [one.number for one in here.left_out],
        "facts": sorted(
            {name for one in here.script.steps for each in one.expectations for name in each.bind}
        ),
    }


def main(folder: str) -> None:
    """Write the files of all chapters that the page has."""
    for number, chosen in find_chapters().items():
        if not in_page(number):
            continue
        try:
            data = data_of(chosen)
        except NotSimulatedError:
            continue
        text = json.dumps(data, ensure_ascii=False)
        Path(folder, f"{number}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
