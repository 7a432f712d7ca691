"""A chapter of the course in the page: its script for a simulated cluster, and the reader's place
in the script.

The program that builds the page writes the data of a chapter into one file (`chapters.page_files`).
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from chapters.simulated import scenario_text, simulated
from kafka_edu.common.python_process import command_line
from kafka_edu.instruments.presenter.presentation import Phase, Presentation, SavedPlace
from kafka_edu.instruments.presenter.script import Jobs, Picture, Script
from kafka_edu.instruments.presenter.script_reader import read_script
from page.link import LinkError
from tui.screens.registry import DECLARATIONS

SCRIPT: Final = "script.toml"


class Lesson(NamedTuple):
    chapter: str
    script: Script
    """The script, with a page of narration instead of each step that the page cannot run."""
    scenario: str
    """The text of the scenario of the chapter's cluster."""


def lesson_of(data: str, folder: Path) -> Lesson:
    """Return the lesson in the data of a chapter. The lesson's script is written into `folder`."""
    found = json.loads(data)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / SCRIPT
    file.write_text(found["script"], encoding="utf-8")
    pictures = {name: Picture(one["text"], one["names"]) for name, one in found["pictures"].items()}
    jobs = Jobs((), found["jobs"])
    script = read_script(file, [each.name for each in DECLARATIONS], pictures, jobs)
    replay = command_line(f"chapter {found['id']} --replay")
    here = simulated(found["id"], script, replay).script
    return Lesson(found["id"], here, scenario_text(found["id"], script))


def until(lesson: Lesson, step: int, fact: str) -> Callable[[Presentation], bool] | None:
    """Return a function that says whether a presentation has reached the step `step` (counted from
    1). If `fact` is given, the function says whether the script has bound the name `fact`. Return
    None for the beginning of the chapter.

    Raises LinkError if the chapter has no such step or no such name.
    """
    if fact:
        if not any(fact in each.bind for one in lesson.script.steps for each in one.expectations):
            raise LinkError(
                f"chapter {lesson.chapter} has no moment '{fact[:40]}' in a simulated run"
            )
        return lambda at: fact in at.names
    if step > len(lesson.script.steps):
        raise LinkError(
            f"chapter {lesson.chapter} has {len(lesson.script.steps)} steps, not {step}"
        )
    return (lambda at: at.step + 1 >= step) if step > 1 else None


def place_alone(place: SavedPlace) -> SavedPlace:
    """Return a place without the times of the earlier steps. A link brings back only the time of
    the last finished step.
    """
    done = place.step if place.phase == Phase.ANSWER else place.step - 1
    moments = {step: at_us for step, at_us in place.moments.items() if step >= done}
    return place._replace(moments=moments)


def checked(lesson: Lesson, place: SavedPlace) -> SavedPlace:
    """Return the place of a link. Raises LinkError if the chapter has no such step."""
    if not 0 <= place.step <= len(lesson.script.steps):
        raise LinkError(f"chapter {lesson.chapter} has no step {place.step + 1}")
    return place_alone(place)
