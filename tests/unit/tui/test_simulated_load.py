"""The load on a simulated cluster: which acts it asks of the simulation."""

import asyncio
import json
import socket
import threading
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster_folder import ClusterFolder
from tui.asking import by_socket
from tui.simulated_load import LoadRefused, SimulatedLoad


class Simulation:
    """Takes the actions of one load, and answers each with `ok`."""

    def __init__(self, folder: ClusterFolder, *, ok: bool = True) -> None:
        self.asked: list[dict[str, object]] = []
        self._ok = ok
        self.loads = 0
        """How many loads run, as the simulation says."""
        self._listener = socket.create_server(("127.0.0.1", 0))
        address = {"host": "127.0.0.1", "port": self._listener.getsockname()[1], "token": "t"}
        folder.path.mkdir()
        folder.action_address.write_text(json.dumps({**address, "pid": 1}), encoding="utf-8")
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection, connection.makefile("rwb") as stream:
                for line in stream:
                    request = json.loads(line)
                    answer = {"id": request.pop("id"), "ok": self._ok, "error": "not now"}
                    del request["token"]
                    if request["action"] == "sim-loads":
                        answer |= {"ok": True, "message": str(self.loads)}
                    else:
                        self.asked.append(request)
                        self.loads = int(self._ok and request["action"] == "start-load")
                    stream.write(json.dumps(answer).encode() + b"\n")
                    stream.flush()


def test_the_options_of_the_command_are_those_of_the_act(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path / "sim")
    simulation, load = Simulation(folder), SimulatedLoad(by_socket(folder))
    asyncio.run(load.stop())
    asyncio.run(load.start(("--topic", "web", "--record-size", "64", "--seconds", "1.5")))
    assert asyncio.run(load.runs())
    asyncio.run(load.stop())
    assert not asyncio.run(load.runs())
    assert simulation.asked == [
        {"action": "start-load", "topic": "web", "size": "64", "for_ms": 1_500},
        {"action": "stop-load"},
    ]
    assert load.failure() is None


def test_the_simulation_says_whether_a_load_runs(tmp_path: Path) -> None:
    """When the run goes on, a load may end by itself. When the run goes back, a load may exist
    again.
    """
    folder = ClusterFolder(tmp_path / "sim")
    simulation, load = Simulation(folder), SimulatedLoad(by_socket(folder))
    asyncio.run(load.start())
    simulation.loads = 0
    assert not asyncio.run(load.runs())
    asyncio.run(load.stop())
    assert [each["action"] for each in simulation.asked] == ["start-load"], "nothing has to end"
    simulation.loads = 1
    assert asyncio.run(load.runs())
    asyncio.run(load.stop())
    assert [each["action"] for each in simulation.asked] == ["start-load", "stop-load"]


def test_a_refusal_has_its_reason_and_a_load_that_has_ended_can_be_stopped(tmp_path: Path) -> None:
    folder = ClusterFolder(tmp_path / "sim")
    simulation, load = Simulation(folder, ok=False), SimulatedLoad(by_socket(folder))
    with pytest.raises(LoadRefused, match="not now"):
        asyncio.run(load.start())
    assert not asyncio.run(load.runs())
    simulation.loads = 1
    asyncio.run(load.stop())
    assert [each["action"] for each in simulation.asked] == ["start-load", "stop-load"]


def test_a_simulation_that_is_gone_is_said(tmp_path: Path) -> None:
    load = SimulatedLoad(by_socket(ClusterFolder(tmp_path / "none")))
    assert not asyncio.run(load.runs())
    with pytest.raises(LoadRefused, match="the cluster is not up"):
        asyncio.run(load.start())
