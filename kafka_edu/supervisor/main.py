"""The supervisor's process. It starts a cluster's child processes, carries out acts on them, and
stops them when it ends.

`python -m kafka_edu.supervisor.main FOLDER [--temporary]` runs it. kafka_edu.supervisor.cluster
starts the process in its own session. The supervisor ends when its standard input ends. That
happens when the process that started the supervisor ends, even if it is killed. After the action
`release` it no longer depends on that process. The folder of a temporary cluster is removed at the
end.

The supervisor never restarts a broker or a ZooKeeper server by itself. A broker that died stays
stopped until a user starts it, so that users can watch the consequences.
"""

import argparse
import asyncio
import fcntl
import logging
import os
import re
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from kafka_edu.common.link_faults import Link, LinkFault
from kafka_edu.common.python_process import BROKER_MODULE
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.common.user_files import write_private_json
from kafka_edu.common.words import cause_of
from kafka_edu.server.config.listener_settings import CONTROL_PLANE_KEY
from kafka_edu.supervisor.act_table import ACTS, PROCESS_ACTS
from kafka_edu.supervisor.action_client import NEXT_BROKER_AFTER_S, READY_TIMEOUT_S
from kafka_edu.supervisor.action_server import ActionRefused, ActionServer, Answer, Request
from kafka_edu.supervisor.child_process import ChildProcess, ProcessState, ProcessStateError
from kafka_edu.supervisor.cluster_acts import ClusterActs
from kafka_edu.supervisor.cluster_folder import EXIT_ALREADY_UP, ClusterFolder
from kafka_edu.supervisor.cluster_spec import HOST, ClusterSpec
from kafka_edu.supervisor.patience import Patience
from kafka_edu.supervisor.stalls import Rhythm, Stalls
from kafka_edu.supervisor.zookeeper_servers import PATIENCE_S as ZOOKEEPER_PATIENCE_S
from kafka_edu.supervisor.zookeeper_servers import ZooKeeperServers
from kafka_edu.trace.event import PROXY, SUPERVISOR, Event, Source, SourceKind
from kafka_edu.trace.events.supervisor import (
    ActionAsked,
    ActionDone,
    ClusterReady,
    LinkChanged,
    LinkSnapshot,
    ProcessMemory,
    ProcessSnapshot,
    SupervisorStarted,
)
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_ring import SMALL_BYTES
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

#: How long the supervisor waits until the other brokers list a broker that is ready, in seconds.
OTHERS_PATIENCE_S: Final = 10.0
#: How long a broker may take to stop, in seconds. It may need three attempts of a controlled
#: shutdown, half a second apart (cluster_spec.py), and then it flushes its logs.
BROKER_PATIENCE_S: Final = 30.0

#: Acts that an exercise can hide. A hidden act emits no event. The learner must find it by its
#: effects.
HIDEABLE: Final = frozenset({"slow-link", "cut-link", "heal-link", "stall", "steady"})


