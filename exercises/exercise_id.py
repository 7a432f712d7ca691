"""The type of an argument that names an exercise."""

import click

from .runner.manifest import Exercise, UnknownExerciseError, find_exercise


class ExerciseId(click.ParamType[Exercise]):
    """An id of the manifest, as in 02-1."""

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
