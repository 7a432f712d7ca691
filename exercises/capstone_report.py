"""The report of a capstone run: its figures, and the targets that it has to meet."""

from collections.abc import Sequence

from kafka_edu.cli.report import Report

from .capstone import MOMENTS, Moment, Played, first_failure, served
from .capstone_judge import judge, vacancies
from .certificate import Line
from .my_broker import Part


def serving(parts: Sequence[Part], moment: Moment) -> str:
    """Return the id of the exercise whose part, written by the learner, runs in this moment. Return
    an empty text if the learner has no such part.
    """
    mine = {part.exercise.id for part in parts if part.mine}
    return next((one for one in reversed(moment.exercises) if one in mine), "")


def lines_of(played: Played, parts: Sequence[Part], moments: Sequence[Moment]) -> list[Line]:
    """Return the certificate's lines: one line for each moment, with the part that ran in it."""
    lines = []
    for moment in moments:
        exercise = serving(parts, moment)
        asked = served(played, exercise)[0] if exercise else 0
        passed = all(step.passed for step in played.steps.get(moment.name, ()))
        lines.append(Line(moment.name, exercise, asked, passed))
    return lines


def report_of(
    played: Played,
    parts: Sequence[Part],
    ours: Played | None = None,
    moments: Sequence[Moment] = MOMENTS,
) -> Report:
    """Return the report of a run. `ours` is a second run, with the course's own parts.

    The times of `ours` are shown for comparison only.
    """
    report = Report("capstone")
    report.figure("seconds", round(played.seconds, 1))
    for what, count in played.acts.items():
        report.figure(f"brokers {what}", count)
    for whose, one in (("yours", played), ("ours", ours)):
        if one is not None:
            times = [vacancy.ms for vacancy in vacancies(one.envelopes)]
            report.figure(
                f"{whose}: longest time without a leader, ms", round(max(times, default=0))
            )
            report.figure(f"{whose}: elections after a kill", len(times))
    report.target("records acked", played.load.acked, ">=", 1)
    report.target("acked records that were lost", played.load.lost, "==", 0)
    report.target("acked records that were not read", played.unread, "==", 0)
    for moment in moments:
        failed = sum(not step.passed for step in played.steps.get(moment.name, ()))
        report.target(f"{moment.name}: steps that failed", failed, "==", 0)
    for step in judge(played.envelopes):
        report.target(step.says, int(step.passed), "==", 1)
        if not step.passed:
            report.figure(f"not so: {step.says}", step.seen)
    for part in parts:
        if part.mine:
            asked, failures = served(played, part.exercise.id)
            if any(part.exercise.id in moment.exercises for moment in moments):
                report.target(f"{part.exercise.id} was asked", asked, ">=", 1)
            report.target(f"{part.exercise.id}: errors", failures, "==", 0)
            if failures:
                report.figure(f"{part.exercise.id} failed", first_failure(played, part.exercise.id))
    return report
