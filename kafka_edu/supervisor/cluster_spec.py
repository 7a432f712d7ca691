"""The description of a cluster: brokers, ports, ZooKeeper and settings. The file cluster.json keeps
it while the cluster is down.
"""

import contextlib
import itertools
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.ports import (
    BROKER_PORT,
    LOOPBACK,
    PICKED_PORTS,
    ZOOKEEPER_PORT,
    free_ports,
    is_free,
)
from kafka_edu.common.python_process import DEFAULT_CLUSTER, command_line
from kafka_edu.common.user_files import naming
from kafka_edu.common.words import plural
from kafka_edu.server.config.listener_settings import CLIENTS, CONTROL_PLANE_KEY, listener_settings
from kafka_edu.server.config.properties_file import format_properties
from kafka_edu.supervisor.cluster_folder import ClusterFolder, cluster_names
from kafka_edu.trace.event import Source, SourceKind

HOST: Final = LOOPBACK
FORMAT_VERSION: Final = 1

#: The usual ports of Kafka and ZooKeeper. The cluster with the name `default` uses them if they are
#: free.
USUAL_BROKER_PORT: Final = BROKER_PORT
USUAL_ZOOKEEPER_PORT: Final = ZOOKEEPER_PORT

MAX_ZOOKEEPERS: Final = 7

API_LEVEL: Final = "edu.api.level"

BROKERS: Final = "BROKERS"
"""The name of a broker's second listener in a cluster with relays. Other brokers connect to it."""
_RELAY_SETS: Final = (
    "listeners",
    "advertised.listeners",
    "advertised.host.name",
    "advertised.port",
    "host.name",
    "port",
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "security.inter.broker.protocol",
    "zookeeper.connect",
)
"""Settings that the user cannot set in a cluster with relays, because the cluster sets
them itself.
"""


class ClusterSpecError(Exception):
    """The cluster cannot be built as requested. The message says why, and what the user can do."""


def internal_topics(brokers: int) -> dict[str, str]:
    """Return settings of the internal topics for a small number of brokers. With these settings
    groups and transactions work on them.

    The server.properties of Kafka's distribution has such settings too.
    """
    wanted = {
        "offsets.topic.replication.factor": 3,
        "transaction.state.log.replication.factor": 3,
        "transaction.state.log.min.isr": 2,
    }
    return {key: str(brokers) for key, default in wanted.items() if brokers < default}


class ZooKeeperServer(NamedTuple):
    """One ZooKeeper server that the supervisor runs: its port for clients, and its ports for the
    other servers of the ensemble. These ports are 0 if there is no ensemble.
    """

    id: int
    port: int
    quorum_port: int = 0
    election_port: int = 0

    @property
    def source(self) -> Source:
        """The server's name as a source of events and as the target of an action."""
        return Source(SourceKind.ZOOKEEPER, self.id)

    @property
    def ports(self) -> tuple[int, ...]:
        """The ports that the server uses."""
        return tuple(port for port in self[1:] if port)


