"""A simulated run in a separate process. The tests send it commands over its sockets, without a
dashboard.
"""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.sim.scenario.language import read
from kafka_edu.sim.scenario.scenario_run import play
from kafka_edu.supervisor.action_client import ActionAddress, ActionClient, ActionRefusedError
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import EVENT_TYPES, Envelope, Kind, Source
from kafka_edu.trace.events.simulation import SimulationSampled
from kafka_edu.trace.events.supervisor import ProcessEnded, ProcessSnapshot
from kafka_edu.trace.events.timer import TimerSampled
from kafka_edu.trace.trace_client import EventsAddress, TraceClient
from tests.waiting import PATIENCE_S, wait_for
from tui.asking import by_socket
from tui.simulated_load import SimulatedLoad

SCENARIO = """\
> cluster brokers=2
> topic t partitions=1 rf=2
> producer p topic=t rate=5
> run 1s
> settle 4s
"""


@contextmanager
def served(tmp_path: Path, text: str = SCENARIO, how: str = "3") -> Iterator[ClusterFolder]:
    """Serve a run in a separate process while the `with` block runs."""
    folder, file = ClusterFolder(tmp_path / "sim"), tmp_path / "short.sim"
    file.write_text(text, encoding="utf-8")
    with subprocess.Popen(
        python_command("kafka_edu.cli.sim.stage_server", str(folder.path), str(file), how),
        env=python_environment(),
        stdin=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        wait_for(lambda: folder.action_address.exists() or process.poll(), "its address")
        assert process.poll() is None
        yield folder
        process.stdin.close()
        assert process.wait(PATIENCE_S) == 0, "it ends when its input is closed"


def test_one_socket_has_the_events_of_all_processes_and_the_clock(tmp_path: Path) -> None:
    with (
        served(tmp_path) as folder,
        TraceClient(EventsAddress.read(str(folder.supervisor_events)), gauges=True) as events,
        ActionClient(ActionAddress.read(folder.action_address)) as client,
    ):

        def state(wanted: str) -> SimulationSampled:
            def is_wanted(envelope: Envelope) -> bool:
                seen.append(envelope)
                event = envelope.event
                return isinstance(event, SimulationSampled) and event.state == wanted

            event = events.wait_for(is_wanted, PATIENCE_S).event
            assert isinstance(event, SimulationSampled)
            return event

        seen: list[Envelope] = []
        client.ask("sim-faster")
        for _ in range(9):
            client.ask("sim-faster")
        assert client.ask("status")["status"] is not None
        ended = state("ended")
        assert "every rule holds" in ended.note
        facts = [e for e in seen if EVENT_TYPES[e.name].kind is Kind.FACT]
        assert {str(e.source) for e in facts} >= {"broker 1", "broker 2", "zookeeper 1"}
        assert [e.mono_us for e in facts] == sorted(e.mono_us for e in facts)
        with pytest.raises(ActionRefusedError, match="the run has ended at"):
            client.ask("sim-step")

        seen.clear()
        killed = client.ask("kill", broker=2, at_us=ended.run_us + 300_000)
        assert "kill 2 (future 2" in str(killed["message"])
        back = state("paused")
        assert (back.turns, back.at_us) == (1, ended.run_us + 300_000)
        assert "executed again from the start: the same" in back.note
        assert events.wait_for(lambda e: isinstance(e.event, ProcessEnded), PATIENCE_S)

        def is_stopped(envelope: Envelope) -> bool:
            match envelope.event:
                case ProcessSnapshot(child=child, state="stopped"):
                    return child == Source.of_broker(2)
            return False

        assert events.wait_for(is_stopped, PATIENCE_S)
        future = read(folder.path / "future-2.sim")
    assert play(future, 3).digest != play(read(tmp_path / "short.sim"), 3).digest


def test_a_load_runs_at_some_moments_of_a_run_and_not_at_others(tmp_path: Path) -> None:
    with (
        served(tmp_path) as folder,
        ActionClient(ActionAddress.read(folder.action_address)) as client,
    ):
        load = SimulatedLoad(by_socket(folder))

        def runs() -> bool:
            return asyncio.run(load.runs())

        client.ask("wait-ready")
        client.ask("sim-pause")
        status = client.ask("status")["status"]
        assert isinstance(status, dict)
        before_us = status["simulation"]["at_us"]
        assert not runs()
        asyncio.run(load.start(("--rate", "5")))
        assert runs()
        client.ask("sim-back", at_us=before_us, plays=False)
        assert not runs(), "the run has gone back to a moment before the load"
        client.ask("sim-step")
        asyncio.run(load.start(("--seconds", "0.1")))
        assert runs()
        client.ask("sim-run")
        wait_for(lambda: not runs(), "the load's time is over")


def test_a_run_that_follows_another_one_samples_nothing_on_its_way(tmp_path: Path) -> None:
    point_us = 2_500_000
    with (
        served(tmp_path, how="follow") as folder,
        TraceClient(EventsAddress.read(str(folder.supervisor_events)), gauges=True) as events,
        ActionClient(ActionAddress.read(folder.action_address)) as client,
    ):
        client.ask("sim-follow", points=f"{point_us}:{1_000 * point_us}:0")
        sampled_us, states = set[int](), list[SimulationSampled]()

        def is_there(envelope: Envelope) -> bool:
            if isinstance(envelope.event, TimerSampled):
                sampled_us.add(envelope.mono_us)
            if isinstance(envelope.event, SimulationSampled):
                states.append(envelope.event)
            return bool(states) and states[-1].at_us == point_us

        events.wait_for(is_there, PATIENCE_S)
    assert sampled_us <= {0, point_us}, "when somebody began to watch, and at the point"
    assert point_us in sampled_us
    assert [one.at_us for one in states] == sorted(one.at_us for one in states)


def refused(tmp_path: Path, text: str, *arguments: str) -> str:
    """Start a run that cannot be served. Return the one line that its process prints."""
    file = tmp_path / "bad.sim"
    file.write_text(text, encoding="utf-8")
    done = subprocess.run(
        python_command(
            "kafka_edu.cli.sim.stage_server", str(tmp_path / "sim"), str(file), *arguments
        ),
        env=python_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.strip().count("\n") == 0
    return done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("> cluster brokers=2\n> topic t\n> explode now\n", "there is no command 'explode'"),
        ("> cluster brokers=2\n", "a line is missing. Write: > run 10s"),
    ],
)
def test_a_scenario_that_cannot_run_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    line = refused(tmp_path, text)
    assert said in line
    assert "bad.sim" in line


def test_a_learners_part_that_cannot_serve_is_one_line(tmp_path: Path) -> None:
    wheel = tmp_path / "wheel.py"
    wheel.write_text("class TimingWheel\n", encoding="utf-8")
    line = refused(tmp_path, SCENARIO, "", f"02-1={wheel}")
    assert "wheel.py:1: SyntaxError: " in line
