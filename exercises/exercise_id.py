"""The argument EXERCISE and the option --dir (the learner's folder) of the `lab` commands."""

from pathlib import Path

import click

from .runner.manifest import Exercise, UnknownExerciseError, find_exercise


class ExerciseId(click.ParamType[Exercise]):
    """The type of the argument EXERCISE: an exercise's id in the manifest, such as 02-1."""

    name = "exercise"

    def convert(
        self, value: str | Exercise, param: click.Parameter | None, ctx: click.Context | None
    ) -> Exercise:
        if isinstance(value, Exercise):
            return value
        try:
            return find_exercise(value)
        except UnknownExerciseError as error:
            self.fail(str(error), param, ctx)


DIRECTORY = click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that holds a folder for each exercise (default: lab).",
)