class ZooKeeperSpec(NamedTuple):
    """The ZooKeeper of a cluster. `kind` is embedded, apache or external.

    The supervisor runs the servers of an embedded or an apache ZooKeeper. The user gives the
    connect string of an external ZooKeeper.
    """

    kind: str
    connect: str
    servers: tuple[ZooKeeperServer, ...] = ()

    @staticmethod
    def of(kind: str, servers: Sequence[ZooKeeperServer]) -> "ZooKeeperSpec":
        """Return a ZooKeeper whose servers the supervisor runs. Its connect string contains the
        addresses of all servers.
        """
        return ZooKeeperSpec(
            kind, ",".join(f"{HOST}:{server.port}" for server in servers), tuple(servers)
        )

    @staticmethod
    def parse(text: str) -> "ZooKeeperSpec":
        """Parse the text `embedded` or `apache`, or the HOST:PORT[,HOST:PORT …][/chroot] of an
        external ZooKeeper.
        """
        if text in ("embedded", "apache"):
            return ZooKeeperSpec(text, "")
        hosts = text.partition("/")[0]
        for host in hosts.split(","):
            name, colon, port = host.rpartition(":")
            if not name or not colon or not port.isdigit() or not 0 < int(port) < 65536:
                raise ClusterSpecError(
                    f"'{text}' is not a ZooKeeper: give embedded, apache, or HOST:PORT/chroot of"
                    " a running one"
                )
        return ZooKeeperSpec("external", text)

    @property
    def ours(self) -> bool:
        """Whether the supervisor starts and stops this ZooKeeper."""
        return self.kind != "external"

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports that the servers of this ZooKeeper use."""
        return tuple(port for server in self.servers for port in server.ports)

    def server_name(self, server: ZooKeeperServer) -> str:
        """Return the name of a server's process and folder. It is `zookeeper`, or in an ensemble
        `zookeeper-1`, `zookeeper-2` and so on.
        """
        return "zookeeper" if len(self.servers) == 1 else f"zookeeper-{server.id}"

    def as_json(self) -> dict[str, object]:
        """Return the fields for cluster.json."""
        return {
            "kind": self.kind,
            "connect": self.connect,
            "servers": [server._asdict() for server in self.servers],
        }

    @staticmethod
    def from_json(fields: object) -> "ZooKeeperSpec":
        """Return the ZooKeeper from the fields that `as_json` has written. Old files, from before
        ensembles, have one `port`. Raises TypeError or ValueError for wrong fields.
        """
        match fields:
            case {"kind": str(kind), "connect": str(connect), "servers": list(servers)}:
                return ZooKeeperSpec(
                    kind, connect, tuple(ZooKeeperServer(**server) for server in servers)
                )
            case {"kind": str(kind), "connect": str(connect), "port": int(port)}:
                return ZooKeeperSpec(kind, connect, (ZooKeeperServer(1, port),) if port else ())
            case _:
                raise ValueError(f"no ZooKeeper: {fields!r}")


class RelayPorts(NamedTuple):
    """The ports of one broker in a cluster with relays. There the relay lies between clients and
    the broker, and between the broker and ZooKeeper.
    """

    clients: int
    """The port of the broker's listener for clients. Clients connect to the broker's `port`, and
    the relay passes their bytes to this port.
    """
    brokers: int
    """The port of the broker's listener for other brokers. They connect to it directly."""
    zookeepers: tuple[int, ...]
    """The relay's ports for the ZooKeeper servers, in the order of the connect string."""

    @property
    def all(self) -> tuple[int, ...]:
        return self.clients, self.brokers, *self.zookeepers

    @staticmethod
    def from_json(fields: object) -> "RelayPorts | None":
        """Return the ports from the fields that `save` has written. Raises TypeError or ValueError
        for wrong fields.
        """
        match fields:
            case None:
                return None
            case {"clients": int(clients), "brokers": int(brokers), "zookeepers": list(zookeepers)}:
                return RelayPorts(clients, brokers, tuple(map(int, zookeepers)))
        raise ValueError(f"no ports of a relay: {fields!r}")


class BrokerSpec(NamedTuple):
    """One broker: its id, its port for clients, and its own settings."""

    id: int
    port: int
    props: Mapping[str, str]
    relay: RelayPorts | None = None
    """The broker's ports behind the relay. None in a cluster without relays."""

    @property
    def direct_port(self) -> int:
        """The port of the broker itself. The supervisor uses it to bypass the relay."""
        return self.port if self.relay is None else self.relay.brokers


