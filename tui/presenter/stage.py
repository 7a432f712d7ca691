"""The live cluster of a presentation: acts, the load and jobs. A recording has no stage."""

from collections.abc import Mapping

from kafka_edu.instruments.presenter.break_tools import Idea, Place, ideas
from kafka_edu.instruments.presenter.presentation import (
    Knows,
    OpenJobs,
    Presentation,
    RunJob,
    StartLoad,
    StopLoad,
    UnknownTargetError,
    resolve,
)
from kafka_edu.instruments.presenter.script import ScriptAct
from kafka_edu.supervisor.action_client import ActionRefusedError, NoSupervisorError, ask_once
from kafka_edu.supervisor.cluster_folder import ClusterFolder

from ..asking import Ask
from ..load_process import LoadProcess
from ..model import Model
from ..simulated_load import SimulatedLoad
from .job_process import JobProcess


def to_ms(since_us: int) -> int:
    """Return a position in ms, rounded up, so that the event at `since_us` is included."""
    return max(-(-since_us // 1000), 0)


def at_last(presentation: Presentation) -> int:
    """Return the time up to which the learner has seen all events, in µs."""
    return max(presentation.moments.values(), default=presentation.since_us)


class StageError(Exception):
    """An act cannot be carried out now. The message gives the reason."""


class Stage:
    """Carries out the acts, loads and jobs that a script requests."""

    def __init__(
        self,
        folder: ClusterFolder,
        ask: Ask,
        load: LoadProcess | SimulatedLoad,
        model: Model,
        jobs: JobProcess,
    ) -> None:
        self._folder = folder
        self._supervisor = ask
        self._load = load
        self._model = model
        self._jobs = jobs
        self._options: tuple[str, ...] = ()
        """The options of the load that was started last."""
        self._runs = True
        """Whether a simulated cluster runs."""
        self._may_run = True
        """Whether it is to run, as `let_run` was called last."""
        self._changes = False
        """Whether `let_run` waits for an answer."""

    def knows(self) -> Knows:
        """Return the current controller, leaders and ZooKeeper servers, as the model knows them."""
        cluster = self._model.cluster
        partitions = {
            str(key): (row.leader, row.isr) for key, row in cluster.partitions.by_key.items()
        }
        servers = [server for server, runs in cluster.zookeepers.items() if runs]
        return Knows(cluster.controller, partitions, cluster.zookeeper_leader, servers)

    def ideas(self, presentation: Presentation) -> list[Idea]:
        """Return the script's ideas for breaking something, with the present names of the cluster.

        Raises StageError if a name is not known now.
        """
        try:
            status = ask_once(self._folder.action_address, "status")["status"]
        except (NoSupervisorError, ActionRefusedError) as error:
            raise StageError(str(error)) from error
        match status:
            case {"bootstrap_servers": str(servers), "zookeeper": {"connect": str(connect)}}:
                place = Place(self._folder.name, servers, connect)
                breaks = presentation.script.breaks
                return ideas(breaks, presentation.names, self.knows(), place)
        raise StageError("the supervisor's status cannot be read")

    def target(self, act: ScriptAct, names: Mapping[str, str]) -> dict[str, int | str]:
        """Return the values of an act's parameters. The model shows which broker has which role.

        Raises StageError if the act's target is not known now.
        """
        try:
            return resolve(act, names, self.knows())
        except UnknownTargetError as error:
            raise StageError(str(error)) from error

    async def perform(self, act: ScriptAct, values: Mapping[str, int | str]) -> None:
        """Carry out an act and wait for its result.

        Raises StageError if the act is refused or impossible.
        """
        await self._ask(act.name, values)

    async def _ask(self, action: str, values: Mapping[str, int | str]) -> None:
        try:
            await self._supervisor(action, values)
        except (NoSupervisorError, ActionRefusedError) as error:
            raise StageError(str(error)) from error

    async def perform_effect(self, effect: StartLoad | StopLoad | OpenJobs | RunJob) -> None:
        """Start or stop the load or a job. Raises StageError if that fails."""
        match effect:
            case StartLoad(options):
                await self._start_load(options)
            case StopLoad():
                await self._load.stop()
            case OpenJobs():
                self._open_jobs()
            case RunJob(name):
                self._run_job(name)

    async def _start_load(self, options: tuple[str, ...]) -> None:
        """Start a load.

        If this presentation runs a load with other options, that load ends first.
        """
        if options == self._options and await self._load.runs():
            return
        await self._load.stop()
        self._options = options
        try:
            await self._load.start(options)
        except OSError as error:
            raise StageError(f"the load cannot be started: {error}") from error

    async def let_run(self, runs: bool) -> None:
        """Let a simulated cluster run, or pause it. Do nothing if this is no change.

        Raises StageError if the simulation has ended.
        """
        self._may_run = runs
        if self._changes:  # the request before must have its answer first
            return
        self._changes = True
        try:
            while (wish := self._may_run) != self._runs:
                await self._ask("sim-run" if wish else "sim-pause", {})
                self._runs = wish
        finally:
            self._changes = False

    def went_back(self, options: tuple[str, ...] | None) -> None:
        """Note the options of the load that runs now (None: no load), because the simulated cluster
        has gone back.
        """
        self._options = options or ()

    def _open_jobs(self) -> None:
        try:
            self._jobs.open()
        except OSError as error:
            raise StageError(f"the jobs cannot be started: {error}") from error

    def _run_job(self, name: str) -> None:
        try:
            self._jobs.run(name)
        except OSError as error:
            why = self.job_failure() or str(error)
            raise StageError(f"the job '{name}' cannot be started: {why}") from error

    def job_failure(self) -> str:
        """Return why the process of the jobs ended by itself, or "" if it did not.

        Each reason is returned only once.
        """
        return self._jobs.failure()

    def close_jobs(self) -> None:
        self._jobs.close()
