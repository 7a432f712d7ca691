"""The broker's configuration: server.properties is parsed and checked, and each value gets its type
(Kafka: KafkaConfig.scala; spec A2).

With a wrong value the broker does not start, and changes nothing. The error contains the file, the
line, the key, the value, and the allowed values. The broker also does not start if a value asks for
protection that is missing, for example TLS. An unknown key is ignored, as in Kafka, and some keys
have no effect yet. A warning contains the name, the file and the line of each such key.
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Final, NamedTuple

from kafka_edu.cluster.broker import EndPoint
from kafka_edu.cluster.metadata_cache import SECURITY_PROTOCOLS
from kafka_edu.common.api_version import record_version, release_of
from kafka_edu.common.config_def import ConfigException, ConfigValue, ConfigValues
from kafka_edu.common.files import FileSystem
from kafka_edu.common.ports import LOOPBACK
from kafka_edu.network.connection_quotas import ConnectionLimits
from kafka_edu.server.config.kafka_config_keys import CONFIG_DEF, QUEUED_MAX_REQUEST_BYTES
from kafka_edu.server.config.properties_file import (
    PropertiesError,
    decode_properties,
    parse_properties,
)
from kafka_edu.server.config.settings_check import (
    LISTENER_PREFIX,
    base_key,
    check_settings,
    only_while_running,
)

SERVED_SECURITY_PROTOCOLS: Final = ("PLAINTEXT",)
_NOT_SERVED: Final = (
    f"is not served yet, only {', '.join(SERVED_SECURITY_PROTOCOLS)}. The broker does not start,"
    " because the connection would lack the protection it asks for. Use PLAINTEXT, or Apache Kafka"
    " where you need the protection"
)
_LOCALHOST: Final = ("127.0.0.1", "::1")
_WILDCARDS: Final = ("0.0.0.0", "::")


class ConfigFileError(Exception):
    """The broker cannot start with this configuration. The error text says where the error is and
    which values are allowed.
    """


class Setting(NamedTuple):
    """The text of a value, and the place where it is set, for example `server.properties, line
    12`.
    """

    value: str
    where: str


def key_of(name: str) -> str:
    """Return the key of server.properties for the name of an attribute or field: `num_io_threads` →
    num.io.threads, and `capture_file` → edu.capture.file.

    Raises AssertionError if there is no such key.
    """
    key = name.replace("_", ".")
    if key in CONFIG_DEF:
        return key
    assert f"edu.{key}" in CONFIG_DEF, f"{name} stands for no key of the table"
    return f"edu.{key}"


class _Typed:
    """An attribute of KafkaConfig that returns the value of one key. The key is `key`, or follows
    from the attribute's name (`key_of`).
    """

    def __init__(self, key: str = "") -> None:
        self.key = key

    def __set_name__(self, _: type["KafkaConfig"], name: str) -> None:
        self.key = self.key or key_of(name)


class Int(_Typed):
    def __get__(self, config: "KafkaConfig", _: type["KafkaConfig"]) -> int:
        return config.values.get_int(self.key)


class Bool(_Typed):
    def __get__(self, config: "KafkaConfig", _: type["KafkaConfig"]) -> bool:
        return config.values.get_bool(self.key)


class Str(_Typed):
    def __get__(self, config: "KafkaConfig", _: type["KafkaConfig"]) -> str:
        return config.values.get_string(self.key)


class OptionalStr(_Typed):
    def __get__(self, config: "KafkaConfig", _: type["KafkaConfig"]) -> str | None:
        return config.values.get_optional_string(self.key)


class KafkaConfig:
    """The configuration of one broker, read-only. Each attribute is the value of one key. The
    module kafka_config_keys explains the keys.

    Only keys that the server itself reads have an attribute. The other parts of the broker declare
    their keys in `part_configs`. A property computes its value from several keys.
    """

    api_level = Str()
    auto_create_topics_enable = Bool()
    background_threads = Int()
    broker_id = Int()
    broker_id_generation_enable = Bool()
    capture_file = OptionalStr()
    capture_max_bytes = Int()
    controlled_shutdown_enable = Bool()
    controlled_shutdown_max_retries = Int()
    controlled_shutdown_retry_backoff_ms = Int()
    controller_socket_timeout_ms = Int()
    default_replication_factor = Int()
    delete_topic_enable = Bool()
    events_file = OptionalStr()
    fetch_max_bytes = Int()
    learner = OptionalStr()
    log_dir_quota_bytes = Int()
    log_flush_offset_checkpoint_interval_ms = Int()
    log_flush_scheduler_interval_ms = Int()
    log_flush_start_offset_checkpoint_interval_ms = Int()
    log_retention_check_interval_ms = Int()
    max_connections_per_ip = Int()
    max_incremental_fetch_session_cache_slots = Int()
    num_io_threads = Int()
    num_network_threads = Int()
    num_partitions = Int()
    num_recovery_threads_per_data_dir = Int()
    num_replica_fetchers = Int()
    offsets_topic_num_partitions = Int()
    offsets_topic_replication_factor = Int()
    queued_max_request_bytes = Int()
    queued_max_requests = Int()
    rack = OptionalStr("broker.rack")
    record_file = OptionalStr()
    record_gauges = Bool()
    record_hops_per_second = Int()
    record_level = Str()
    replica_fetch_wait_max_ms = Int()
    replica_lag_time_max_ms = Int()
    replica_socket_timeout_ms = Int()
    request_timeout_ms = Int()
    reserved_broker_max_id = Int()
    socket_request_max_bytes = Int()
    trace_ring_bytes = Int()
    trace_ring_minutes = Int()
    unclean_leader_election_enable = Bool()
    zookeeper_connect = Str()
    zookeeper_max_in_flight_requests = Int()
    zookeeper_session_timeout_ms = Int()

    def __init__(
        self,
        values: ConfigValues,
        given: Mapping[str, str] | None = None,
        overrides: Mapping[str, str] | None = None,
    ) -> None:
        """Check the rules that involve several keys. Raises ConfigException.

        `given` holds the text of each key that is set, including unknown keys. `overrides` holds
        the settings that were changed while the broker runs.
        """
        self.values = values
        self.given: Mapping[str, str] = given or {}
        self.connection_limits = _connection_limits(values, {**self.given, **(overrides or {})})
        """The limits from max.connections and the related keys."""
        self.listener_security_protocol_map = _protocol_map(
            values.get_string("listener.security.protocol.map")
        )
        self.listeners: tuple[EndPoint, ...] = self._parse_listeners()
        self.inter_broker_listener_name: str = self._inter_broker_listener_name()
        self._advertised = self._parse_advertised()
        self.control_plane_listener_name: str | None = self._control_plane_listener_name()
        self._check()

    def with_overrides(self, overrides: Mapping[str, str]) -> "KafkaConfig":
        """Return a copy of this configuration in which `overrides` replace the values. Raises
        ConfigException.
        """
        return KafkaConfig(CONFIG_DEF.parse({**self.given, **overrides}), self.given, overrides)

    @property
    def capture_clients(self) -> tuple[str, ...]:
        return tuple(name for name in self.values.get_list("edu.capture.clients") if name)

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The value of log.dirs. If it is not set, the value of log.dir."""
        dirs = self.values.get_optional_string("log.dirs")
        return tuple(
            d.strip()
            for d in (dirs if dirs is not None else self.values.get_string("log.dir")).split(",")
            if d.strip()
        )

    @property
    def zookeeper_connection_timeout_ms(self) -> int:
        timeout = self.values.get_optional_int("zookeeper.connection.timeout.ms")
        return self.zookeeper_session_timeout_ms if timeout is None else timeout

    @property
    def log_retention_ms(self) -> int:
        """The retention time in ms, from the most precise key that is set: log.retention.ms,
        .minutes or .hours. A negative value becomes -1, which means that records are kept for ever.
        """
        for key, unit_ms in (("log.retention.ms", 1), ("log.retention.minutes", 60_000)):
            value = self.values.get_optional_int(key)
            if value is not None:
                return value * unit_ms if value >= 0 else -1
        hours = self.values.get_int("log.retention.hours")
        return hours * 3_600_000 if hours >= 0 else -1

    @property
    def log_roll_ms(self) -> int:
        value = self.values.get_optional_int("log.roll.ms")
        return self.values.get_int("log.roll.hours") * 3_600_000 if value is None else value

    @property
    def log_roll_jitter_ms(self) -> int:
        value = self.values.get_optional_int("log.roll.jitter.ms")
        return self.values.get_int("log.roll.jitter.hours") * 3_600_000 if value is None else value

    @property
    def log_flush_interval_ms(self) -> int:
        value = self.values.get_optional_int("log.flush.interval.ms")
        return self.log_flush_scheduler_interval_ms if value is None else value

    @property
    def inter_broker_protocol_version(self) -> tuple[int, int]:
        """inter.broker.protocol.version as (major, minor). `2.0-IV1` becomes (2, 0)."""
        release = release_of(self.values.get_string("inter.broker.protocol.version"))
        if release is None:
            raise AssertionError("the validator lets only releases pass")
        return release

    def topic_defaults(self) -> dict[str, ConfigValue]:
        """Return the broker's default for every key that a topic can set, by the topic's key
        (Kafka: KafkaServer.copyKafkaConfigToLog).
        """
        return {
            topic_key: self.values[broker_key] for topic_key, broker_key in TOPIC_KEYS.items()
        } | {
            "flush.ms": self.log_flush_interval_ms,
            "retention.ms": self.log_retention_ms,
            "segment.jitter.ms": self.log_roll_jitter_ms,
            "segment.ms": self.log_roll_ms,
        }

    def advertised_listeners(self, bound_ports: Mapping[str, int]) -> tuple[EndPoint, ...]:
        """Return the listeners that the broker registers in ZooKeeper. They come from
        advertised.listeners. A port 0 is replaced by the real port of this listener.
        """
        return tuple(
            e._replace(port=bound_ports[e.listener_name]) if e.port == 0 else e
            for e in self._advertised
        )

    def _parse_listeners(self) -> tuple[EndPoint, ...]:
        text = self.values.get_optional_string("listeners")
        if text is None:
            host, port = self.values.get_string("host.name"), self.values.get_int("port")
            return (EndPoint(host or LOOPBACK, port, "PLAINTEXT", "PLAINTEXT"),)
        end_points = self._end_points("listeners", text)
        ports = [e.port for e in end_points if e.port]
        if len(set(ports)) < len(ports):
            raise ConfigException(
                "listeners",
                f"Invalid value {text} for configuration listeners: each listener must have a port"
                " of its own",
            )
        return end_points

    def _parse_advertised(self) -> tuple[EndPoint, ...]:
        text = self.values.get_optional_string("advertised.listeners")
        if text is not None:
            key, advertised = "advertised.listeners", self._end_points("advertised.listeners", text)
        else:
            key, advertised = "listeners", self.listeners
            host = self.values.get_optional_string("advertised.host.name")
            port = self.values.get_optional_int("advertised.port")
            if (
                host is not None or port is not None
                # These old keys describe one PLAINTEXT listener. If only one of them is set, the
                # other value comes from host.name or port.
            ):
                key = "advertised.port" if host is None else "advertised.host.name"
                host = host or self.values.get_string("host.name") or LOOPBACK
                advertised = (
                    self._end_point(
                        key,
                        f"PLAINTEXT://{host}:"
                        f"{self.values.get_int('port') if port is None else port}",
                    ),
                )
        names = [e.listener_name for e in self.listeners]
        for end_point in advertised:
            if end_point.host in _WILDCARDS:
                raise ConfigException(
                    key,
                    f"{end_point} cannot be advertised: no client can connect to {end_point.host};"
                    " set"
                    " advertised.listeners to a real address",
                )
            if end_point.listener_name not in names:
                raise ConfigException(
                    key,
                    f"{end_point} is advertised, but listeners has no {end_point.listener_name},"
                    f" only {', '.join(names)}",
                )
        if self.inter_broker_listener_name not in [e.listener_name for e in advertised]:
            raise ConfigException(
                key,
                f"the listener between brokers, {self.inter_broker_listener_name}"
                " (inter.broker.listener.name), must be advertised too",
            )
        return advertised

    def _end_points(self, key: str, text: str) -> tuple[EndPoint, ...]:
        end_points = tuple(
            self._end_point(key, item.strip()) for item in text.split(",") if item.strip()
        )
        names = [e.listener_name for e in end_points]
        if not names or len(set(names)) < len(names):
            raise ConfigException(
                key,
                f"Invalid value {text} for configuration {key}: the value must name each listener"
                " once, and at least one",
            )
        return end_points

    def _end_point(self, key: str, item: str) -> EndPoint:
        name, separator, address = item.partition("://")
        host, colon, port = address.rpartition(":")
        if (
            not separator
            or not colon
            or not name
            or not port.isascii()
            or not port.isdigit()
            or int(port) > 65535
        ):
            raise ConfigException(
                key,
                f"Invalid value {item} for configuration {key}: the value must be NAME://HOST:PORT,"
                " as in PLAINTEXT://127.0.0.1:9092",
            )
        name = name.upper()
        protocol = self.listener_security_protocol_map.get(name)
        if protocol is None:
            raise ConfigException(
                key,
                f"{item} in {key}: listener.security.protocol.map has no security protocol for"
                f" {name}",
            )
        if protocol not in SERVED_SECURITY_PROTOCOLS:
            raise ConfigException(key, f"{item} in {key}: {protocol} {_NOT_SERVED}")
        return EndPoint(
            host.removeprefix("[").removesuffix("]") or LOOPBACK, int(port), name, protocol
        )

    def _inter_broker_listener_name(self) -> str:
        name = self.values.get_optional_string("inter.broker.listener.name")
        if name is not None:
            if "security.inter.broker.protocol" in self.given:
                raise ConfigException(
                    "inter.broker.listener.name",
                    "Only one of inter.broker.listener.name and security.inter.broker.protocol"
                    " should be set.",
                )
            name = name.upper()
            if name not in self.listener_security_protocol_map:
                raise ConfigException(
                    "inter.broker.listener.name",
                    f"listener.security.protocol.map has no listener {name}",
                )
            return name
        protocol = self.values.get_string("security.inter.broker.protocol").upper()
        if protocol not in SECURITY_PROTOCOLS.values():
            self._refuse(
                "security.inter.broker.protocol", f"one of {', '.join(SECURITY_PROTOCOLS.values())}"
            )
        if protocol not in SERVED_SECURITY_PROTOCOLS:
            raise ConfigException(
                "security.inter.broker.protocol", f"{protocol} between brokers {_NOT_SERVED}"
            )
        return protocol

    def _control_plane_listener_name(self) -> str | None:
        """Return the name of the listener that only the controller uses (KIP-291), after the same
        three checks as in Kafka. None means that the controller uses the listener between brokers.
        """
        key = "control.plane.listener.name"
        name = self.values.get_optional_string(key)
        if name is None:
            return None
        name = name.upper()
        if name not in self.listener_security_protocol_map:
            raise ConfigException(
                key,
                f"Listener with {name} defined in {key} not found in"
                " listener.security.protocol.map.",
            )
        advertised = [e.listener_name for e in self._advertised]
        if name not in advertised:
            raise ConfigException(
                key,
                f"{key} must be a listener name defined in advertised.listeners. The valid options"
                f" based on currently configured listeners are {','.join(advertised)}",
            )
        if name == self.inter_broker_listener_name:
            raise ConfigException(
                key,
                f"{key}, when defined, should have a different value from the inter broker listener"
                f" name. Currently they both have the value ListenerName({name})",
            )
        return name

    def _check(self) -> None:
        """Check the rules that involve several keys (Kafka: KafkaConfig.validateValues)."""
        most = self.reserved_broker_max_id
        if self.broker_id_generation_enable and self.broker_id > most:
            self._refuse(
                "broker.id",
                f"from -1 to {most} (reserved.broker.max.id): ids above are generated ones",
            )
        if not self.broker_id_generation_enable and self.broker_id < 0:
            self._refuse("broker.id", "at least 0, because broker.id.generation.enable is false")
        if not self.log_dirs:
            self._refuse("log.dirs", "at least one folder")
        for key in ("log.retention.ms", "log.retention.minutes", "log.retention.hours"):
            value = self.values.get_optional_int(key)
            if value is not None and value != -1 and value < 1:
                self._refuse(key, "at least 1, or -1 for ever")
        if self.log_roll_ms < 1:
            self._refuse("log.roll.ms", "at least 1")
        if self.log_roll_jitter_ms < 0:
            self._refuse("log.roll.jitter.ms", "at least 0")
        if (
            0 < self.queued_max_request_bytes < self.socket_request_max_bytes
            and self.queued_max_request_bytes != QUEUED_MAX_REQUEST_BYTES
        ):
            self._refuse(
                "queued.max.request.bytes",
                f"at least {self.socket_request_max_bytes} (socket.request.max.bytes), or -1",
            )
        if self.max_connections_per_ip == 0 and not self.connection_limits.per_ip_overrides:
            self._refuse(
                "max.connections.per.ip",
                "at least 1, unless max.connections.per.ip.overrides is set",
            )
        if self.replica_fetch_wait_max_ms > self.replica_socket_timeout_ms:
            self._refuse(
                "replica.fetch.wait.max.ms",
                f"at most {self.replica_socket_timeout_ms} (replica.socket.timeout.ms)",
            )
        if self.replica_fetch_wait_max_ms > self.replica_lag_time_max_ms:
            self._refuse(
                "replica.fetch.wait.max.ms",
                f"at most {self.replica_lag_time_max_ms} (replica.lag.time.max.ms): else followers"
                " leave the ISR",
            )
        between_brokers = self.values.get_string("inter.broker.protocol.version")
        if record_version(self.values.get_string("log.message.format.version")) > record_version(
            between_brokers
        ):
            self._refuse(
                "log.message.format.version",
                f"no newer than the messages of inter.broker.protocol.version {between_brokers}",
            )
        acks = self.values.get_int("offsets.commit.required.acks")
        if not -1 <= acks <= self.offsets_topic_replication_factor:
            self._refuse(
                "offsets.commit.required.acks", "from -1 to offsets.topic.replication.factor"
            )

    def _refuse(self, key: str, allowed: str) -> None:
        raise ConfigException(
            key,
            f"Invalid value {CONFIG_DEF.shown(key, self.values[key])} for configuration {key}: the"
            f" value must be {allowed}",
        )


