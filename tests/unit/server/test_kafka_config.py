from pathlib import Path

import pytest

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.common.api_version import record_version, release_of
from kafka_edu.common.files import OsFileSystem
from kafka_edu.server.config.kafka_config import (
    ConfigFileError,
    KafkaConfig,
    Setting,
    load_config,
    make_config,
)
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF


def config(**settings: str) -> KafkaConfig:
    given = {"zookeeper.connect": "127.0.0.1:2181"} | {
        key.replace("_", "."): value for key, value in settings.items()
    }
    return make_config({key: Setting(value, "test") for key, value in given.items()})[0]


def refused(**settings: str) -> str:
    with pytest.raises(ConfigFileError) as caught:
        config(**settings)
    return str(caught.value)


def test_defaults_are_those_of_kafka_2_0() -> None:
    c = config()
    assert (c.num_io_threads, c.num_network_threads, c.queued_max_requests) == (8, 3, 500)
    assert (
        c.replica_lag_time_max_ms,
        c.zookeeper_session_timeout_ms,
        c.zookeeper_connection_timeout_ms,
    ) == (10_000, 6000, 6000)
    assert c.log_dirs == ("/tmp/kafka-logs",)
    assert c.log_retention_ms == 7 * 24 * 3_600_000
    assert c.values.get_int("group.initial.rebalance.delay.ms") == 3000
    assert c.values.get_int("message.max.bytes") == 1_000_012


def test_the_default_listener_is_on_loopback_only() -> None:
    assert config().listeners == (EndPoint("127.0.0.1", 9092, "PLAINTEXT", "PLAINTEXT"),)
    assert config(listeners="PLAINTEXT://:9093").listeners[0].host == "127.0.0.1"


def test_several_listeners_with_names_of_their_own() -> None:
    c = config(
        listeners="CLIENT://127.0.0.1:0, REPLICATION://[::1]:9093",
        listener_security_protocol_map="CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT",
        inter_broker_listener_name="REPLICATION",
    )
    assert c.inter_broker_listener_name == "REPLICATION"
    assert c.advertised_listeners({"CLIENT": 40001, "REPLICATION": 9093}) == (
        EndPoint("127.0.0.1", 40001, "CLIENT", "PLAINTEXT"),
        EndPoint("::1", 9093, "REPLICATION", "PLAINTEXT"),
    )


CONTROL = {
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROL://127.0.0.1:9093",
    "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,CONTROL:PLAINTEXT",
}


def test_a_listener_for_the_control_plane() -> None:
    assert config(**CONTROL).control_plane_listener_name is None
    for name in ("CONTROL", "control"):
        assert (
            config(**CONTROL, control_plane_listener_name=name).control_plane_listener_name
            == "CONTROL"
        )


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (
            CONTROL | {"control_plane_listener_name": "OTHER"},
            (
                "Listener with OTHER defined in control.plane.listener.name not found in"
                " listener.security.protocol.map."
            ),
        ),
        (
            CONTROL
            | {
                "control_plane_listener_name": "CONTROL",
                "listeners": "PLAINTEXT://127.0.0.1:9092",
            },
            (
                "control.plane.listener.name must be a listener name defined in"
                " advertised.listeners. The valid options based on currently configured listeners"
                " are PLAINTEXT"
            ),
        ),
        (
            CONTROL
            | {
                "control_plane_listener_name": "CONTROL",
                "advertised_listeners": "PLAINTEXT://127.0.0.1:9092",
            },
            (
                "control.plane.listener.name must be a listener name defined in"
                " advertised.listeners. The valid options based on currently configured listeners"
                " are PLAINTEXT"
            ),
        ),
        (
            {"control_plane_listener_name": "PLAINTEXT"},
            (
                "control.plane.listener.name, when defined, should have a different value from the"
                " inter broker listener name. Currently they both have the value"
                " ListenerName(PLAINTEXT)"
            ),
        ),
    ],
)
def test_what_the_control_plane_may_not_be_in_apache_kafkas_words(
    settings: dict[str, str], says: str
) -> None:
    """As 2.8.2 says it (asked on 2026-11-21)."""
    assert refused(**settings).endswith(says)


def test_advertised_listeners_go_before_listeners() -> None:
    c = config(
        listeners="PLAINTEXT://0.0.0.0:9092", advertised_listeners="PLAINTEXT://kafka.example:19092"
    )
    assert c.advertised_listeners({"PLAINTEXT": 9092}) == (
        EndPoint("kafka.example", 19092, "PLAINTEXT", "PLAINTEXT"),
    )


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, "cannot be advertised"),
        ({"listeners": "9092"}, "NAME://HOST:PORT"),
        ({"listeners": "PLAINTEXT://127.0.0.1:99999"}, "NAME://HOST:PORT"),
        ({"listeners": "SSL://127.0.0.1:9093"}, "SSL is not served yet"),
        ({"listeners": "X://127.0.0.1:9093"}, "no security protocol for X"),
        ({"listeners": "PLAINTEXT://a:1,PLAINTEXT://b:2"}, "each listener once"),
        ({"listener_security_protocol_map": "PLAINTEXT"}, "NAME:PROTOCOL"),
        ({"broker_id": "1001"}, "reserved.broker.max.id"),
        ({"broker_id": "x"}, "Not a number of type"),
        ({"num_io_threads": "0"}, "at least 1"),
        ({"log_retention_ms": "0"}, "-1 for ever"),
        ({"auto_create_topics_enable": "yes"}, "true or false"),
        ({"replica_fetch_wait_max_ms": "20000"}, "replica.lag.time.max.ms"),
        ({"inter_broker_protocol_version": "3.0"}, "from 0.8.0 to 2.8"),
        ({"edu_api_level": "2.1"}, "String must be one of: 2.0, 2.8"),
    ],
)
def test_wrong_values_say_what_is_allowed(settings: dict[str, str], says: str) -> None:
    assert says in refused(**settings)


