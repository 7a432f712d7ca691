"""The settings of a cluster: ports that are picked and kept, settings that `up` remembers, and the
brokers' settings.
"""

import socket
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.common.user_files import state_folder
from kafka_edu.server.config.kafka_config import load_config
from kafka_edu.server.config.properties_file import parse_properties
from kafka_edu.supervisor.cluster_folder import ClusterFolder, cluster_names
from kafka_edu.supervisor.cluster_spec import (
    PICKED_PORTS,
    ClusterSpec,
    ClusterSpecError,
    Wish,
    ZooKeeperSpec,
    _ports_of_others,
    plan,
)
from kafka_edu.trace.event import Source, SourceKind


def ports(spec: ClusterSpec) -> list[int]:
    return [broker.port for broker in spec.brokers] + list(spec.zookeeper.ports)


def test_three_brokers_and_an_embedded_zookeeper_by_default(tmp_path: Path) -> None:
    spec = plan("a", Wish(), None, tmp_path)
    assert spec.broker_ids == (0, 1, 2)
    assert spec.zookeeper.kind == "embedded"
    assert spec.zookeeper.connect == f"127.0.0.1:{spec.zookeeper.servers[0].port}"
    assert len(set(ports(spec))) == 4
    assert all(port in PICKED_PORTS for port in ports(spec))
    assert spec.bootstrap_servers == ",".join(f"127.0.0.1:{port}" for port in ports(spec)[:3])


def test_up_again_keeps_what_is_not_said_anew(tmp_path: Path) -> None:
    folder = ClusterFolder.of("a", tmp_path)
    first = plan(
        "a",
        Wish(brokers=2, props={"num.partitions": "4"}, broker_props={1: {"broker.rack": "r1"}}),
        None,
        tmp_path,
    )
    first.save(folder)
    remembered = ClusterSpec.load(folder)
    assert remembered == first
    assert plan("a", Wish(), remembered, tmp_path) == first
    grown = plan("a", Wish(brokers=3), remembered, tmp_path)
    assert grown.brokers[:2] == first.brokers
    assert grown.zookeeper == first.zookeeper
    assert grown.brokers[2].port not in ports(first)
    assert plan("a", Wish(props={}), remembered, tmp_path).props == {}


def test_clusters_do_not_pick_each_others_ports(tmp_path: Path) -> None:
    seen: set[int] = set()
    for name in ("a", "b", "c"):
        spec = plan(name, Wish(), None, tmp_path)
        spec.save(ClusterFolder.of(name, tmp_path))
        assert not seen & set(ports(spec))
        seen |= set(ports(spec))
    assert cluster_names(tmp_path) == ["a", "b", "c"]


def test_port_asked_for_counts_up(tmp_path: Path) -> None:
    base = plan("x", Wish(brokers=3), None, tmp_path).brokers[0].port
    assert [
        broker.port for broker in plan("a", Wish(brokers=2, port=base), None, tmp_path).brokers
    ] == [base, base + 1]