def _connection_limits(values: ConfigValues, given: Mapping[str, str]) -> ConnectionLimits:
    """Return the limits on the number of connections, in all and for single listeners and
    addresses. Raises ConfigException.
    """
    key = CONFIG_DEF.keys["max.connections"]
    per_listener: dict[str, int] = {}
    for name, text in given.items():
        if name.startswith(LISTENER_PREFIX) and base_key(name) == key.name:
            most = key._replace(name=name).parse(text)
            if isinstance(most, int):
                per_listener[
                    name.removeprefix(LISTENER_PREFIX).removesuffix(f".{key.name}").upper()
                ] = most
    overrides = _per_ip_overrides(values.get_string("max.connections.per.ip.overrides"))
    return ConnectionLimits(
        max_connections=values.get_int("max.connections"),
        max_per_ip=values.get_int("max.connections.per.ip"),
        per_ip_overrides=overrides,
        max_per_listener=per_listener,
    )


def _per_ip_overrides(text: str) -> dict[str, int]:
    """Return the limit of each address. The text has the form `127.0.0.1:200,::1:5`. Raises
    ConfigException.
    """
    key = "max.connections.per.ip.overrides"
    limits: dict[str, int] = {}
    for item in filter(None, (item.strip() for item in text.split(","))):
        host, _, most = item.rpartition(":")
        try:
            addresses = (
                _LOCALHOST
                if host.strip() == "localhost"
                else (str(ip_address(host.strip().strip("[]"))),)
            )
            limits |= dict.fromkeys(addresses, int(most))
        except ValueError:
            raise ConfigException(
                key,
                f"Invalid value {text} for configuration {key}: {item} must be ADDRESS:LIMIT, as in"
                " 127.0.0.1:200; host names are not looked up",
            ) from None
    return limits


