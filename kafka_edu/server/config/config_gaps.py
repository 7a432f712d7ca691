"""Table of the keys of server.properties that need a feature which this project does not have yet.

There are two kinds of keys. If a key asks for protection that is missing, for example TLS, the
broker does not start. Otherwise the owner would think that the cluster is protected, but it would
be open. Any other key is accepted without effect. A warning contains its name and its place in the
file. When the missing feature is built, its keys must be removed from this table. A test compares
the table with the keys that the broker reads.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kafka_edu.common.config_def import (
    MAX_INT,
    MAX_LONG,
    ConfigDef,
    ConfigKey,
    ConfigType,
    Gap,
    Range,
)
from kafka_edu.log.log_config import NO_PREALLOCATION

_NO_METRICS: Final = (
    "there are no JMX metrics and no reporters; the broker's events show the same facts"
)
NO_QUOTAS: Final = "quotas are stored but not enforced"
_NO_TLS: Final = "there is no TLS"
_NO_ZK_TLS: Final = "there is no TLS to ZooKeeper"
NO_SASL: Final = "there is no SASL"
_NO_TOKENS: Final = "there are no delegation tokens"
_NO_ENCODED_PASSWORDS: Final = "no password is stored in ZooKeeper, so none is encoded"
_SYSTEM_BUFFERS: Final = "sockets use the buffer sizes of the operating system"
_NO_SETUP_TIMEOUT: Final = (
    "the time-out of the first request also covers the set-up of a connection between brokers"
)
_NO_JAVA: Final = "Java classes cannot be loaded"


def _ignored() -> Iterator[tuple[str, Gap]]:
    for missing, names in (
        (
            _NO_METRICS,
            (
                "kafka.metrics.polling.interval.secs",
                "metrics.num.samples",
                "metrics.recording.level",
                "metrics.sample.window.ms",
            ),
        ),
        (
            NO_QUOTAS,
            (
                "controller.quota.window.num",
                "controller.quota.window.size.seconds",
                "quota.window.num",
                "quota.window.size.seconds",
            ),
        ),
        ("the cleaner reads a batch at a time", ("log.cleaner.io.buffer.size",)),
        (
            _NO_TLS,
            (
                "ssl.cipher.suites",
                "ssl.enabled.protocols",
                "ssl.endpoint.identification.algorithm",
                "ssl.keymanager.algorithm",
                "ssl.keystore.type",
                "ssl.principal.mapping.rules",
                "ssl.protocol",
                "ssl.provider",
                "ssl.secure.random.implementation",
                "ssl.trustmanager.algorithm",
                "ssl.truststore.type",
            ),
        ),
        (
            _NO_ZK_TLS,
            (
                "zookeeper.clientCnxnSocket",
                "zookeeper.ssl.cipher.suites",
                "zookeeper.ssl.enabled.protocols",
                "zookeeper.ssl.endpoint.identification.algorithm",
                "zookeeper.ssl.keystore.type",
                "zookeeper.ssl.protocol",
                "zookeeper.ssl.truststore.type",
            ),
        ),
        (
            NO_SASL,
            (
                "connection.failed.authentication.delay.ms",
                "sasl.kerberos.kinit.cmd",
                "sasl.kerberos.min.time.before.relogin",
                "sasl.kerberos.principal.to.local.rules",
                "sasl.kerberos.service.name",
                "sasl.kerberos.ticket.renew.jitter",
                "sasl.kerberos.ticket.renew.window.factor",
                "sasl.login.refresh.buffer.seconds",
                "sasl.login.refresh.min.period.seconds",
                "sasl.login.refresh.window.factor",
                "sasl.login.refresh.window.jitter",
                "sasl.server.max.receive.size",
            ),
        ),
        (
            _NO_TOKENS,
            (
                "delegation.token.expiry.check.interval.ms",
                "delegation.token.expiry.time.ms",
                "delegation.token.max.lifetime.ms",
            ),
        ),
        (
            _NO_ENCODED_PASSWORDS,
            (
                "password.encoder.cipher.algorithm",
                "password.encoder.iterations",
                "password.encoder.key.length",
                "password.encoder.keyfactory.algorithm",
                "password.encoder.old.secret",
                "password.encoder.secret",
            ),
        ),
        (_SYSTEM_BUFFERS, ("replica.socket.receive.buffer.bytes",)),
        (
            _NO_SETUP_TIMEOUT,
            ("socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms"),
        ),
        (_NO_JAVA, ("security.providers", "ssl.engine.factory.class")),
        ("Kafka itself does not read it", ("zookeeper.sync.time.ms",)),
    ):
        for name in names:
            yield name, Gap(missing)
    yield "client.quota.callback.class", Gap(NO_QUOTAS, ("",))
    yield "kafka.metrics.reporters", Gap(_NO_METRICS, ((),))
    yield "log.preallocate", Gap(NO_PREALLOCATION, (False,))
    yield (
        "max.connection.creation.rate",
        Gap("new connections are limited in number (max.connections) but not in rate", (MAX_INT,)),
    )
    yield "metric.reporters", Gap(_NO_METRICS, ((),))
    yield "quota.consumer.default", Gap(NO_QUOTAS, (MAX_LONG,))
    yield "quota.producer.default", Gap(NO_QUOTAS, (MAX_LONG,))
    yield "socket.receive.buffer.bytes", Gap(_SYSTEM_BUFFERS, (-1,))
    yield "socket.send.buffer.bytes", Gap(_SYSTEM_BUFFERS, (-1,))
    yield "zookeeper.ssl.crl.enable", Gap(_NO_ZK_TLS, (False,))
    yield "zookeeper.ssl.ocsp.enable", Gap(_NO_ZK_TLS, (False,))


def _refused() -> Iterator[tuple[str, Gap]]:
    policies = "policies that forbid requests cannot be loaded"
    for missing, names in (
        (
            _NO_TLS,
            (
                "ssl.key.password",
                "ssl.keystore.certificate.chain",
                "ssl.keystore.key",
                "ssl.keystore.location",
                "ssl.keystore.password",
                "ssl.truststore.certificates",
                "ssl.truststore.location",
                "ssl.truststore.password",
            ),
        ),
        (
            _NO_ZK_TLS,
            (
                "zookeeper.ssl.keystore.location",
                "zookeeper.ssl.keystore.password",
                "zookeeper.ssl.truststore.location",
                "zookeeper.ssl.truststore.password",
            ),
        ),
        (
            NO_SASL,
            (
                "principal.builder.class",
                "sasl.client.callback.handler.class",
                "sasl.jaas.config",
                "sasl.login.callback.handler.class",
                "sasl.login.class",
                "sasl.mechanism.inter.broker.protocol",
                "sasl.server.callback.handler.class",
            ),
        ),
        (_NO_TOKENS, ("delegation.token.master.key", "delegation.token.secret.key")),
        (policies, ("alter.config.policy.class.name", "create.topic.policy.class.name")),
    ):
        for name in names:
            yield name, Gap(missing, ("",), refuses=True)
    yield (
        "authorizer.class.name",
        Gap("there is no authorizer, so every client may do everything", ("",), refuses=True),
    )
    yield "connections.max.reauth.ms", Gap(NO_SASL, (0,), refuses=True)
    yield "sasl.enabled.mechanisms", Gap(NO_SASL, ((),), refuses=True)
    yield "ssl.client.auth", Gap(_NO_TLS, ("none",), refuses=True)
    yield (
        "zookeeper.set.acl",
        Gap(
            "there are no ACLs on znodes, so every client of ZooKeeper may change them",
            (False,),
            refuses=True,
        ),
    )
    yield "zookeeper.ssl.client.enable", Gap(_NO_ZK_TLS, (False,), refuses=True)


BROKER_GAPS: Final[Mapping[str, Gap]] = dict(sorted([*_ignored(), *_refused()]))
"""Key of server.properties → why the key has no effect here. Keys that are not in this table work
as in Kafka.
"""

AUTHORIZER_CONFIG: Final = ConfigDef(
    [
        ConfigKey(
            "allow.everyone.if.no.acl.found",
            ConfigType.BOOLEAN,
            False,
            None,
            "Kafka's authorizer: whether a resource without ACLs is open to everyone.",
            Gap("there is no authorizer, so every client may do everything", (True,), refuses=True),
        ),
        ConfigKey(
            "super.users",
            ConfigType.STRING,
            "",
            None,
            "Kafka's authorizer: the users that may do everything.",
            Gap(
                "there is no authorizer, so all users may do everything, not only these",
                ("",),
                refuses=True,
            ),
        ),
    ]
)
"""Keys of Kafka's own authorizer. The broker itself does not have them. But a user who sets such a
key expects an authorizer, so the broker must not ignore it.
"""

DYNAMIC_ONLY_CONFIG: Final = ConfigDef(
    ConfigKey(name, ConfigType.LONG, MAX_LONG, Range(0), doc)
    for name, doc in (
        ("follower.replication.throttled.rate", "Bytes a second that throttled replicas fetch."),
        (
            "leader.replication.throttled.rate",
            "Bytes a second that throttled replicas are served.",
        ),
        (
            "replica.alter.log.dirs.io.max.bytes.per.second",
            "Bytes a second of moves between log dirs.",
        ),
    )
)
"""Keys that server.properties does not have. They can only be set while the broker runs, and for
one broker at a time (Kafka: DynamicConfig.Broker).
"""