class Supervisor:
    """The child processes of one cluster, and the acts on them. Everything runs on one
    event loop.
    """

    def __init__(self, spec: ClusterSpec, folder: ClusterFolder, temporary: bool) -> None:
        self._spec = spec
        self._folder = folder
        self._time = SystemTime()
        self._transport = SocketTransport()
        self._trace = Tracer(SUPERVISOR, self._time)
        self._events = EventServer(
            self._trace,
            self._transport,
            self._time,
            secrets.token_hex(16),
            cluster=spec.name,
            ring_bytes=SMALL_BYTES,
        )
        self._actions = ActionServer(secrets.token_hex(16), self._act)
        self._brokers = {
            broker.id: self._child(
                f"broker-{broker.id}",
                Source.of_broker(broker.id),
                [BROKER_MODULE, str(folder.broker_properties(broker.id))],
                folder.broker_log(broker.id),
            )
            for broker in spec.brokers
        }
        self._relay = (
            self._child(
                "relay",
                PROXY,
                ["kafka_edu.supervisor.relay", str(folder.path)],
                folder.relay_log,
            )
            if spec.routes()
            else None
        )
        self._zookeepers = ZooKeeperServers(spec.zookeeper, folder, self._child, self._trace)
        self._cluster_acts = ClusterActs(
            folder,
            {broker.id: f"{HOST}:{broker.direct_port}" for broker in spec.brokers},
            spec.zookeeper.connect,
            {broker.id: _ports_of(spec, broker.id) for broker in spec.brokers},
            lambda broker: self._brokers[broker].state,
            self._link_changed,
            (lambda: relay.state) if (relay := self._relay) is not None else None,
            [b.id for b in spec.brokers if {**spec.props, **b.props}.get(CONTROL_PLANE_KEY)],
            self._zookeepers.trouble,
        )
        self._stalls = Stalls(self._trace)
        self._restarting: set[asyncio.Future[None]] = set()
        self._locks = {child.source: asyncio.Lock() for child in self._children()}
        self._end = asyncio.Event()
        self._all_started = asyncio.Event()
        self._delete = temporary
        self._released = False
        self._started_ns = time.monotonic_ns()
        self._ready_ms: int | None = None
        self._trace.on_snapshot(self._snapshot)
        self._trace.on_gauges(self._gauges)

    def _child(self, name: str, source: Source, command: list[str], log: Path) -> ChildProcess:
        return ChildProcess(name, source, command, log, self._trace, self._on_end)

    def _children(self) -> Iterator[ChildProcess]:
        """Yield the child processes: ZooKeeper servers, the relay if there is one, brokers."""
        yield from self._zookeepers.children.values()
        if self._relay is not None:
            yield self._relay
        yield from self._brokers.values()

    def _port(self, child: ChildProcess) -> int:
        if child is self._relay:
            return 0
        return (
            self._spec.broker(child.source.id).port
            if child.source.kind is SourceKind.BROKER
            else self._zookeepers.port(child)
        )

    def _snapshot(self) -> Iterator[Event]:
        for child in self._children():
            yield ProcessSnapshot(
                process=child.name,
                child=child.source,
                state=child.state.value,
                pid=child.pid,
                port=self._port(child),
                ended=child.ended_alone,
            )
        for link, fault in self._cluster_acts.known_links().items():
            yield LinkSnapshot(**link._asdict(), **fault._asdict())
        yield from self._zookeepers.snapshot()

    def _link_changed(self, link: Link, fault: LinkFault) -> None:
        self._trace(LinkChanged(**link._asdict(), **fault._asdict()))

    def _gauges(self) -> Iterator[Event]:
        for child in self._children():
            memory = child.rss_anon()
            if memory is not None:
                yield ProcessMemory(process=child.name, child=child.source, rss_anon=memory)

    async def run(self) -> None:
        """Start all children, serve requests, and stop all children at the end."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            loop.add_signal_handler(number, self._end.set)
        self._watch_owner(loop)
        self._trace(
            SupervisorStarted(
                cluster=self._spec.name,
                pid=os.getpid(),
                brokers=self._spec.broker_ids,
                zookeeper=(
                    self._spec.zookeeper.kind
                    if self._spec.zookeeper.ours
                    else self._spec.zookeeper.connect
                ),
            )
        )
        watching = [
            asyncio.create_task(self._events.run()),
            asyncio.create_task(self._zookeepers.watch()),
        ]
        starting = asyncio.create_task(self._start_all())  # first, because they take longest
        starting.add_done_callback(self._on_started)
        try:
            await self._publish()
            await self._end.wait()
        finally:
            starting.cancel()
            (failure,) = await asyncio.gather(starting, return_exceptions=True)
            await self._stop_all()
            for task in watching:
                task.cancel()
            self._events.close()
            await self._actions.close()
            for path in (self._folder.action_address, self._folder.supervisor_events):
                path.unlink(missing_ok=True)
            if self._delete:
                shutil.rmtree(self._folder.path, ignore_errors=True)
        if isinstance(failure, Exception):
            raise failure

    def _watch_owner(self, loop: asyncio.AbstractEventLoop) -> None:
        """Watch the process that started the supervisor. When that process ends, stop everything,
        unless the cluster was released. Standard input is a pipe to which nobody writes, so it ends
        only when that process ends.
        """

        def gone() -> None:
            loop.remove_reader(sys.stdin)
            if not self._released:
                self._end.set()

        loop.add_reader(sys.stdin, gone)

    async def _publish(self) -> None:
        """Open the action socket and the event socket, and write their addresses to files."""
        await self._events.publish(self._folder.supervisor_events, HOST)
        actions_port = await self._actions.listen()
        address = {
            "host": HOST,
            "port": actions_port,
            "token": self._actions.token,
            "pid": os.getpid(),
        }
        write_private_json(self._folder.action_address, address)

    async def _start_all(self) -> None:
        """Start ZooKeeper, then the relay if there is one, then the brokers."""
        if not await self._zookeepers.start():
            self._all_started.set()  # no broker starts; `wait-ready` reports how ZooKeeper ended
            return
        if self._relay is not None:
            self._folder.relay_events.unlink(missing_ok=True)
            await self._relay.start()  # before the brokers, which reach ZooKeeper over it
        for broker in self._brokers.values():
            async with self._locks[broker.source]:
                # A broker that is not stopped was started by a request meanwhile.
                if broker.state is ProcessState.STOPPED:
                    self._folder.broker_events(broker.source.id).unlink(missing_ok=True)
                    await broker.start()
        self._all_started.set()

    def _on_started(self, starting: "asyncio.Task[None]") -> None:
        """If a child could not be started, stop everything. `run` then raises the exception."""
        if not starting.cancelled() and starting.exception() is not None:
            self._end.set()

    async def _stop_all(self) -> None:
        """Stop the brokers one after another, then ZooKeeper, which the brokers need while they
        stop.

        If two brokers stopped at the same time, neither of them could move its leaderships to the
        other. Each of them would log a warning about a failed controlled shutdown. If the cluster
        will be deleted, all processes are killed instead.
        """
        self._stalls.end_all()
        running = [
            broker for broker in self._brokers.values() if broker.state is not ProcessState.STOPPED
        ]
        if self._delete:
            await asyncio.gather(*(child.kill() for child in self._children()))
            return
        await self._cluster_acts.heal_relayed()  # a broker without ZooKeeper cannot hand over
        stopping: list[asyncio.Task[object]] = []
        for broker in running:
            stopping.append(asyncio.create_task(broker.stop(BROKER_PATIENCE_S, self._pids)))
            await asyncio.wait(stopping, timeout=NEXT_BROKER_AFTER_S)
        await asyncio.gather(*stopping)
        if self._relay is not None and self._relay.state is not ProcessState.STOPPED:
            await self._relay.stop(ZOOKEEPER_PATIENCE_S)
        await self._zookeepers.stop()

    def _on_end(self, child: ChildProcess) -> None:
        """Handle the end of a child. Remove its events file, because nothing listens at the address
        any more, and heal its links. If the relay has ended, start it again. ChildProcess has
        already emitted the event about the end.
        """
        path = (
            self._folder.relay_events
            if child is self._relay
            else self._folder.broker_events(child.source.id)
            if child.source.kind is SourceKind.BROKER
            else self._folder.zookeeper_events
        )
        served = path.exists()
        path.unlink(missing_ok=True)
        if child.source.broker is not None:
            self._cluster_acts.heal_links_of(child.source.broker)
        if child is self._relay:
            ended = self._trace.seq  # the event about the end, which is the cause of what follows
            with self._trace.because(ended):
                self._cluster_acts.forget_relayed()
            # Do not restart a relay that has never listened, because it would end again. For
            # example, its port may be taken.
            if served and not self._end.is_set():
                start = self._trace.carry(ended, child.start())
                task = asyncio.ensure_future(start)
                self._restarting.add(task)
                task.add_done_callback(self._restarting.discard)

    async def _act(self, action: str, request: Request) -> Answer:
        """Carry out one action. Emit an event before and after it. `status`, `wait-ready` and acts
        that an exercise hides emit no events.
        """
        hidden = request.get("hidden") is True
        if action == "status":
            return {"status": self._status(hidden)}
        if action == "wait-ready":
            limit_s = _number(request, "timeout_s", READY_TIMEOUT_S)
            if "zookeeper" in request:
                return await self._wait_serves(self._child_of(request), limit_s)
            if "broker" not in request:
                return await self._wait_ready(limit_s)
            return await self._wait_started(self._child_of(request).source.id, limit_s)
        if hidden and action not in HIDEABLE:
            raise ActionRefused(f"'{action}' cannot be hidden")
        if hidden:
            of_process = self._child_of(request) if action in _PROCESS_ACTS else None
            return {
                "message": await self._do(action, of_process, request)
                if of_process is not None
                else await self._cluster_acts.act(action, request)
            }
        child, target = None, SUPERVISOR
        if action in _PROCESS_ACTS:
            child = self._child_of(request)
            target = child.source
        elif isinstance(broker := request.get("broker"), int) and broker in self._brokers:
            target = Source.of_broker(broker)
        act = ACTS.get(action)
        title = act.title_with(dict(request)) if act is not None else ""
        asked = self._trace(ActionAsked(action=action, target=target, title=title))
        try:
            message = await self._trace.carry(
                asked,
                self._do(action, child, request)
                if child is not None or act is None
                else self._cluster_acts.act(action, request),
            )
        except Exception as error:
            refusal = self._refusal(action, error)
            with self._trace.because(asked):
                self._trace(ActionDone(action=action, target=target, ok=False, message=refusal))
            raise ActionRefused(refusal) from error
        with self._trace.because(asked):
            self._trace(ActionDone(action=action, target=target, ok=True, message=message))
        return {"message": message}

    def _refusal(self, action: str, error: Exception) -> str:
        """Return in one line why an act was not done. An unexpected error is a bug in the
        supervisor. The supervisor still continues, because the cluster depends on it.
        """
        if isinstance(error, ActionRefused | ProcessStateError):
            return " ".join(str(error).split())
        if isinstance(error, OSError):
            return f"the system refused '{action}': {cause_of(error) or type(error).__name__}"
        log.error("the act '%s' failed", action, exc_info=error)
        return (
            f"the supervisor failed at '{action}' ({type(error).__name__}: {error}); see"
            f" {self._folder.supervisor_log}"
        )

    def _child_of(self, request: Request) -> ChildProcess:
        """Return the child that the request names: a broker as `"broker": 0`, or a ZooKeeper server
        as `"zookeeper": 1`.
        """
        children = {child.source: child for child in self._children()}
        kind = SourceKind.ZOOKEEPER if "zookeeper" in request else SourceKind.BROKER
        number = request.get(kind.value)
        child = children.get(Source(kind, number)) if isinstance(number, int) else None
        if child is None:
            what = "broker" if kind is SourceKind.BROKER else "ZooKeeper of ours with the number"
            there = [str(source.id) for source in children if source.kind is kind]
            raise ActionRefused(
                f"there is no {what} {number}; there are {', '.join(there) or 'none'}"
            )
        return child

    async def _do(self, action: str, child: ChildProcess | None, request: Request) -> str:
        if child is None and action == "release":
            self._released = True
            return f"cluster {self._spec.name} stays up"
        if child is None and action != "down":
            raise ActionRefused(f"there is no action '{action}'; there are: {', '.join(ACTS)}")
        if child is None:
            self._delete = self._delete or request.get("delete") is True
            self._end.set()
            return f"cluster {self._spec.name} is going down"
        if self._end.is_set():
            raise ActionRefused(f"cluster {self._spec.name} is going down")
        if action == "kill":  # `kill` does not wait for a `stop` in progress: it ends that stop
            if child.state is ProcessState.STOPPED:
                raise ProcessStateError(f"{child.name} is stopped")
            return f"{child.name} {await child.kill()}"
        async with self._locks[child.source]:
            match action:
                case "start":
                    await child.start()
                    return f"{child.name} started as process {child.pid}"
                case "stop":
                    patience = (
                        BROKER_PATIENCE_S
                        if child.source.kind is SourceKind.BROKER
                        else ZOOKEEPER_PATIENCE_S
                    )
                    ended = await child.stop(_number(request, "patience_s", patience), self._pids)
                    return f"{child.name} {ended}"
                case "restart":
                    if child.state is not ProcessState.STOPPED:
                        await child.stop(
                            _number(request, "patience_s", BROKER_PATIENCE_S), self._pids
                        )
                    await child.start()
                    return f"{child.name} started again as process {child.pid}"
                case "pause":
                    child.pause()
                    return f"{child.name} paused"
                case "resume":
                    child.resume()
                    if child.source.broker is not None:
                        self._cluster_acts.resumed(child.source.broker)
                    return f"{child.name} goes on"
                case "stall":
                    return self._begin_stalls(child, request)
                case "steady":
                    return self._stalls.end(child)
                case _:
                    raise ActionRefused(f"there is no action '{action}'")

    def _begin_stalls(self, child: ChildProcess, request: Request) -> str:
        lengths = [request.get("stall_ms"), request.get("every_ms")]
        stall_ms, every_ms = [one if isinstance(one, int) else 0 for one in lengths]
        hidden = request.get("hidden") is True
        return self._stalls.begin(child, Rhythm(stall_ms, every_ms, hidden))

    def _pids(self) -> Iterator[int]:
        """Yield the process ids of the running children."""
        yield from (child.pid for child in self._children() if child.pid)

    def _may_be_controller(self, broker_id: int, port: int) -> bool:
        """Return whether the broker with this id and port can be the controller now. A running
        child of this supervisor can, and so can a guest.

        A guest is a broker that another program started in the same ZooKeeper. A guest with the id
        of a stopped child has a different port. When a guest dies, its ZooKeeper session expires,
        and another broker becomes the controller.
        """
        broker = self._brokers.get(broker_id)
        if broker is None or broker.state is ProcessState.RUNNING:
            return True
        own = {self._spec.broker(broker_id).direct_port, *_ports_of(self._spec, broker_id)}
        return port not in own

    async def _zookeeper_answers(self, patience: Patience, limit_s: float) -> None:
        """Wait until all children were started and ZooKeeper answers. Raises ActionRefused if this
        takes too long.
        """

        async def answers() -> None:
            await self._all_started.wait()
            await self._zookeepers.answer()

        answering = asyncio.create_task(answers())
        try:
            while patience.left_s() > 0:
                if (await asyncio.wait([answering], timeout=patience.slice_s()))[0]:
                    return answering.result()
        finally:
            answering.cancel()
        raise ActionRefused(
            f"ZooKeeper does not answer within {limit_s:g} s; see"
            f" {self._folder.path}/zookeeper*.log"
        )

    async def _wait_ready(self, timeout_s: float) -> Answer:
        """Wait until the Metadata of all running brokers lists all of them.

        If a child ends meanwhile, the action fails with the end of the child's output. Time in
        which the children waited for a core does not count.
        """
        from kafka_edu.supervisor.readiness import (
            wait_until_listed,
        )  # import the protocol while the brokers start, not before

        patience = Patience(timeout_s, self._pids)
        await self._zookeeper_answers(patience, timeout_s)
        running = {
            i: broker for i, broker in self._brokers.items() if broker.state is ProcessState.RUNNING
        }
        dead = [
            child
            for child in self._children()
            if child.last_exit is not None and not child.last_exit.asked
        ]
        if dead:
            raise ActionRefused(_epitaph(dead[0]))
        ports = {i: (HOST, self._spec.broker(i).direct_port) for i in running}
        seen: dict[int, str] = {}
        ready = asyncio.create_task(
            wait_until_listed(self._transport, ports, list(running), seen, self._may_be_controller)
        )
        needed = [c for c in self._children() if c.state is ProcessState.RUNNING]
        if not await self._done_before_an_end(patience, ready, needed):
            raise ActionRefused(
                f"not ready within {timeout_s:g} s:\n{await self._diagnosis(list(running), seen)}"
            )
        controller = ready.result()
        took = (time.monotonic_ns() - self._started_ns) // 1_000_000
        if self._ready_ms is None:
            self._ready_ms = took
        self._trace(ClusterReady(brokers=tuple(running), controller=controller, after_ms=took))
        return {"controller": controller, "status": self._status()}

    async def _wait_started(self, broker_id: int, timeout_s: float) -> Answer:
        """Wait until the Metadata of one started broker lists this broker and a controller, and the
        other brokers list it too.

        Only a failure of this broker or of ZooKeeper makes the action fail. It does not fail if
        another broker ends during the wait. It does not fail either if another broker does not list
        the new broker within OTHERS_PATIENCE_S, for example because the other broker is cut off.
        The answer names such brokers.
        """
        from kafka_edu.supervisor.readiness import wait_until_listed

        patience = Patience(timeout_s, self._pids)
        started = self._brokers[broker_id]
        await self._zookeeper_answers(patience, timeout_s)
        if started.state is ProcessState.STOPPED:
            raise ActionRefused(_epitaph(started))
        zookeepers = list(self._zookeepers.children.values())
        if zookeepers and all(child.state is not ProcessState.RUNNING for child in zookeepers):
            raise ActionRefused(f"{started.name} waits for ZooKeeper: {self._zookeepers.trouble()}")
        # In an ensemble the other ZooKeeper servers still serve when one server ends.
        needed = [started, *(zookeepers if len(zookeepers) == 1 else [])]
        seen: dict[int, str] = {}
        listing = {
            i: asyncio.create_task(
                wait_until_listed(
                    self._transport,
                    {i: (HOST, self._spec.broker(i).direct_port)},
                    [broker_id],
                    seen,
                    self._may_be_controller,
                )
            )
            for i, broker in self._brokers.items()
            if broker.state is ProcessState.RUNNING or broker is started
        }
        own = listing.pop(broker_id)
        try:
            if not await self._done_before_an_end(patience, own, needed):
                why = await self._diagnosis([broker_id], seen)
                raise ActionRefused(
                    f"broker {broker_id} is not ready within {timeout_s:g} s:\n{why}"
                )
            others = Patience(OTHERS_PATIENCE_S, self._pids)
            while others.left_s() > 0 and (left := self._still_running(listing)):
                await asyncio.wait(left, timeout=others.slice_s())
        finally:
            for task in listing.values():
                task.cancel()
        unlisted = {
            i: seen.get(i, "")
            for i, task in listing.items()
            if self._brokers[i].state is ProcessState.RUNNING
            and (task.cancelled() or not task.done())
        }
        return {
            "controller": own.result(),
            "unlisted": [f"broker {i} does not list it yet: {why}" for i, why in unlisted.items()],
        }

    async def _wait_serves(self, server: ChildProcess, timeout_s: float) -> Answer:
        """Wait until `server`, a ZooKeeper, serves clients or answers that it waits for other
        servers.

        Only a failure of `server` makes the action fail. It does not fail if other servers are
        stopped, or end during the wait.
        """
        if server.state is ProcessState.STOPPED:
            raise ActionRefused(_epitaph(server))
        serving = asyncio.create_task(self._zookeepers.start_of(server))
        if not await self._done_before_an_end(Patience(timeout_s, self._pids), serving, [server]):
            raise ActionRefused(
                f"{server.name} does not answer within {timeout_s:g} s; see"
                f" {self._folder.zookeeper_log(server.name)}"
            )
        waits = f"{server.name} waits for a majority: {self._zookeepers.trouble()}"
        return {"unlisted": [] if serving.result() else [waits]}

    def _still_running(self, listing: Mapping[int, asyncio.Task[int]]) -> list[asyncio.Task[int]]:
        """Return the tasks in `listing` that are not done and whose broker still runs."""
        return [
            task
            for i, task in listing.items()
            if not task.done() and self._brokers[i].state is ProcessState.RUNNING
        ]

    async def _done_before_an_end(
        self, patience: Patience, ready: asyncio.Task[Any], needed: Sequence[ChildProcess]
    ) -> bool:
        """Return whether the task `ready` is done in time. Raises ActionRefused if one of the
        children in `needed` ends.
        """
        ends = [asyncio.create_task(_named_end(child)) for child in needed]
        try:
            while patience.left_s() > 0:
                done, _ = await asyncio.wait(
                    [ready, *ends],
                    timeout=patience.slice_s(),
                    return_when=asyncio.FIRST_COMPLETED,
                )
                if ready in done:
                    return True
                for end in ends:
                    if end in done:
                        raise ActionRefused(_epitaph(end.result()))
            return False
        finally:
            for task in (ready, *ends):
                task.cancel()

    async def _diagnosis(self, brokers: list[int], seen: Mapping[int, str]) -> str:
        from kafka_edu.supervisor.start_diagnosis import (
            diagnose,  # it imports every event class
        )

        why = await diagnose(self._folder, brokers, seen)
        return f"{why}\nEach broker's log says more: {self._folder.path}/*/broker.log"

    def _status(self, with_hidden: bool = False) -> dict[str, object]:
        acts = self._cluster_acts
        return {
            "name": self._spec.name,
            "pid": os.getpid(),
            "bootstrap_servers": self._spec.bootstrap_servers,
            "zookeeper": {
                "kind": self._spec.zookeeper.kind,
                "connect": self._spec.zookeeper.connect,
            },
            "links": [
                {**link._asdict(), "state": str(fault)}
                for link, fault in (acts.links if with_hidden else acts.known_links()).items()
            ],
            "stalls": [stall._asdict() for stall in self._stalls.known(with_hidden=with_hidden)],
            "ready_ms": self._ready_ms,
            "up_s": round((time.monotonic_ns() - self._started_ns) / 1e9, 3),
            "processes": [
                {
                    "process": child.name,
                    "source": child.source,
                    "state": child.state.value,
                    "pid": child.pid,
                    "port": self._port(child),
                    "rss_anon": child.rss_anon(),
                    "mode": self._zookeepers.modes.get(child.source, ""),
                    "ended": str(child.last_exit) if child.last_exit is not None else "",
                }
                for child in self._children()
            ],
        }


_PROCESS_ACTS: Final = frozenset(act.name for act in PROCESS_ACTS)


def _ports_of(spec: ClusterSpec, broker_id: int) -> tuple[int, ...]:
    """Return the fixed ports of a broker's listeners. Ports that a broker chooses at each start are
    not included.
    """
    broker = spec.broker(broker_id)
    listeners = {**spec.props, **broker.props}.get("listeners", "")
    relay = () if broker.relay is None else (broker.relay.clients, broker.relay.brokers)
    return tuple(sorted({broker.port, *relay, *map(int, re.findall(r":(\d+)", listeners))} - {0}))


def _number(request: Request, key: str, default: float) -> float:
    value = request.get(key)
    return float(value) if isinstance(value, int | float) else default


async def _named_end(child: ChildProcess) -> ChildProcess:
    await child.wait()
    return child


def _epitaph(child: ChildProcess) -> str:
    """Return how the child ended and why. The reason is the line that the child has written about
    its end. If there is no such line, the reason is the end of the child's output.
    """
    ended = child.last_exit
    if ended is not None and ended.reason:
        return f"{child.name} {ended.how}: {ended.reason}"
    words = child.last_words()
    return f"{child.name} {ended}" + (f"; its last words:\n{words}" if words else "")


def main() -> None:
    parser = argparse.ArgumentParser(prog="supervisor")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--temporary", action="store_true")
    arguments = parser.parse_args()
    folder = ClusterFolder(arguments.folder)
    with folder.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(EXIT_ALREADY_UP)
        spec = ClusterSpec.load(folder)
        if spec is None:
            sys.exit(f"there is no {folder.spec}")
        asyncio.run(_supervise(spec, folder, arguments.temporary))


async def _supervise(spec: ClusterSpec, folder: ClusterFolder, temporary: bool) -> None:
    await Supervisor(spec, folder, temporary).run()


if __name__ == "__main__":
    main()