def _protocol_map(text: str) -> dict[str, str]:
    """Return the security protocol of each listener. The text has the form
    `CLIENT:PLAINTEXT,REPLICATION:PLAINTEXT`. Raises ConfigException.
    """
    protocols: dict[str, str] = {}
    for item in text.split(","):
        name, colon, protocol = (part.strip() for part in item.partition(":"))
        if not colon or not name or protocol.upper() not in SECURITY_PROTOCOLS.values():
            raise ConfigException(
                "listener.security.protocol.map",
                f"Invalid value {item} for configuration listener.security.protocol.map: the value"
                " must be NAME:PROTOCOL, where PROTOCOL is PLAINTEXT, SSL, SASL_PLAINTEXT or"
                " SASL_SSL",
            )
        protocols[name.upper()] = protocol.upper()
    return protocols


#: A topic's key → the broker's key that gives its default value (Kafka:
#: LogConfig.TopicConfigSynonyms). `topic_defaults` computes the defaults that come from several
#: broker keys.
TOPIC_KEYS: Final[Mapping[str, str]] = {
    "cleanup.policy": "log.cleanup.policy",
    "compression.type": "compression.type",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "index.interval.bytes": "log.index.interval.bytes",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "message.downconversion.enable": "log.message.downconversion.enable",
    "message.format.version": "log.message.format.version",
    "message.timestamp.difference.max.ms": "log.message.timestamp.difference.max.ms",
    "message.timestamp.type": "log.message.timestamp.type",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "min.insync.replicas": "min.insync.replicas",
    "preallocate": "log.preallocate",
    "retention.bytes": "log.retention.bytes",
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "unclean.leader.election.enable": "unclean.leader.election.enable",
}