class ClusterSpec(NamedTuple):
    """The description of a cluster as requested. All its ports are chosen."""

    name: str
    brokers: tuple[BrokerSpec, ...]
    zookeeper: ZooKeeperSpec
    props: Mapping[str, str]

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(broker.id for broker in self.brokers)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(f"{HOST}:{broker.port}" for broker in self.brokers)

    def broker(self, broker_id: int) -> BrokerSpec:
        """Return the broker with this id. Raises ClusterSpecError if there is none."""
        for broker in self.brokers:
            if broker.id == broker_id:
                return broker
        raise ClusterSpecError(
            f"there is no broker {broker_id}; there are {', '.join(map(str, self.broker_ids))}"
        )

    def routes(self) -> dict[str, tuple[int, str, int]]:
        """Return the relay's routes by name. Each route is the relay's port, the target's host, and
        the target's port. Without relays the result is empty.
        """
        routes = {}
        servers = self.zookeeper.connect.partition("/")[0].split(",")
        for broker in self.brokers:
            if broker.relay is None:
                continue
            routes[f"clients-{broker.id}"] = (broker.port, HOST, broker.relay.clients)
            for number, (port, server) in enumerate(
                zip(broker.relay.zookeepers, servers, strict=True), 1
            ):
                host, _, target = server.rpartition(":")
                routes[f"zookeeper-{broker.id}-{number}"] = (port, host, int(target))
        return routes

    def source(self, text: str) -> Source:
        """Return the process with the name `text`, which is a broker's id, or `zookeeper`,
        `zookeeper-2` and so on.

        Raises ClusterSpecError if there is no such process.
        """
        zookeepers = {
            self.zookeeper.server_name(server): server.source for server in self.zookeeper.servers
        }
        if text in zookeepers:
            return zookeepers[text]
        if text.isdigit():
            return Source.of_broker(self.broker(int(text)).id)
        there = [*map(str, self.broker_ids), *zookeepers]
        raise ClusterSpecError(f"there is no '{text}'; there are {', '.join(there)}")

    def server_properties(self, broker_id: int, folder: ClusterFolder) -> dict[str, str]:
        """Return the settings of one broker. The broker's own settings override the cluster's, and
        both override the required ones.

        All other keys keep Kafka's defaults.
        """
        broker = self.broker(broker_id)
        return {
            "broker.id": str(broker_id),
            **_listeners(broker, {**self.props, **broker.props}),
            "log.dirs": str(folder.broker_data(broker_id)),
            "zookeeper.connect": _connect(broker, self.zookeeper.connect),
            "zookeeper.connection.timeout.ms": (
                "18000"
            ),  # as in Kafka's own server.properties: a JVM may have to start first
            "controlled.shutdown.retry.backoff.ms": (
                "500"
            ),  # the last broker finds no new leader for its partitions, and tries three times
            "edu.events.file": str(folder.broker_events(broker_id)),
            "edu.capture.file": str(folder.broker_capture(broker_id)),
            **internal_topics(len(self.brokers)),
            **self.props,
            **broker.props,
        }

    def check_settings(self, folder: ClusterFolder) -> tuple[str, ...]:
        """Return a warning for each setting that is unknown or has no effect. Equal warnings of
        several brokers appear once.

        Raises ClusterSpecError if a broker could not start with its settings.
        """
        if not self.props and not any(broker.props for broker in self.brokers):
            return ()
        from kafka_edu.server.config.kafka_config import (
            ConfigFileError,
            Setting,
            make_config,
        )  # not imported for the many clusters without own settings

        warnings: dict[str, None] = {}
        for broker in self.brokers:
            places = {key: f"--prop {key}" for key in self.props} | {
                key: f"--broker-prop {broker.id}:{key}" for key in broker.props
            }
            properties = self.server_properties(broker.id, folder)
            settings = {
                key: Setting(value, places.get(key, f"broker {broker.id}"))
                for key, value in properties.items()
            }
            try:
                warnings |= dict.fromkeys(make_config(settings)[1])
            except ConfigFileError as error:
                raise ClusterSpecError(str(error)) from error
        return tuple(warnings)

    def save(self, folder: ClusterFolder) -> None:
        """Write cluster.json, and a server.properties for each broker."""
        folder.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        document = {
            "format": FORMAT_VERSION,
            "zookeeper": self.zookeeper.as_json(),
            "props": dict(self.props),
            "brokers": [
                {
                    "id": broker.id,
                    "port": broker.port,
                    "props": dict(broker.props),
                    "relay": broker.relay._asdict() if broker.relay is not None else None,
                }
                for broker in self.brokers
            ],
        }
        _write(folder.spec, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
        if routes := self.routes():
            _write(folder.relay_routes, json.dumps(routes, indent=2) + "\n")
        else:
            folder.relay_routes.unlink(missing_ok=True)
        for broker in self.brokers:
            folder.broker_data(broker.id).mkdir(parents=True, exist_ok=True)
            text = format_properties(
                self.server_properties(broker.id, folder),
                f"Broker {broker.id} of cluster {self.name}, written at each `up`.",
            )
            _write(folder.broker_properties(broker.id), text)

    @staticmethod
    def load(folder: ClusterFolder) -> "ClusterSpec | None":
        """Return the description that `save` has written, or None if there is none. Raises
        ClusterSpecError if the file cannot be read.
        """
        try:
            document = json.loads(folder.spec.read_text(encoding="utf-8"))
            if document["format"] != FORMAT_VERSION:
                raise ClusterSpecError(
                    f"{folder.spec} is of format {document['format']}; this program reads"
                    f" {FORMAT_VERSION}"
                )
            return ClusterSpec(
                folder.name,
                tuple(
                    BrokerSpec(
                        int(b["id"]),
                        int(b["port"]),
                        dict(b["props"]),
                        RelayPorts.from_json(b.get("relay")),
                    )
                    for b in document["brokers"]
                ),
                ZooKeeperSpec.from_json(document["zookeeper"]),
                dict(document["props"]),
            )
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ClusterSpecError(
                f"{folder.spec} cannot be read ({error}); remove {folder.path} to start with an"
                " empty cluster"
            ) from error


def _listeners(broker: BrokerSpec, settings: Mapping[str, str]) -> dict[str, str]:
    """Return the settings for the listeners of a broker. In a cluster with relays, the broker
    advertises the relay's port to clients, and has a second listener for other brokers.
    """
    shown = listener_settings(HOST, broker.port, settings)
    if broker.relay is None:
        return shown
    own = f"{BROKERS}://{HOST}:{broker.relay.brokers}"
    bound = listener_settings(HOST, broker.relay.clients, settings)
    protocols = shown.get("listener.security.protocol.map", f"{CLIENTS}:PLAINTEXT")
    return {
        "listeners": f"{bound['listeners']},{own}",
        "advertised.listeners": f"{shown['listeners']},{own}",
        "listener.security.protocol.map": f"{protocols},{BROKERS}:PLAINTEXT",
        "inter.broker.listener.name": BROKERS,
    }


def _connect(broker: BrokerSpec, connect: str) -> str:
    """Return the connect string with which the broker reaches ZooKeeper. In a cluster with relays
    it contains the relay's ports.
    """
    if broker.relay is None:
        return connect
    _, slash, chroot = connect.partition("/")
    return ",".join(f"{HOST}:{port}" for port in broker.relay.zookeepers) + slash + chroot


def _check_own_listeners(settings: Mapping[str, str]) -> None:
    """Raise ClusterSpecError if the user's settings contain a key that would bypass the relay."""
    if taken := [key for key in _RELAY_SETS if key in settings]:
        raise ClusterSpecError(
            f"a cluster with relays chooses {taken[0]} itself, so that clients and ZooKeeper reach"
            " the brokers over the relay: leave this setting out, or start --without-relays"
        )
    if (name := settings.get(CONTROL_PLANE_KEY)) in (CLIENTS, BROKERS):
        raise ClusterSpecError(
            f"{CONTROL_PLANE_KEY} cannot be {name}: a cluster with relays uses this listener for"
            f" {'clients' if name == CLIENTS else 'other brokers'}. Choose another name, such as"
            " CONTROL"
        )


def _write(path: Path, text: str) -> None:
    aside = path.with_name(path.name + ".tmp")
    with naming(path):
        aside.write_text(text, encoding="utf-8")
    aside.replace(path)


class Wish(NamedTuple):
    """The options of `cluster up`. None means the value from the last start. If there was no
    earlier start, the default is used.
    """

    brokers: int | None = None
    port: int | None = None
    zookeeper: str | None = None
    props: Mapping[str, str] | None = None
    broker_props: Mapping[int, Mapping[str, str]] | None = None
    zookeepers: int | None = None
    api_level: str | None = None
    """The edu.api.level of every broker. It overrides the value in `props` and in the stored
    settings.
    """
    with_relays: bool | None = None
    """Whether clients reach the brokers, and brokers reach ZooKeeper, over a relay."""


def plan(
    name: str, wish: Wish, remembered: ClusterSpec | None, home: Path | None = None
) -> ClusterSpec:
    """Return the cluster that results from `wish` and the description of the last start.

    Ports that were chosen once stay the same, unless `wish.port` changes them. Raises
    ClusterSpecError if a required port is taken, or if an option makes no sense.
    """
    count = (
        wish.brokers if wish.brokers is not None else len(remembered.brokers) if remembered else 3
    )
    if not 1 <= count <= 100:
        raise ClusterSpecError(f"a cluster has 1 to 100 brokers, not {count}")
    zookeeper, servers = _wished_zookeeper(wish, remembered)
    props = (
        dict(wish.props) if wish.props is not None else dict(remembered.props) if remembered else {}
    )
    if wish.api_level is not None:
        props[API_LEVEL] = wish.api_level
    own = {broker.id: dict(broker.props) for broker in remembered.brokers} if remembered else {}
    if wish.broker_props is not None:
        own = {broker_id: dict(settings) for broker_id, settings in wish.broker_props.items()}
    if strangers := [broker_id for broker_id in own if broker_id >= count]:
        raise ClusterSpecError(
            f"--broker-prop names broker {strangers[0]}, but the brokers are 0 to {count - 1}"
        )

    ports = {broker.id: broker.port for broker in remembered.brokers} if remembered else {}
    reserved = _ports_of_others(name, home) | set(ports.values())
    if wish.port is not None:
        ports = {i: wish.port + i for i in range(count)}
        if wish.port + count > 65536:
            raise ClusterSpecError(f"--port {wish.port} leaves no room for {count} ports")
    else:
        free = _free_ports(reserved)
        usual = (
            name == DEFAULT_CLUSTER
            and remembered is None
            and all(_is_free(USUAL_BROKER_PORT + i) for i in range(count))
        )
        for i in range(count):
            if i not in ports:
                ports[i] = (
                    USUAL_BROKER_PORT + i
                    if usual and USUAL_BROKER_PORT + i not in reserved
                    else next(free)
                )
    if zookeeper.ours:
        zookeeper = _placed(
            zookeeper.kind,
            servers,
            name == DEFAULT_CLUSTER,
            remembered,
            reserved | set(ports.values()),
        )
    wanted = [*(ports[i] for i in range(count)), *zookeeper.ports]
    relays = _relays(wish, remembered, count, zookeeper, reserved | set(wanted))
    for i in relays:
        _check_own_listeners({**props, **own.get(i, {})})
    wanted += [port for relay in relays.values() for port in relay.all]
    if taken := [port for port in wanted if not _is_free(port)]:
        raise ClusterSpecError(
            f"port {taken[0]} is taken by another program: stop that one, choose others with"
            " --port, or give this cluster another name by --cluster"
        )
    return ClusterSpec(
        name,
        tuple(BrokerSpec(i, ports[i], own.get(i, {}), relays.get(i)) for i in range(count)),
        zookeeper,
        props,
    )


def _relays(
    wish: Wish,
    remembered: ClusterSpec | None,
    count: int,
    zookeeper: ZooKeeperSpec,
    reserved: set[int],
) -> dict[int, RelayPorts]:
    """Return the ports behind the relay for each broker, or nothing if the cluster has no relays.
    Ports that were chosen once stay the same, unless the number of ZooKeeper servers has changed.
    """
    kept = {b.id: b.relay for b in remembered.brokers if b.relay is not None} if remembered else {}
    if not (bool(kept) if wish.with_relays is None else wish.with_relays):
        return {}
    servers = zookeeper.connect.partition("/")[0].count(",") + 1
    free = _free_ports(reserved | {port for relay in kept.values() for port in relay.all})
    relays = {}
    for i in range(count):
        relay = kept.get(i)
        if relay is None or len(relay.zookeepers) != servers or reserved & set(relay.all):
            zookeepers = tuple(itertools.islice(free, servers))
            relay = RelayPorts(next(free), next(free), zookeepers)
        relays[i] = relay
    return relays


def _wished_zookeeper(wish: Wish, remembered: ClusterSpec | None) -> tuple[ZooKeeperSpec, int]:
    """Return the requested kind of ZooKeeper and the number of its servers. Raises
    ClusterSpecError.
    """
    if wish.zookeeper is not None:
        zookeeper = ZooKeeperSpec.parse(wish.zookeeper)
    else:
        zookeeper = remembered.zookeeper if remembered else ZooKeeperSpec("embedded", "")
    kept = (
        len(remembered.zookeeper.servers)
        if remembered and remembered.zookeeper.kind == zookeeper.kind
        else 0
    )
    count = wish.zookeepers if wish.zookeepers is not None else kept or 1
    if not 1 <= count <= MAX_ZOOKEEPERS:
        raise ClusterSpecError(
            f"an ensemble has 1 to {MAX_ZOOKEEPERS} servers, not {count}; three can lose one"
        )
    if wish.zookeepers is not None and not zookeeper.ours:
        raise ClusterSpecError(
            f"--zookeepers counts servers that this command starts, but {zookeeper.connect} is an"
            " external ZooKeeper: name all its servers in --zookeeper HOST:PORT,HOST:PORT"
        )
    if zookeeper.kind == "embedded" and count > 1:
        raise ClusterSpecError(
            "the embedded ZooKeeper is one server: leave --zookeepers out, or use --zookeeper"
            f" apache --zookeepers {count}"
        )
    if kept and count != kept:
        raise ClusterSpecError(
            f"this cluster's ZooKeeper has {plural(kept, 'server')} with its data, and cannot get"
            f" {count}: name another cluster by --cluster, or forget this one with"
            f" {command_line('cluster down --delete')}"
        )
    return zookeeper, count


def _placed(
    kind: str, count: int, usual: bool, remembered: ClusterSpec | None, reserved: Collection[int]
) -> ZooKeeperSpec:
    """Return `count` ZooKeeper servers. They keep the ports of the last start, or get new ports.

    If `usual`, the new ports are the usual ports of ZooKeeper, as far as they are free.
    """
    if remembered is not None and len(remembered.zookeeper.servers) == count:
        return ZooKeeperSpec.of(kind, remembered.zookeeper.servers)
    free = _free_ports(reserved)
    servers = []
    for number in range(1, count + 1):
        port = USUAL_ZOOKEEPER_PORT + number - 1
        client_port = port if usual and port not in reserved and _is_free(port) else next(free)
        servers.append(
            ZooKeeperServer(number, client_port, *((next(free), next(free)) if count > 1 else ()))
        )
    return ZooKeeperSpec.of(kind, servers)


def _ports_of_others(name: str, home: Path | None) -> set[int]:
    """Return the ports that other clusters have chosen, whether they are up or down."""
    ports = set()
    for other in cluster_names(home):
        if other == name:
            continue
        # A cluster whose file cannot be read reserves no port.
        with contextlib.suppress(ClusterSpecError):
            spec = ClusterSpec.load(ClusterFolder.of(other, home))
            if spec is not None:
                ports |= {broker.port for broker in spec.brokers} | set(spec.zookeeper.ports)
                ports |= {port for b in spec.brokers if b.relay is not None for port in b.relay.all}
    return ports


def _is_free(port: int) -> bool:
    return is_free(HOST, port)


def _free_ports(reserved: Collection[int]) -> Iterator[int]:
    yield from free_ports(HOST, reserved)
    raise ClusterSpecError(f"no free port from {PICKED_PORTS.start} to {PICKED_PORTS.stop}")
