"""The ZooKeeper servers that the supervisor runs: embedded servers or Apache's, one server or an
ensemble.

With an external ZooKeeper the supervisor runs no server. In an ensemble one server leads and the
others follow. Each server answers the four-letter word `srvr` with its mode. The supervisor sends
`srvr` to all servers four times a second, and emits an event for each change. A server that cannot
reach a majority of the servers, or that is loading its data, does not serve clients and has no
mode.
"""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.child_process import ChildProcess, ProcessState, state_trouble
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import HOST, ZooKeeperServer, ZooKeeperSpec
from kafka_edu.trace.event import Event, Source
from kafka_edu.trace.events.supervisor import ZooKeeperModeChanged, ZooKeeperModeSnapshot
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.apache import Member, listens, mode, prepare
from kafka_edu.zk.embedded.session_tracker import LONGEST_SESSION_MS, TICK_TIME_MS

PATIENCE_S: Final = 5.0
EMBEDDED_MODULE: Final = "kafka_edu.zk.embedded.main"
_LOOK_EVERY_S: Final = 0.01
_ASK_MODE_EVERY_S: Final = 0.25


class ZooKeeperServers:
    """The child processes that are ZooKeeper servers. Only the supervisor's event loop may use
    it.
    """

    def __init__(
        self,
        spec: ZooKeeperSpec,
        folder: ClusterFolder,
        child: Callable[[str, Source, list[str], Path], ChildProcess],
        trace: Tracer,
    ) -> None:
        self._spec = spec
        self._folder = folder
        self._trace = trace
        self._servers = {server.source: server for server in spec.servers}
        self.children: dict[Source, ChildProcess] = {}
        for source, server in self._servers.items():
            name = spec.server_name(server)
            self.children[source] = child(
                name, source, self._command(server), folder.zookeeper_log(name)
            )
        self.modes: dict[Source, str] = dict.fromkeys(self.children, "")
        """Each server → its mode, which is leader or follower. The mode is "" while the server does
        not serve clients. It is always "" for a server outside an ensemble.
        """

    def _command(self, server: ZooKeeperServer) -> list[str]:
        data_dir = self._folder.zookeeper(self._spec.server_name(server))
        if self._spec.kind == "apache":
            members = (
                [
                    Member(each.id, each.quorum_port, each.election_port)
                    for each in self._spec.servers
                ]
                if self._is_ensemble
                else []
            )
            command = prepare(
                data_dir,
                host=HOST,
                port=server.port,
                tick_time_ms=TICK_TIME_MS,
                max_session_ms=LONGEST_SESSION_MS,
                # Only a user who starts several servers wants to see their steps.
                with_log=self._is_ensemble,
                my_id=server.id,
                ensemble=members,
            )
            return ["--exec", *command]
        options = {
            "host": HOST,
            "port": server.port,
            "tick-time": TICK_TIME_MS,
            "max-session-timeout": LONGEST_SESSION_MS,
            "data-dir": data_dir,
            "events-file": self._folder.zookeeper_events,
        }
        return [
            EMBEDDED_MODULE,
            *(str(word) for option, value in options.items() for word in (f"--{option}", value)),
        ]

    @property
    def _is_ensemble(self) -> bool:
        return len(self._spec.servers) > 1

    def port(self, child: ChildProcess) -> int:
        """Return the port on which this server listens for clients."""
        return self._servers[child.source].port

    def snapshot(self) -> Iterator[Event]:
        """Yield an event with the mode of each server of an ensemble, for clients that connect
        later.
        """
        if self._is_ensemble:
            for child in self.children.values():
                yield ZooKeeperModeSnapshot(
                    process=child.name, child=child.source, mode=self.modes[child.source]
                )

    async def start(self) -> bool:
        """Start all servers. Return False if one of them has ended.

        Apache's servers must answer before a broker starts. If a broker connects just when the
        server opens its port, its request may be lost, and the broker would wait for six seconds.
        The embedded server can accept clients while it starts.
        """
        await asyncio.gather(*(child.start() for child in self.children.values()))
        return self._spec.kind != "apache" or await self.answer()

    async def answer(self) -> bool:
        """Return True when every running server serves requests. Return False when one of them has
        ended.
        """
        return all(await asyncio.gather(*map(self._answers, self.children.values())))

    async def start_of(self, child: ChildProcess) -> bool:
        """Return True when this server serves requests. Return False when it answers but waits for
        a majority of servers. If the server ends, this method never returns. The caller must notice
        this.
        """
        port = self.port(child)
        while True:
            if await self._mode(child):
                return True
            answers: bool = await asyncio.to_thread(listens, HOST, port)
            if answers and self.trouble():
                return False
            await asyncio.sleep(_LOOK_EVERY_S)

    async def _answers(self, child: ChildProcess) -> bool:
        if child.state is not ProcessState.RUNNING:
            return True  # stopped or paused on request
        while child.state is ProcessState.RUNNING:
            if await self._mode(child):
                return True
            await asyncio.sleep(_LOOK_EVERY_S)
        return False

    async def _mode(self, child: ChildProcess) -> str:
        """Return the server's mode. The mode is "" if the server does not run. A paused server
        would not answer.
        """
        return (
            await asyncio.to_thread(mode, HOST, self.port(child))
            if child.state is ProcessState.RUNNING
            else ""
        )

    def trouble(self) -> str:
        """Return why ZooKeeper cannot answer, and what the user can do. Return "" if it can. The
        states of the server processes decide: an ensemble can answer while more than half of its
        servers run.
        """
        servers = self.children.values()
        troubles = [
            trouble
            for child in servers
            if (trouble := state_trouble(child.name, child.state, child.last_exit))
        ]
        serves = not troubles or 2 * (len(servers) - len(troubles)) > len(servers)
        return "" if serves else "; ".join(troubles)

    async def watch(self) -> None:
        """Emit an event for each change of a server's mode, until this task is cancelled. Return at
        once if there is no ensemble.
        """
        while self._is_ensemble:
            children = list(self.children.values())
            for child, now in zip(
                children, await asyncio.gather(*map(self._mode, children)), strict=True
            ):
                self._note(child, now)
            await asyncio.sleep(_ASK_MODE_EVERY_S)

    def _note(self, child: ChildProcess, now: str) -> None:
        """Store a server's mode and emit an event if it has changed. No other code
        changes `modes`.
        """
        if now != self.modes[child.source]:
            self.modes[child.source] = now
            self._trace(ZooKeeperModeChanged(process=child.name, child=child.source, mode=now))

    async def stop(self) -> None:
        """Stop all servers at the same time. Return when all have ended."""
        running = [
            child for child in self.children.values() if child.state is not ProcessState.STOPPED
        ]
        await asyncio.gather(*(child.stop(PATIENCE_S) for child in running))