def default_config(given: Mapping[str, str] | None = None) -> KafkaConfig:
    """Return a configuration in which every key that is not in `given` has its default.

    It is for programs and tests that need a broker's defaults and have no server.properties. Raises
    ConfigException.
    """
    given = {"zookeeper.connect": "127.0.0.1:2181", **(given or {})}
    return KafkaConfig(CONFIG_DEF.parse(given), given)


def make_config(settings: Mapping[str, Setting]) -> tuple[KafkaConfig, list[str]]:
    """Return the configuration, and a warning for each key that is unknown or has no effect.

    Raises ConfigFileError if a value is wrong or is refused. The error text has one line for each
    such value, with its place in the file. It also contains the warnings, because a missing key is
    often a misspelt key. Rules that involve several keys are checked only when each single value is
    right.
    """
    given = {key: setting.value for key, setting in settings.items()}
    findings = [*check_settings(given), *only_while_running(given)]
    refusals = [
        f"{settings[finding.key].where}: {finding.text}" for finding in findings if finding.refuses
    ]
    warnings = [
        f"{settings[finding.key].where}: {finding.text}"
        for finding in findings
        if not finding.refuses
    ]
    wrong = CONFIG_DEF.problems(given)
    if not wrong and not refusals:
        try:
            return KafkaConfig(CONFIG_DEF.parse(given), given), warnings
        except ConfigException as error:
            wrong.append(error)
    notes = [
        f"{settings[error.key].where}: {error}" if error.key in settings else str(error)
        for error in wrong
    ]
    raise ConfigFileError("\n".join(notes + refusals + warnings))


def load_config(
    path: str, file_system: FileSystem, overrides: Sequence[str] = ()
) -> tuple[KafkaConfig, list[str]]:
    """Read a properties file. Each item of `overrides` has the form `key=value` and comes from the
    option --override of kafka-server-start. Overrides take precedence over the file.

    Raises ConfigFileError with the file and the line.
    """
    try:
        parsed = parse_properties(decode_properties(file_system.read(path)))
    except OSError as error:
        raise ConfigFileError(f"cannot read {path}: {error.strerror}") from error
    except PropertiesError as error:
        raise ConfigFileError(f"{path}, line {error.line}: {error}") from error
    settings = {
        key: Setting(prop.value, f"{path}, line {prop.line}") for key, prop in parsed.items()
    }
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals:
            raise ConfigFileError(f"--override {override}: it must be key=value")
        settings[key.strip()] = Setting(value, f"--override {key.strip()}")
    return make_config(settings)
