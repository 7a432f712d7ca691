"""A simulated run behind the sockets of a cluster: the dashboard watches it and acts on it.

The folder of the cluster holds the two files that the folder of a real cluster holds: the address
of the event socket and that of the action socket. All processes of the simulation send through the
one event socket, in one order.

    python -m kafka_edu.cli.sim.stage_server FOLDER FILE [SEED]

The process ends when its standard input is closed, so it never outlives the dashboard.
"""

import asyncio
import logging
import os
import secrets
import sys
import time
import warnings
from pathlib import Path
from typing import Final

import click

from kafka_edu.cli.sim.scenario_files import load, seed_of
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.common.user_files import write_private_json
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.stage.stage import Command, Stage
from kafka_edu.sim.stage.stage_tracer import StageTracer
from kafka_edu.supervisor.action_server import ActionRefused, ActionServer, Answer, Request
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.socket_sink import EventServer

SHOW_EVERY_S: Final = 0.1
MOST_UNSENT: Final = 1 << 20
"""While this many bytes wait to be sent, the simulation waits, so no subscriber misses a fact."""
OPERATIONS: Final = frozenset({"id", "token", "action"})


class StageServer:
    """The host of a stage. Its own event loop runs only while the stage stands between callbacks of
    the simulation. So everything is in one thread.
    """

    def __init__(self, scenario: Scenario, seed: int, folder: ClusterFolder) -> None:
        self._loop = asyncio.new_event_loop()
        self._folder = folder
        self._wake = asyncio.Event()
        self._shown_s = 0.0
        self.stage = Stage(scenario, seed, self)
        self._tracer = StageTracer(lambda: self.stage.cluster, lambda: self.stage.run.open_acts())
        self._events = EventServer(
            self._tracer,
            SocketTransport(),
            SystemTime(),
            secrets.token_hex(16),
            cluster=folder.name,
            ring_minutes=0,
        )
        self._actions = ActionServer(secrets.token_hex(16), self._act)

    def play(self) -> None:
        """Serve until the standard input is closed. The run begins when somebody watches it."""
        self._loop.run_until_complete(self._begin())
        try:
            self.stage.play()
        finally:
            self._events.close()
            self._loop.run_until_complete(self._actions.close())
            self._loop.close()

    async def _begin(self) -> None:
        self._folder.path.mkdir(parents=True, exist_ok=True)
        await self._events.publish(self._folder.supervisor_events)
        port = await self._actions.listen()
        address = {"host": "127.0.0.1", "port": port, "token": self._actions.token}
        write_private_json(self._folder.action_address, {**address, "pid": os.getpid()})
        asyncio.get_running_loop().add_reader(sys.stdin, self._stdin)
        while not self._events.watched and not self.stage.commands:
            await asyncio.sleep(0.02)

    def _stdin(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            asyncio.get_running_loop().remove_reader(sys.stdin)
            self._take(Command("sim-close", {}, lambda ok, text: None))

    def _take(self, command: Command) -> None:
        self.stage.commands.append(command)
        self._wake.set()

    async def _act(self, action: str, request: Request) -> Answer:
        if action == "status":
            return {"status": self._status()}
        result: asyncio.Future[tuple[bool, str]] = asyncio.get_running_loop().create_future()

        def answer(ok: bool, text: str) -> None:
            if not result.done():
                result.set_result((ok, text))

        values = {name: value for name, value in request.items() if name not in OPERATIONS}
        self._take(Command(action, values, answer))
        ok, text = await result
        if not ok:
            raise ActionRefused(text)
        return {"message": text}

    def _status(self) -> dict[str, object]:
        sampled = self.stage.sampled()
        return {
            "name": self._folder.name,
            "up_s": sampled.at_us / 1e6,
            "zookeeper": {"kind": "simulated", "connect": ""},
            "simulation": sampled._asdict(),
        }

    def now_s(self) -> float:
        return time.monotonic()

    def serve(self, at_most_s: float) -> None:
        """Serve the sockets until a command comes, or for this time. Send what is new."""
        self._send()
        self._loop.run_until_complete(self._turn(at_most_s))
        while self._events.unsent > MOST_UNSENT and not self.stage.commands:
            self._loop.run_until_complete(self._turn(0.01))

    def _send(self) -> None:
        now_s = self.now_s()
        if now_s - self._shown_s >= SHOW_EVERY_S:
            self._shown_s = now_s
            if self.stage.sampled().state != "replaying":  # nobody shall see that past twice
                self._tracer.pass_on_processes()
                self._events.tick()
            self._show_state()

    def _show_state(self) -> None:
        self._tracer.pass_on_sample(self.stage.sampled())
        self._events.flush()

    async def _turn(self, at_most_s: float) -> None:
        self._wake.clear()
        if self.stage.commands or at_most_s <= 0:
            for _ in range(4):  # a line is read, carried out and answered in different turns
                await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(at_most_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    def show(self, envelope: Envelope) -> None:
        self._tracer.pass_on(envelope)

    def turned(self) -> None:
        self._show_state()
        self._events.send_snapshots()

    def keep(self, future: int, text: str) -> str:
        path = self._folder.path / f"future-{future}.sim"
        path.write_text(text, encoding="utf-8")
        return path.name


def main(folder: str, file: str, seed: str = "") -> None:
    """Serve the run of a scenario file. Prints one line if it cannot run."""
    try:
        scenario = load(file)
    except click.ClickException as error:
        sys.exit(" ".join(error.message.split()))
    logging.disable(logging.CRITICAL)  # brokers log what the faults do to them
    warnings.filterwarnings("ignore", "coroutine .* was never awaited")  # of killed processes
    chosen = seed_of(scenario, int(seed) if seed else None)
    StageServer(scenario, chosen, ClusterFolder(Path(folder))).play()


if __name__ == "__main__":
    main(*sys.argv[1:])
