"""If a job of a chapter is a program, an event announces the job, and then the program runs to its
end.
"""

import asyncio
from pathlib import Path

from chapters.chapter import JobPlace, Program
from kafka_edu.common.time import MockTime
from kafka_edu.trace.event import CLIENT
from kafka_edu.trace.events.spark import JobStarted
from kafka_edu.trace.tracer import Tracer


def test_the_presenter_hears_of_a_job_before_its_program_runs() -> None:
    seen: list[object] = []

    def program(name: str) -> Program:
        async def run(trace: Tracer) -> None:
            seen.append(name)

        return run

    place = JobPlace(
        "",
        Path(),
        seen.append,
        lambda: False,
        cluster="c",
        run=lambda program: asyncio.run(_awaited(program)),
    )
    run = place.runner(program)
    run("one")
    run("two")
    assert seen == [JobStarted(job="one"), "one", JobStarted(job="two"), "two"]


async def _awaited(program: Program) -> None:
    await program(Tracer(CLIENT, MockTime()))
