"""The command of the ZooKeeper that the supervisor starts."""

from pathlib import Path

from kafka_edu.common.time import MockTime
from kafka_edu.supervisor.child_process import ChildProcess
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.supervisor.cluster_spec import Wish, plan
from kafka_edu.supervisor.zookeeper_servers import ZooKeeperServers
from kafka_edu.trace.event import SUPERVISOR, Source
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.embedded.main import parse


def test_a_broker_may_have_a_session_of_a_minute(tmp_path: Path) -> None:
    """With the tick of 500 ms, a limit of 20 ticks would end the session after ten seconds."""
    spec, folder = plan("z", Wish(brokers=1), None, tmp_path), ClusterFolder.of("z", tmp_path)
    commands: list[list[str]] = []
    tracer = Tracer(SUPERVISOR, MockTime(0))

    def child(name: str, source: Source, command: list[str], log: Path) -> ChildProcess:
        commands.append(command)
        return ChildProcess(name, source, command, log, tracer, lambda _: None)

    ZooKeeperServers(spec.zookeeper, folder, child, tracer)
    ((_, *arguments),) = commands
    parsed = parse(arguments)
    assert (parsed.tick_time, parsed.max_session_timeout) == (500, 60_000)
