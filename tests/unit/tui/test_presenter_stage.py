"""The stage of a presentation lets a simulated cluster run only while a step needs it."""

import asyncio

import pytest

from kafka_edu.supervisor.action_client import ActionRefusedError
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from tui.asking import Values
from tui.load_process import LoadProcess
from tui.model import Model
from tui.presenter.job_process import JobProcess
from tui.presenter.stage import Stage, StageError


class Simulation:
    """Answers requests when `answers` is set. If it `refuses`, the first of them is refused."""

    def __init__(self, refuses: bool = False) -> None:
        self.asked: list[str] = []
        self.answers = asyncio.Event()
        self.refuses = refuses

    async def ask(self, name: str, values: Values) -> str:
        self.asked.append(name)
        await self.answers.wait()
        if self.refuses:
            self.refuses = False
            raise ActionRefusedError("not now")
        return ""


def stage_of(simulation: Simulation) -> Stage:
    jobs = JobProcess("cluster", ())
    load = LoadProcess("cluster")
    return Stage(ClusterFolder.of("cluster"), simulation.ask, load, Model("cluster"), jobs)


def test_a_later_wish_waits_for_the_answer_to_the_one_before() -> None:
    async def run() -> None:
        simulation = Simulation()
        stage = stage_of(simulation)
        first = asyncio.create_task(stage.let_run(False))
        await asyncio.sleep(0)
        await stage.let_run(True)
        await stage.let_run(False)
        await stage.let_run(True)
        assert simulation.asked == ["sim-pause"]
        simulation.answers.set()
        await first
        assert simulation.asked == ["sim-pause", "sim-run"], "only the last wish counts"
        await stage.let_run(True)
        assert len(simulation.asked) == 2, "it runs already"

    asyncio.run(run())


def test_a_refused_wish_is_said_and_sent_again() -> None:
    async def run() -> None:
        simulation = Simulation(refuses=True)
        simulation.answers.set()
        stage = stage_of(simulation)
        with pytest.raises(StageError, match="not now"):
            await stage.let_run(False)
        await stage.let_run(False)
        assert simulation.asked == ["sim-pause", "sim-pause"]

    asyncio.run(run())