def test_the_finest_unit_counts() -> None:
    assert config(log_retention_minutes="3").log_retention_ms == 180_000
    assert config(log_retention_minutes="3", log_retention_ms="5").log_retention_ms == 5
    assert config(log_retention_hours="-1").log_retention_ms == -1
    assert config(log_roll_ms="7").topic_defaults()["segment.ms"] == 7


def test_errors_and_warnings_name_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        "# mine\nzookeeper.connect=127.0.0.1:2181\nnum.partition=3\nnum.io.threads=eight\n"
    )
    with pytest.raises(ConfigFileError) as caught:
        load_config(str(path), OsFileSystem())
    assert str(caught.value).startswith(
        f"{path}, line 4: Invalid value eight for configuration num.io.threads"
    )
    c, warnings = load_config(str(path), OsFileSystem(), ["num.io.threads=4"])
    assert c.num_io_threads == 4
    assert warnings == [
        f"{path}, line 3: num.partition is not a known key, so it is ignored; did you mean"
        " num.partitions?"
    ]


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        "num.io.threads=0\nzookeeper.conect=127.0.0.1:2181\nlog.dirs=/tmp/x\nauto.create.topics.enable=maybe\nbroker.id=\\\n"
        "  one\n"
    )
    with pytest.raises(ConfigFileError) as caught:
        load_config(str(path), OsFileSystem(), ["num.partitions=few"])
    lines = str(caught.value).splitlines()
    places = [line.partition(": ")[0] for line in lines]
    assert places == [
        f"{path}, line 1",
        f"{path}, line 4",
        f"{path}, line 5",
        "--override num.partitions",
        lines[4].partition(": ")[0],
        f"{path}, line 2",
    ]
    assert "zookeeper.connect" in lines[4]
    assert lines[5].endswith(
        "zookeeper.conect is not a known key, so it is ignored; did you mean zookeeper.connect?"
    )


def test_zookeeper_connect_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("broker.id=1\n")
    with pytest.raises(ConfigFileError, match=r"zookeeper\.connect"):
        load_config(str(path), OsFileSystem())
    with pytest.raises(ConfigFileError, match="cannot read"):
        load_config(str(tmp_path / "none"), OsFileSystem())


def test_releases() -> None:
    assert release_of("2.0-IV1") == (2, 0)
    assert release_of("0.10.2.1") == (0, 10)
    assert release_of("2.0.1") == (2, 0)
    assert release_of("4.0") is None
    assert release_of("two") is None
    assert [
        record_version(v)
        for v in ("0.8.2", "0.9.0", "0.10.0", "0.10.2-IV0", "0.11.0", "1.0", "2.8")
    ] == [0, 0, 1, 1, 2, 2, 2]
    assert config(inter_broker_protocol_version="2.0-IV1").inter_broker_protocol_version == (2, 0)


def test_what_is_stored_is_no_newer_than_what_brokers_say_to_each_other() -> None:
    assert config(inter_broker_protocol_version="0.10.0", log_message_format_version="0.9.0")
    with pytest.raises(ConfigFileError, match=r"log\.message\.format\.version"):
        config(inter_broker_protocol_version="0.10.0", log_message_format_version="2.0")


def test_every_attribute_is_a_key() -> None:
    c = config()
    for name, reader in vars(KafkaConfig).items():
        key = getattr(reader, "key", None)
        if key is not None:
            assert key in CONFIG_DEF, name
            getattr(c, name)


def test_the_jitter_of_rolling_reaches_topics_in_ms() -> None:
    assert config(log_roll_jitter_hours="2").topic_defaults()["segment.jitter.ms"] == 7_200_000
    assert (
        config(log_roll_jitter_hours="2", log_roll_jitter_ms="5").topic_defaults()[
            "segment.jitter.ms"
        ]
        == 5
    )


def test_the_limits_of_connections() -> None:
    limits = config(
        max_connections="7",
        max_connections_per_ip="0",
        max_connections_per_ip_overrides="10.0.0.1:3, [::1]:4,localhost:5",
    ).connection_limits
    assert limits.max_connections == 7
    assert limits.per_ip_overrides == {"10.0.0.1": 3, "::1": 5, "127.0.0.1": 5}
    given = {"zookeeper.connect": "h:1", "listener.name.inside.max.connections": "2"}
    assert make_config({key: Setting(value, "test") for key, value in given.items()})[
        0
    ].connection_limits.max_per_listener == {"INSIDE": 2}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"max_connections_per_ip": "0"}, "unless max.connections.per.ip.overrides is set"),
        ({"max_connections_per_ip_overrides": "10.0.0.1"}, "must be ADDRESS:LIMIT"),
        ({"max_connections_per_ip_overrides": "kafka.example:3"}, "host names are not looked up"),
        ({"queued_max_request_bytes": "1000"}, "at least 104857600 (socket.request.max.bytes)"),
        ({"max_connections": "-1"}, "at least 0"),
    ],
)
def test_limits_that_cannot_be(settings: dict[str, str], says: str) -> None:
    assert says in refused(**settings)
