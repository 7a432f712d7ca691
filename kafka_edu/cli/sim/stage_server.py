"""A simulated run behind the sockets of a cluster: the dashboard watches it and acts on it.

The folder of the cluster holds the two files that the folder of a real cluster holds: the address
of the event socket and that of the action socket. All processes of the simulation send through the
one event socket, in one order.

    python -m kafka_edu.cli.sim.stage_server FOLDER FILE [SEED | follow | resume [EXERCISE=FILE …]]

An empty SEED is the seed of the file.

With `follow`, the run only follows a second run, up to the same moments: the dashboard compares two
futures of a run. With `resume`, the acts in the file are acts that a user has made by hand in an
earlier session. The process ends when its standard input is closed, so it never outlives the
dashboard.
"""

import asyncio
import os
import secrets
import sys
from pathlib import Path
from typing import Final

import click

from kafka_edu.cli.sim.scenario_files import load, seed_of, with_learners
from kafka_edu.cli.sim.watched_stage import CommandRefused, WatchedStage, silence_faults
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.user_files import write_private_json
from kafka_edu.sim.scenario.language import Scenario
from kafka_edu.sim.stage.stage import Command
from kafka_edu.supervisor.action_server import ActionRefused, ActionServer, Answer, Request
from kafka_edu.supervisor.cluster_folder import ClusterFolder

FOLLOW: Final = "follow"
RESUME: Final = "resume"
OPERATIONS: Final = frozenset({"id", "token", "action"})


class StageServer:
    """Serves a stage by sockets. A stage plays one simulated run, which people can watch and stop.

    The event loop of the sockets runs only while the stage stands still between two callbacks of
    the simulation. So everything runs in one thread.
    """

    def __init__(self, scenario: Scenario, seed: int, folder: ClusterFolder, how: str = "") -> None:
        by_hand = scenario.acts if how == RESUME else ()
        self._loop = asyncio.new_event_loop()
        self._folder = folder
        self._wake = asyncio.Event()
        self._watched = WatchedStage(
            scenario._replace(acts=()) if how == RESUME else scenario,
            seed,
            SocketTransport(),
            folder.name,
            self._keep,
            self._wake.set,
            follows=how == FOLLOW,
            by_hand=by_hand,
        )
        self._stage, self._events = self._watched.stage, self._watched.events
        self._actions = ActionServer(secrets.token_hex(16), self._act)

    def play(self) -> None:
        """Serve until the standard input is closed. The run begins when the first subscriber
        connects.
        """
        self._loop.run_until_complete(self._begin())
        try:
            for at_most_s in self._stage.turns():
                self._serve(at_most_s)
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
        while not self._events.watched and not self._is_wanted():
            await asyncio.sleep(0.02)

    def _is_wanted(self) -> bool:
        """Return whether a command waits that lets the run begin. A run that follows a second run
        begins when a subscriber connects, because the subscriber needs its first facts. For such a
        run, only the command `sim-close` counts.
        """
        commands = [command.name for command in self._stage.commands]
        return "sim-close" in commands if self._stage.follows else bool(commands)

    def _stdin(self) -> None:
        if not os.read(sys.stdin.fileno(), 4096):
            asyncio.get_running_loop().remove_reader(sys.stdin)
            self._watched.take(Command("sim-close", {}, lambda ok, text: None))

    async def _act(self, action: str, request: Request) -> Answer:
        if action == "status":
            return {"status": self._status()}
        values = {name: value for name, value in request.items() if name not in OPERATIONS}
        try:
            return {"message": await self._watched.ask(action, values)}
        except CommandRefused as error:
            raise ActionRefused(str(error)) from None

    def _status(self) -> dict[str, object]:
        sampled = self._stage.sampled()
        return {
            "name": self._folder.name,
            "up_s": sampled.at_us / 1e6,
            "zookeeper": {"kind": "simulated", "connect": ""},
            "simulation": sampled._asdict(),
        }

    def _serve(self, at_most_s: float) -> None:
        """Send new events to the subscribers. Then serve the sockets until a command comes, but at
        most for `at_most_s` seconds.
        """
        self._watched.send()
        self._loop.run_until_complete(self._turn(at_most_s))
        while self._watched.is_behind and not self._stage.commands:
            self._loop.run_until_complete(self._turn(0.01))

    async def _turn(self, at_most_s: float) -> None:
        self._wake.clear()
        if self._stage.commands or at_most_s <= 0:
            for _ in range(4):  # a line is read, carried out and answered in different turns
                await asyncio.sleep(0)
            return
        try:
            async with asyncio.timeout(at_most_s):
                await self._wake.wait()
        except TimeoutError:
            pass

    def _keep(self, future: int, text: str) -> str:
        path = self._folder.future(future)
        path.write_text(text, encoding="utf-8")
        return path.name


def main(folder: str, file: str, how: str = "", *learners: str) -> None:
    """Serve the run of a scenario file. Prints one line if it cannot run."""
    try:
        scenario = with_learners(load(file), learners)
    except click.ClickException as error:
        sys.exit(" ".join(error.message.split()))
    silence_faults()
    seed = seed_of(scenario, int(how) if how not in ("", FOLLOW, RESUME) else None)
    StageServer(scenario, seed, ClusterFolder(Path(folder)), how).play()


if __name__ == "__main__":
    main(*sys.argv[1:])
