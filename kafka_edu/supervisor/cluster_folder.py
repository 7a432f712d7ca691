"""The folder of each cluster on disk, and the files in it.

<home>/clusters/<name>/
  cluster.json               the cluster as requested, with the chosen ports; it outlives `down`
  lock                       held (flock) by the supervisor while the cluster is up
  supervisor.json            address, token and pid of the action socket while the cluster is up;
                             readable by its owner alone
  supervisor-events.json     address of the supervisor's event socket
  supervisor.log
  zookeeper/                 ZooKeeper's data and the embedded one's events.json;
                             for an ensemble zookeeper-1/, zookeeper-2/ …
  zookeeper.log
  broker-<id>/server.properties, data/, events.json, broker.log
  relay.json, relay-events.json  the routes and the event socket of the relay (`--with-relays`)
  relay.log
  client-<n>/lock, events.json  a load that runs on the cluster (`kafka-edu load`)
  future-<n>.sim             a future of a simulated run: the scenario with the acts by hand
"""

import re
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.user_files import state_folder

#: The exit code of a supervisor that ends because another supervisor holds the lock of the cluster.
EXIT_ALREADY_UP: Final = 3

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


class ClusterFolder(NamedTuple):
    """The folder of one cluster, with the paths of the files in it."""

    path: Path

    @staticmethod
    def of(name: str, home: Path | None = None) -> "ClusterFolder":
        """Return the folder of the cluster `name`, whether it exists or not. Raises ValueError for
        an invalid name.
        """
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"'{name}' cannot be a cluster's name: a name has letters, digits, '.', '_' and"
                " '-', and begins with a letter or digit"
            )
        return ClusterFolder((home if home is not None else state_folder()) / "clusters" / name)

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def spec(self) -> Path:
        return self.path / "cluster.json"

    @property
    def lock(self) -> Path:
        return self.path / "lock"

    @property
    def temporary(self) -> Path:
        return self.path / "temporary"

    @property
    def action_address(self) -> Path:
        return self.path / "supervisor.json"

    @property
    def supervisor_events(self) -> Path:
        return self.path / "supervisor-events.json"

    @property
    def supervisor_log(self) -> Path:
        return self.path / "supervisor.log"

    def zookeeper(self, name: str = "zookeeper") -> Path:
        """Return the data folder of the ZooKeeper server with this name."""
        return self.path / name

    def zookeeper_log(self, name: str) -> Path:
        return self.path / f"{name}.log"

    @property
    def zookeeper_events(self) -> Path:
        """The events file of the embedded ZooKeeper. Apache ZooKeeper emits no events."""
        return self.zookeeper() / "events.json"

    def broker(self, broker_id: int) -> Path:
        return self.path / f"broker-{broker_id}"

    def broker_properties(self, broker_id: int) -> Path:
        return self.broker(broker_id) / "server.properties"

    def broker_data(self, broker_id: int) -> Path:
        return self.broker(broker_id) / "data"

    def broker_events(self, broker_id: int) -> Path:
        return self.broker(broker_id) / "events.json"

    def broker_capture(self, broker_id: int) -> Path:
        return self.broker(broker_id) / "frames.capture"

    def captures(self) -> list[Path]:
        """Return the files with captured frames, sorted by the broker that captured them."""
        return sorted(self.path.glob("broker-*/frames.capture"))

    def broker_log(self, broker_id: int) -> Path:
        return self.broker(broker_id) / "broker.log"

    @property
    def relay_routes(self) -> Path:
        return self.path / "relay.json"

    @property
    def relay_events(self) -> Path:
        return self.path / "relay-events.json"

    @property
    def relay_log(self) -> Path:
        return self.path / "relay.log"

    def client(self, number: int) -> Path:
        return self.path / f"client-{number}"

    def client_events(self, number: int) -> Path:
        return self.client(number) / "events.json"

    def future(self, number: int) -> Path:
        """Return the file of a future of a simulated run."""
        return self.path / f"future-{number}.sim"

    def futures(self) -> dict[int, Path]:
        """Return the files of the futures that a simulated run has stored, by their numbers."""
        found = {
            int(path.stem.removeprefix("future-")): path
            for path in self.path.glob("future-*.sim")
            if path.stem.removeprefix("future-").isdecimal()
        }
        return dict(sorted(found.items()))


def cluster_names(home: Path | None = None) -> list[str]:
    """Return the sorted names of all clusters that have a folder, whether they are up or down."""
    folder = (home if home is not None else state_folder()) / "clusters"
    if not folder.is_dir():
        return []
    return sorted(path.parent.name for path in folder.glob("*/cluster.json"))