def test_taken_port_is_refused_with_advice(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(ClusterSpecError, match=f"port {port} is taken .* --port"):
            plan("a", Wish(brokers=1, port=port), None, tmp_path)


def test_server_properties(tmp_path: Path) -> None:
    folder = ClusterFolder.of("g1", tmp_path / "Ä pfad")
    spec = plan(
        "g1",
        Wish(brokers=2, props={"num.partitions": "4"}, broker_props={1: {"num.partitions": "8"}}),
        None,
        tmp_path,
    )
    spec.save(folder)
    text = folder.broker_properties(1).read_text(encoding="ascii")
    values = {key: prop.value for key, prop in parse_properties(text).items()}
    assert values == {
        "broker.id": "1",
        "listeners": f"PLAINTEXT://127.0.0.1:{spec.brokers[1].port}",
        "log.dirs": str(folder.broker_data(1)),
        "zookeeper.connect": spec.zookeeper.connect,
        "zookeeper.connection.timeout.ms": "18000",
        "controlled.shutdown.retry.backoff.ms": "500",
        "edu.events.file": str(folder.broker_events(1)),
        "edu.capture.file": str(folder.broker_capture(1)),
        "offsets.topic.replication.factor": "2",
        "transaction.state.log.replication.factor": "2",
        "num.partitions": "8",
    }
    assert folder.broker_data(1).is_dir()
    assert folder.path.stat().st_mode & 0o077 == 0


def test_a_control_plane_gets_a_listener_of_its_own(tmp_path: Path) -> None:
    """The listener may be named for all brokers or for one. A broker accepts the configuration."""
    folder = ClusterFolder.of("c", tmp_path)
    for wish in (
        Wish(1, props={"control.plane.listener.name": "CONTROL"}),
        Wish(1, broker_props={0: {"control.plane.listener.name": "CONTROL"}}),
    ):
        spec = plan("c", wish, None, tmp_path)
        spec.save(folder)
        config, warnings = load_config(str(folder.broker_properties(0)), OsFileSystem())
        assert warnings == []
        assert config.control_plane_listener_name == "CONTROL"
        assert [(each.listener_name, each.port) for each in config.listeners] == [
            ("PLAINTEXT", spec.brokers[0].port),
            ("CONTROL", 0),
        ]
    own = plan("c", Wish(1, props={"listeners": "PLAINTEXT://127.0.0.1:7"}), None, tmp_path)
    assert own.server_properties(0, folder)["listeners"] == "PLAINTEXT://127.0.0.1:7"


@pytest.mark.parametrize("text", ["apache", "embedded"])
def test_zookeeper_of_ours_gets_a_port(tmp_path: Path, text: str) -> None:
    spec = plan("a", Wish(zookeeper=text), None, tmp_path)
    assert spec.zookeeper.ours
    assert len(spec.zookeeper.ports) == 1


def test_an_ensemble_has_three_ports_a_server_and_keeps_them(tmp_path: Path) -> None:
    folder = ClusterFolder.of("a", tmp_path)
    spec = plan("a", Wish(zookeeper="apache", zookeepers=3), None, tmp_path)
    servers = spec.zookeeper.servers
    assert [server.id for server in servers] == [1, 2, 3]
    assert len(set(ports(spec))) == 3 + 9
    assert spec.zookeeper.connect == ",".join(f"127.0.0.1:{server.port}" for server in servers)
    spec.save(folder)
    remembered = ClusterSpec.load(folder)
    assert remembered == spec
    assert plan("a", Wish(), remembered, tmp_path) == spec
    assert _ports_of_others("b", tmp_path) == set(ports(spec))


def test_a_spec_from_before_there_were_ensembles(tmp_path: Path) -> None:
    spec = plan("a", Wish(), None, tmp_path)
    (server,) = spec.zookeeper.servers
    assert (
        ZooKeeperSpec.from_json(
            {"kind": "embedded", "connect": spec.zookeeper.connect, "port": server.port}
        )
        == spec.zookeeper
    )
    assert ZooKeeperSpec.from_json(
        {"kind": "external", "connect": "h:1/a", "port": 0}
    ) == ZooKeeperSpec("external", "h:1/a")


@pytest.mark.parametrize(
    ("brokers", "expected"),
    [
        (
            1,
            {
                "offsets.topic.replication.factor": "1",
                "transaction.state.log.replication.factor": "1",
                "transaction.state.log.min.isr": "1",
            },
        ),
        (
            2,
            {
                "offsets.topic.replication.factor": "2",
                "transaction.state.log.replication.factor": "2",
            },
        ),
        (3, {}),
    ],
)
def test_groups_and_transactions_work_with_few_brokers(
    tmp_path: Path, brokers: int, expected: dict[str, str]
) -> None:
    """By Kafka's defaults, the topics of groups and transactions need three brokers. With fewer
    brokers, a group would wait for its coordinator for ever.
    """
    folder = ClusterFolder.of("a", tmp_path)
    found = plan("a", Wish(brokers=brokers), None, tmp_path).server_properties(0, folder)
    assert {
        key: value
        for key, value in found.items()
        if "topic.replication" in key or "transaction.state" in key
    } == expected
    own = {"offsets.topic.replication.factor": "7"}
    assert (
        plan("a", Wish(brokers=brokers, props=own), None, tmp_path)
        .server_properties(0, folder)
        .items()
        >= own.items()
    )


def test_what_a_person_calls_a_process(tmp_path: Path) -> None:
    alone = plan("a", Wish(brokers=2), None, tmp_path)
    assert [str(alone.source(text)) for text in ("0", "1", "zookeeper")] == [
        "broker 0",
        "broker 1",
        "zookeeper 1",
    ]
    ensemble = plan("b", Wish(brokers=1, zookeeper="apache", zookeepers=3), None, tmp_path)
    assert [ensemble.source(f"zookeeper-{n}") for n in (1, 2, 3)] == [
        Source(SourceKind.ZOOKEEPER, n) for n in (1, 2, 3)
    ]
    for text in ("zookeeper", "zookeeper-4", "-2", "broker-0", ""):
        with pytest.raises(
            ClusterSpecError, match="there are 0, zookeeper-1, zookeeper-2, zookeeper-3"
        ):
            ensemble.source(text)
    with pytest.raises(ClusterSpecError, match="there is no broker 1; there are 0"):
        ensemble.source("1")


@pytest.mark.parametrize(
    ("wish", "advice"),
    [
        (Wish(zookeepers=3), "leave --zookeepers out, or use --zookeeper apache --zookeepers 3"),
        (Wish(zookeeper="h:1", zookeepers=3), "name all its servers in --zookeeper"),
        (Wish(zookeeper="apache", zookeepers=0), "an ensemble has 1 to 7 servers, not 0"),
        (Wish(zookeeper="apache", zookeepers=8), "an ensemble has 1 to 7 servers, not 8"),
    ],
)
def test_ensembles_that_cannot_be(tmp_path: Path, wish: Wish, advice: str) -> None:
    with pytest.raises(ClusterSpecError, match=advice):
        plan("a", wish, None, tmp_path)


def test_an_ensemble_neither_grows_nor_shrinks(tmp_path: Path) -> None:
    """Two new servers would be a majority that knows nothing."""
    one = plan("a", Wish(zookeeper="apache"), None, tmp_path)
    with pytest.raises(ClusterSpecError, match="has 1 server with its data, and cannot get 3"):
        plan("a", Wish(zookeepers=3), one, tmp_path)
    assert (
        len(
            plan(
                "a",
                Wish(zookeeper="apache", zookeepers=3),
                plan("a", Wish(), None, tmp_path),
                tmp_path,
            ).zookeeper.servers
        )
        == 3
    )


def test_zookeeper_elsewhere_with_chroot(tmp_path: Path) -> None:
    spec = plan("a", Wish(zookeeper="localhost:2181,[::1]:2182/kafka/one"), None, tmp_path)
    assert spec.zookeeper == ZooKeeperSpec("external", "localhost:2181,[::1]:2182/kafka/one")
    assert not spec.zookeeper.ours


@pytest.mark.parametrize(
    "text", ["", "nonsense", "host", "host:", "host:0", "host:70000", ":2181", "host:21x/chroot"]
)
def test_zookeeper_that_is_none(text: str) -> None:
    with pytest.raises(ClusterSpecError, match="is not a ZooKeeper"):
        ZooKeeperSpec.parse(text)


@pytest.mark.parametrize(
    "wish",
    [
        Wish(brokers=0),
        Wish(brokers=101),
        Wish(brokers=2, broker_props={2: {"a": "b"}}),
        Wish(brokers=3, port=65_534),
    ],
)
def test_wishes_that_make_no_sense(tmp_path: Path, wish: Wish) -> None:
    with pytest.raises(ClusterSpecError):
        plan("a", wish, None, tmp_path)


def test_broken_spec_says_what_to_do(tmp_path: Path) -> None:
    folder = ClusterFolder.of("a", tmp_path)
    assert ClusterSpec.load(folder) is None
    folder.path.mkdir(parents=True)
    for text in ("{", "[]", '{"format": 2}', '{"format": 1}'):
        folder.spec.write_text(text)
        with pytest.raises(ClusterSpecError, match=r"cluster\.json"):
            ClusterSpec.load(folder)
    assert plan("b", Wish(), None, tmp_path).brokers, "a broken neighbour reserves nothing"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a b", "ä", "x" * 64])
def test_bad_names(name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a cluster's name"):
        ClusterFolder.of(name)


def test_home() -> None:
    assert state_folder({"KAFKA_EDU_HOME": "/a", "XDG_STATE_HOME": "/b"}) == Path("/a")
    assert state_folder({"XDG_STATE_HOME": "/b"}) == Path("/b/kafka-edu")
    assert state_folder({}) == Path.home() / ".local" / "state" / "kafka-edu"


def test_the_api_level_is_a_setting_of_every_broker_that_stays(tmp_path):
    first = plan("a", Wish(props={"num.partitions": "4"}, api_level="2.0"), None, tmp_path)
    assert first.props == {"num.partitions": "4", "edu.api.level": "2.0"}
    assert plan("a", Wish(), first, tmp_path).props == first.props
    assert plan("a", Wish(api_level="2.8"), first, tmp_path).props == {
        "num.partitions": "4",
        "edu.api.level": "2.8",
    }


def relayed(tmp_path: Path, wish: Wish) -> ClusterSpec:
    return plan("r", wish._replace(with_relays=True), None, tmp_path)


def test_with_relays_every_broker_has_ports_behind_the_relay(tmp_path: Path) -> None:
    folder = ClusterFolder.of("r", tmp_path)
    spec = relayed(tmp_path, Wish(brokers=2))
    behind = [port for broker in spec.brokers if broker.relay for port in broker.relay.all]
    assert len(behind) == 6
    assert len({*behind, *ports(spec)}) == 9
    broker, relay = spec.brokers[1], spec.brokers[1].relay
    assert relay is not None
    values = spec.server_properties(1, folder)
    own = f"BROKERS://127.0.0.1:{relay.brokers}"
    assert values["listeners"] == f"PLAINTEXT://127.0.0.1:{relay.clients},{own}"
    assert values["advertised.listeners"] == f"PLAINTEXT://127.0.0.1:{broker.port},{own}"
    assert values["inter.broker.listener.name"] == "BROKERS"
    assert values["zookeeper.connect"] == f"127.0.0.1:{relay.zookeepers[0]}"
    zookeeper = spec.zookeeper.servers[0].port
    assert {name: route for name, route in spec.routes().items() if name.split("-")[1] == "1"} == {
        "clients-1": (broker.port, "127.0.0.1", relay.clients),
        "zookeeper-1-1": (relay.zookeepers[0], "127.0.0.1", zookeeper),
    }
    assert broker.direct_port == relay.brokers
    assert str(broker.port) in spec.bootstrap_servers
    spec.save(folder)
    config, warnings = load_config(str(folder.broker_properties(1)), OsFileSystem())
    assert warnings == []
    assert config.inter_broker_listener_name == "BROKERS"


def test_relays_are_remembered_until_somebody_says_without(tmp_path: Path) -> None:
    folder = ClusterFolder.of("r", tmp_path)
    spec = relayed(tmp_path, Wish(brokers=2))
    spec.save(folder)
    assert ClusterSpec.load(folder) == spec
    assert plan("r", Wish(), spec, tmp_path) == spec
    grown = plan("r", Wish(brokers=3), spec, tmp_path)
    assert grown.brokers[:2] == spec.brokers
    assert grown.brokers[2].relay is not None
    assert _ports_of_others("x", tmp_path) >= {
        port for broker in spec.brokers if broker.relay for port in broker.relay.all
    }
    without = plan("r", Wish(with_relays=False), spec, tmp_path)
    assert without.routes() == {}
    assert without.bootstrap_servers == spec.bootstrap_servers
    assert [b.direct_port for b in without.brokers] == [b.port for b in spec.brokers]
    without.save(folder)
    assert not folder.relay_routes.exists()
    assert "inter.broker.listener.name" not in without.server_properties(0, folder)


def test_each_server_of_an_ensemble_has_a_route(tmp_path: Path) -> None:
    spec = relayed(tmp_path, Wish(brokers=1, zookeeper="apache", zookeepers=3))
    assert [name for name in spec.routes() if name.startswith("zookeeper")] == [
        "zookeeper-0-1",
        "zookeeper-0-2",
        "zookeeper-0-3",
    ]
    external = relayed(tmp_path, Wish(brokers=1, zookeeper="example.org:2181,b:2182/kafka"))
    assert external.routes()["zookeeper-0-2"][1:] == ("b", 2182)
    connect = external.server_properties(0, ClusterFolder.of("r", tmp_path))["zookeeper.connect"]
    assert connect.endswith("/kafka")
    assert connect.count("127.0.0.1") == 2


def test_a_control_plane_goes_with_relays(tmp_path: Path) -> None:
    folder = ClusterFolder.of("r", tmp_path)
    spec = relayed(tmp_path, Wish(brokers=1, props={"control.plane.listener.name": "CONTROL"}))
    spec.save(folder)
    relay = spec.brokers[0].relay
    assert relay is not None
    config, warnings = load_config(str(folder.broker_properties(0)), OsFileSystem())
    assert warnings == []
    assert config.control_plane_listener_name == "CONTROL"
    assert [(each.listener_name, each.port) for each in config.listeners] == [
        ("PLAINTEXT", relay.clients),
        ("CONTROL", 0),
        ("BROKERS", relay.brokers),
    ]


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (("listeners", "PLAINTEXT://127.0.0.1:7"), "chooses listeners itself.*--without-relays"),
        (("zookeeper.connect", "a:1"), "chooses zookeeper.connect itself"),
        (("control.plane.listener.name", "PLAINTEXT"), "uses this listener for clients"),
        (("control.plane.listener.name", "BROKERS"), "for other brokers.*such as CONTROL"),
    ],
)
def test_settings_that_would_bypass_the_relay_are_refused(
    tmp_path: Path, setting: tuple[str, str], said: str
) -> None:
    for wish in (Wish(props=dict([setting])), Wish(broker_props={1: dict([setting])})):
        with pytest.raises(ClusterSpecError, match=said):
            relayed(tmp_path, wish)
        plan("r", wish, None, tmp_path)


def test_a_taken_port_behind_the_relay_is_said(tmp_path: Path) -> None:
    spec = relayed(tmp_path, Wish(brokers=1))
    assert spec.brokers[0].relay is not None
    port = spec.brokers[0].relay.brokers
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ClusterSpecError, match=f"port {port} is taken"),
    ):
        plan("r", Wish(), spec, tmp_path)
