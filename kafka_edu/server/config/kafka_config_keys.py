"""Table of every key of server.properties that Kafka 2.0 knows, with its name, type, default,
allowed values, and effect (Kafka: KafkaConfig.scala; spec A2).

The defaults were read from Kafka 2.0.1. The following defaults of this project differ:

    listeners, host.name                the loopback address instead of all interfaces, so that
                                        nothing outside this machine can connect
    inter.broker.protocol.version       2.8, because the wire protocol is that of 2.8
    zookeeper.max.in.flight.requests    1000 instead of 10, because that is faster here
    queued.max.request.bytes            64 MiB instead of no limit, because the brokers of a class
                                        may share one small machine

A mark like (2.4) names the release that added the key. Keys that start with `edu.` are this
project's own. `kafka_edu.server.config.config_gaps` lists the keys without effect, and the keys
that keep the broker from starting.
"""

import sys
from collections.abc import Iterator
from typing import Final

from kafka_edu.common.api_version import ProtocolVersion
from kafka_edu.common.config_def import (
    MAX_INT,
    MAX_LONG,
    REQUIRED,
    ConfigDef,
    ConfigKey,
    ConfigType,
    ListOf,
    OneOf,
    Range,
    Validator,
)
from kafka_edu.common.ports import BROKER_PORT, LOOPBACK
from kafka_edu.log.log_config import HOUR_MS, TOPIC_CONFIG
from kafka_edu.replication.replica_selector import KnownSelector
from kafka_edu.server.config.config_gaps import BROKER_GAPS
from kafka_edu.trace.trace_ring import DEFAULT_BYTES, DEFAULT_MINUTES

QUEUED_MAX_REQUEST_BYTES: Final = 64 << 20
"""The default of queued.max.request.bytes. It may be smaller than socket.request.max.bytes, because
a single request may exceed the limit. Kafka refuses a value below socket.request.max.bytes. This
project does so too if the user has set the value.
"""

_AT_LEAST_0: Final = Range(0)
_AT_LEAST_1: Final = Range(1)
_TOPIC_DEFAULTS: Final = TOPIC_CONFIG.parse({})
#: Functions that return the default of a topic's key. The broker's key for the same setting gets
#: the same default.
_of_bool, _of_int, _of_text = (
    _TOPIC_DEFAULTS.get_bool,
    _TOPIC_DEFAULTS.get_int,
    _TOPIC_DEFAULTS.get_string,
)


def _booleans() -> Iterator[ConfigKey]:
    for name, default, doc in (
        (
            "auto.create.topics.enable",
            True,
            "A Metadata request for a topic that does not exist creates it.",
        ),
        (
            "auto.leader.rebalance.enable",
            True,
            "The controller moves leaderships back to preferred replicas at regular intervals.",
        ),
        (
            "broker.id.generation.enable",
            True,
            "A broker without broker.id gets one from ZooKeeper, above reserved.broker.max.id.",
        ),
        (
            "controlled.shutdown.enable",
            True,
            "A broker that stops first asks the controller to move its leaderships away.",
        ),
        ("delete.topic.enable", True, "Topics may be deleted."),
        ("log.cleaner.enable", True, "Compact topics whose cleanup.policy says so."),
        (
            "log.message.downconversion.enable",
            _of_bool("message.downconversion.enable"),
            "Convert records for consumers that know only old message formats.",
        ),
        (
            "log.preallocate",
            _of_bool("preallocate"),
            "Reserve the full size of a new segment on disk at once.",
        ),
        (
            "unclean.leader.election.enable",
            _of_bool("unclean.leader.election.enable"),
            "A replica that is out of sync may become leader when no other is left. Records may"
            " be lost.",
        ),
        ("zookeeper.ssl.client.enable", False, "(2.5) TLS to ZooKeeper."),
        (
            "zookeeper.ssl.crl.enable",
            False,
            "(2.5) Check revocation lists of ZooKeeper's certificates.",
        ),
        (
            "zookeeper.ssl.ocsp.enable",
            False,
            "(2.5) Check online whether ZooKeeper's certificates are revoked.",
        ),
        ("zookeeper.set.acl", False, "Write znodes that only brokers may change."),
    ):
        yield ConfigKey(name, ConfigType.BOOLEAN, default, None, doc)


def _ints() -> Iterator[ConfigKey]:
    for name, default, validator, doc in (
        (
            "advertised.port",
            None,
            None,
            "Old form of advertised.listeners: the port that clients connect to.",
        ),
        (
            "alter.log.dirs.replication.quota.window.num",
            11,
            _AT_LEAST_1,
            "Number of samples for the quota of moves between log dirs.",
        ),
        (
            "alter.log.dirs.replication.quota.window.size.seconds",
            1,
            _AT_LEAST_1,
            "Length of one such sample.",
        ),
        (
            "background.threads",
            10,
            _AT_LEAST_1,
            "Number of workers for blocking background work: flush, deletion, recovery.",
        ),
        (
            "broker.id",
            -1,
            Range(-1),
            "This broker's id in the cluster; -1: the stored or a generated one.",
        ),
        (
            "connection.failed.authentication.delay.ms",
            100,
            _AT_LEAST_0,
            "(2.1) How long a connection stays open after a failed authentication.",
        ),
        (
            "controlled.shutdown.max.retries",
            3,
            None,
            "Number of attempts of a controlled shutdown.",
        ),
        (
            "controller.socket.timeout.ms",
            30_000,
            None,
            "How long the controller and a controlled shutdown wait for a response.",
        ),
        (
            "controller.quota.window.num",
            11,
            _AT_LEAST_1,
            "(2.7) Number of samples for the quota of topic changes.",
        ),
        (
            "controller.quota.window.size.seconds",
            1,
            _AT_LEAST_1,
            "(2.7) Length of one such sample.",
        ),
        (
            "default.replication.factor",
            1,
            None,
            "Number of replicas of a topic that is created automatically.",
        ),
        (
            "delete.records.purgatory.purge.interval.requests",
            1,
            None,
            "Number of completed DeleteRecords that may stay in watcher lists before they are"
            " purged.",
        ),
        (
            "fetch.max.bytes",
            57_671_680,
            Range(1024),
            "(2.5) Maximum number of bytes in one fetch response, whatever the client requests.",
        ),
        (
            "fetch.purgatory.purge.interval.requests",
            1000,
            None,
            "Number of completed fetches that may stay in watcher lists before they are purged.",
        ),
        (
            "group.initial.rebalance.delay.ms",
            3000,
            None,
            "How long a new group waits for more members before its first rebalance.",
        ),
        (
            "group.max.session.timeout.ms",
            300_000,
            None,
            "Longest session time-out that a member may request.",
        ),
        ("group.max.size", MAX_INT, _AT_LEAST_1, "(2.2) Maximum number of members of one group."),
        (
            "group.min.session.timeout.ms",
            6000,
            None,
            "Shortest session time-out that a member may request.",
        ),
        (
            "kafka.metrics.polling.interval.secs",
            10,
            _AT_LEAST_1,
            "(2.2) How often Yammer reporters of metrics run.",
        ),
        (
            "leader.imbalance.per.broker.percentage",
            10,
            None,
            "Percentage of a broker's leaderships on other replicas than the preferred; above it,"
            " they move back.",
        ),
        (
            "log.cleaner.io.buffer.size",
            524_288,
            _AT_LEAST_0,
            "Size of the read and write buffers of all cleaners together, in bytes.",
        ),
        ("log.cleaner.threads", 1, _AT_LEAST_0, "Number of logs that are compacted at a time."),
        (
            "log.flush.offset.checkpoint.interval.ms",
            60_000,
            _AT_LEAST_0,
            "How often the recovery points are written to disk.",
        ),
        (
            "log.flush.start.offset.checkpoint.interval.ms",
            60_000,
            _AT_LEAST_0,
            "How often the log start offsets are written to disk.",
        ),
        (
            "log.index.interval.bytes",
            _of_int("index.interval.bytes"),
            _AT_LEAST_0,
            "Bytes of records between two index entries.",
        ),
        (
            "log.index.size.max.bytes",
            _of_int("segment.index.bytes"),
            Range(4),
            "Size of an index file; a full one rolls the segment.",
        ),
        (
            "log.retention.hours",
            _of_int("retention.ms") // HOUR_MS,
            None,
            "How long segments are kept; log.retention.minutes and .ms take precedence.",
        ),
        (
            "log.retention.minutes",
            None,
            None,
            "How long segments are kept; log.retention.ms takes precedence.",
        ),
        (
            "log.roll.hours",
            _of_int("segment.ms") // HOUR_MS,
            _AT_LEAST_1,
            "A new segment begins when the current one has this age; log.roll.ms takes precedence.",
        ),
        (
            "log.roll.jitter.hours",
            0,
            _AT_LEAST_0,
            "Random part of log.roll.hours; log.roll.jitter.ms takes precedence.",
        ),
        (
            "log.segment.bytes",
            _of_int("segment.bytes"),
            Range(14),
            "Maximum size of a segment file.",
        ),
        (
            "max.connection.creation.rate",
            MAX_INT,
            _AT_LEAST_0,
            "(2.7) Maximum number of new connections in a second (KIP-612).",
        ),
        (
            "max.connections",
            MAX_INT,
            _AT_LEAST_0,
            "(2.4) Maximum number of connections of the broker.",
        ),
        (
            "max.connections.per.ip",
            MAX_INT,
            _AT_LEAST_0,
            "Maximum number of connections from one address.",
        ),
        (
            "max.incremental.fetch.session.cache.slots",
            1000,
            _AT_LEAST_0,
            "Number of fetch sessions that the broker remembers (KIP-227).",
        ),
        (
            "message.max.bytes",
            _of_int("max.message.bytes"),
            _AT_LEAST_0,
            "Maximum size of a record batch.",
        ),
        ("metrics.num.samples", 2, _AT_LEAST_1, "Number of samples for a metric."),
        (
            "min.insync.replicas",
            _of_int("min.insync.replicas"),
            _AT_LEAST_1,
            "Number of replicas that must be in sync for a write with acks=all.",
        ),
        (
            "num.io.threads",
            8,
            _AT_LEAST_1,
            "Number of request handlers, which is the maximum number of requests in progress.",
        ),
        ("num.network.threads", 3, _AT_LEAST_1, "Number of processors of each listener."),
        (
            "num.partitions",
            1,
            _AT_LEAST_1,
            "Number of partitions of a topic that is created automatically.",
        ),
        (
            "num.recovery.threads.per.data.dir",
            1,
            _AT_LEAST_1,
            "Number of workers for each log dir. They recover logs at the start and flush them at"
            " the end.",
        ),
        (
            "num.replica.alter.log.dirs.threads",
            None,
            None,
            "Number of moves between log dirs at a time; default: the number of log dirs.",
        ),
        (
            "num.replica.fetchers",
            1,
            None,
            "Number of fetchers for each leader that a broker follows.",
        ),
        (
            "offset.metadata.max.bytes",
            4096,
            None,
            "Maximum length of the text that may be committed with an offset.",
        ),
        (
            "offsets.commit.timeout.ms",
            5000,
            _AT_LEAST_1,
            "How long an offset commit waits for its replicas.",
        ),
        (
            "offsets.load.buffer.size",
            5_242_880,
            _AT_LEAST_1,
            "Bytes read at a time while offsets are loaded.",
        ),
        (
            "offsets.retention.minutes",
            10_080,
            _AT_LEAST_1,
            "How long the offsets of an empty group are kept.",
        ),
        (
            "offsets.topic.compression.codec",
            0,
            Range(0, 4),
            "Compression of __consumer_offsets: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
        ),
        (
            "offsets.topic.num.partitions",
            50,
            _AT_LEAST_1,
            "Number of partitions of __consumer_offsets.",
        ),
        (
            "offsets.topic.segment.bytes",
            104_857_600,
            _AT_LEAST_1,
            "Maximum size of a segment of __consumer_offsets.",
        ),
        (
            "password.encoder.iterations",
            4096,
            Range(1024),
            "Number of iterations for the key of stored passwords.",
        ),
        ("password.encoder.key.length", 128, Range(8), "Length of that key in bits."),
        ("port", BROKER_PORT, Range(0, 65535), "Old form of listeners: the port."),
        (
            "producer.purgatory.purge.interval.requests",
            1000,
            None,
            "Number of completed produces that may stay in watcher lists before they are purged.",
        ),
        (
            "queued.max.requests",
            500,
            _AT_LEAST_1,
            "Maximum length of the request queue. When it is full, processors stop reading.",
        ),
        ("quota.window.num", 11, _AT_LEAST_1, "Number of samples for client quotas."),
        ("quota.window.size.seconds", 1, _AT_LEAST_1, "Length of one such sample."),
        ("replica.fetch.backoff.ms", 1000, _AT_LEAST_0, "How long a fetcher waits after an error."),
        (
            "replica.fetch.max.bytes",
            1_048_576,
            _AT_LEAST_0,
            "Bytes that a follower requests for each partition.",
        ),
        ("replica.fetch.min.bytes", 1, None, "Bytes that a follower's fetch waits for."),
        (
            "replica.fetch.response.max.bytes",
            10_485_760,
            _AT_LEAST_0,
            "Bytes that a follower requests for one response.",
        ),
        (
            "replica.fetch.wait.max.ms",
            500,
            None,
            "How long a follower's fetch waits for replica.fetch.min.bytes.",
        ),
        (
            "replica.socket.receive.buffer.bytes",
            65_536,
            None,
            "Size of the receive buffer of a follower's socket.",
        ),
        ("replica.socket.timeout.ms", 30_000, None, "How long a follower waits for a response."),
        (
            "replication.quota.window.num",
            11,
            _AT_LEAST_1,
            "Number of samples for replication quotas.",
        ),
        ("replication.quota.window.size.seconds", 1, _AT_LEAST_1, "Length of one such sample."),
        (
            "request.timeout.ms",
            30_000,
            None,
            "How long the broker waits for the responses to its own requests.",
        ),
        (
            "reserved.broker.max.id",
            1000,
            _AT_LEAST_0,
            "Highest id that may be configured. Generated ids are above it.",
        ),
        (
            "sasl.server.max.receive.size",
            524_288,
            None,
            "(2.8) Maximum size of a request during SASL authentication.",
        ),
        (
            "socket.receive.buffer.bytes",
            102_400,
            None,
            "SO_RCVBUF of a socket; -1: the system's default.",
        ),
        (
            "socket.request.max.bytes",
            104_857_600,
            _AT_LEAST_1,
            "Maximum size of a request. A longer one closes its connection.",
        ),
        (
            "socket.send.buffer.bytes",
            102_400,
            None,
            "SO_SNDBUF of a socket; -1: the system's default.",
        ),
        (
            "transaction.abort.timed.out.transaction.cleanup.interval.ms",
            60_000,
            _AT_LEAST_1,
            "How often overdue transactions are aborted.",
        ),
        (
            "transaction.max.timeout.ms",
            900_000,
            _AT_LEAST_1,
            "Longest transaction time-out that a producer may request.",
        ),
        (
            "transaction.remove.expired.transaction.cleanup.interval.ms",
            3_600_000,
            _AT_LEAST_1,
            "How often expired transactional ids are removed.",
        ),
        (
            "transaction.state.log.load.buffer.size",
            5_242_880,
            _AT_LEAST_1,
            "Bytes read at a time while transactions are loaded.",
        ),
        (
            "transaction.state.log.min.isr",
            2,
            _AT_LEAST_1,
            "min.insync.replicas of __transaction_state.",
        ),
        (
            "transaction.state.log.num.partitions",
            50,
            _AT_LEAST_1,
            "Number of partitions of __transaction_state.",
        ),
        (
            "transaction.state.log.segment.bytes",
            104_857_600,
            _AT_LEAST_1,
            "Maximum size of a segment of __transaction_state.",
        ),
        (
            "transactional.id.expiration.ms",
            604_800_000,
            _AT_LEAST_1,
            "How long an unused transactional id is remembered.",
        ),
        (
            "zookeeper.connection.timeout.ms",
            None,
            None,
            "How long to wait for ZooKeeper; default: zookeeper.session.timeout.ms.",
        ),
        (
            "zookeeper.max.in.flight.requests",
            1000,
            _AT_LEAST_1,
            "Number of requests to ZooKeeper that may wait for responses; 10 in Kafka.",
        ),
        (
            "zookeeper.session.timeout.ms",
            6000,
            None,
            "A broker that sends nothing to ZooKeeper for this time counts as dead.",
        ),
        ("zookeeper.sync.time.ms", 2000, None, "Not used, not even by Kafka."),
    ):
        yield ConfigKey(name, ConfigType.INT, default, validator, doc)


def _shorts() -> Iterator[ConfigKey]:
    for name, default, validator, doc in (
        (
            "offsets.commit.required.acks",
            -1,
            None,
            "The acks with which the broker writes committed offsets.",
        ),
        (
            "offsets.topic.replication.factor",
            3,
            _AT_LEAST_1,
            "Number of replicas of __consumer_offsets.",
        ),
        (
            "sasl.login.refresh.buffer.seconds",
            300,
            None,
            "Minimum time between the refresh of a login and its expiry.",
        ),
        (
            "sasl.login.refresh.min.period.seconds",
            60,
            None,
            "Shortest time from one refresh of a login to the next.",
        ),
        (
            "transaction.state.log.replication.factor",
            3,
            _AT_LEAST_1,
            "Number of replicas of __transaction_state.",
        ),
    ):
        yield ConfigKey(name, ConfigType.SHORT, default, validator, doc)


def _longs() -> Iterator[ConfigKey]:
    for name, default, validator, doc in (
        (
            "connections.max.idle.ms",
            600_000,
            None,
            "A connection without traffic is closed after this time.",
        ),
        (
            "connections.max.reauth.ms",
            0,
            None,
            "(2.2) A SASL session must authenticate again after this time.",
        ),
        (
            "controlled.shutdown.retry.backoff.ms",
            5000,
            None,
            "Pause between two attempts of a controlled shutdown.",
        ),
        (
            "delegation.token.expiry.check.interval.ms",
            3_600_000,
            _AT_LEAST_1,
            "How often expired tokens are removed.",
        ),
        (
            "delegation.token.expiry.time.ms",
            86_400_000,
            _AT_LEAST_1,
            "How long a token is valid before it must be renewed.",
        ),
        (
            "delegation.token.max.lifetime.ms",
            604_800_000,
            _AT_LEAST_1,
            "How long a token can be renewed.",
        ),
        (
            "leader.imbalance.check.interval.seconds",
            300,
            None,
            "How often the controller checks whether leaders are preferred replicas.",
        ),
        (
            "log.cleaner.backoff.ms",
            15_000,
            _AT_LEAST_0,
            "Pause of a cleaner that has found no work.",
        ),
        (
            "log.cleaner.dedupe.buffer.size",
            134_217_728,
            None,
            "Size of the offset maps of all cleaners together, in bytes.",
        ),
        (
            "log.cleaner.delete.retention.ms",
            _of_int("delete.retention.ms"),
            None,
            "How long a compacted topic keeps tombstones.",
        ),
        (
            "log.cleaner.max.compaction.lag.ms",
            _of_int("max.compaction.lag.ms"),
            None,
            "(2.3) A record is compacted at this age at the latest.",
        ),
        (
            "log.cleaner.min.compaction.lag.ms",
            _of_int("min.compaction.lag.ms"),
            None,
            "A record is not compacted before this age.",
        ),
        (
            "log.flush.interval.messages",
            _of_int("flush.messages"),
            _AT_LEAST_1,
            "Flush a log to disk after this number of records.",
        ),
        (
            "log.flush.interval.ms",
            None,
            None,
            "Flush a log to disk after this time; default: log.flush.scheduler.interval.ms.",
        ),
        (
            "log.flush.scheduler.interval.ms",
            MAX_LONG,
            None,
            "How often the broker checks for logs to flush.",
        ),
        (
            "log.message.timestamp.difference.max.ms",
            _of_int("message.timestamp.difference.max.ms"),
            None,
            "How far a record's timestamp may be from the broker's clock.",
        ),
        (
            "log.retention.bytes",
            _of_int("retention.bytes"),
            None,
            "Number of bytes that a partition keeps; -1: no limit.",
        ),
        (
            "log.retention.check.interval.ms",
            300_000,
            _AT_LEAST_1,
            "How often the broker checks for segments to delete.",
        ),
        ("log.retention.ms", None, None, "How long segments are kept; -1: for ever."),
        ("log.roll.jitter.ms", None, None, "Random part of log.roll.ms."),
        ("log.roll.ms", None, None, "A new segment begins when the current one has this age."),
        (
            "log.segment.delete.delay.ms",
            _of_int("file.delete.delay.ms"),
            _AT_LEAST_0,
            "How long a deleted segment's file is kept under the name .deleted.",
        ),
        ("metrics.sample.window.ms", 30_000, _AT_LEAST_1, "Length of a metric's sample."),
        (
            "offsets.retention.check.interval.ms",
            600_000,
            _AT_LEAST_1,
            "How often expired offsets are removed.",
        ),
        (
            "queued.max.request.bytes",
            QUEUED_MAX_REQUEST_BYTES,
            None,
            "Maximum number of bytes in queued requests; -1: no limit. One request may exceed it.",
        ),
        (
            "quota.consumer.default",
            MAX_LONG,
            _AT_LEAST_1,
            "Bytes a second for a consumer (old; now a dynamic config).",
        ),
        (
            "quota.producer.default",
            MAX_LONG,
            _AT_LEAST_1,
            "Bytes a second for a producer (old; now a dynamic config).",
        ),
        (
            "replica.high.watermark.checkpoint.interval.ms",
            5000,
            None,
            "How often high watermarks are written to disk.",
        ),
        (
            "replica.lag.time.max.ms",
            10_000,
            None,
            "A follower that has not caught up for this time leaves the ISR.",
        ),
        ("sasl.kerberos.min.time.before.relogin", 60_000, None, "Kerberos is not served."),
        (
            "socket.connection.setup.timeout.max.ms",
            30_000,
            None,
            "(2.7) Maximum time to set up a connection to another broker, after failures.",
        ),
        (
            "socket.connection.setup.timeout.ms",
            10_000,
            None,
            "(2.7) Time to set up a connection to another broker, before the first failure.",
        ),
    ):
        yield ConfigKey(name, ConfigType.LONG, default, validator, doc)


def _doubles() -> Iterator[ConfigKey]:
    for name, default, doc in (
        ("log.cleaner.io.buffer.load.factor", 0.9, "How full an offset map may get."),
        (
            "log.cleaner.io.max.bytes.per.second",
            sys.float_info.max,
            "Maximum rate of all cleaners' reads and writes together, in bytes a second.",
        ),
        (
            "log.cleaner.min.cleanable.ratio",
            _TOPIC_DEFAULTS.get_float("min.cleanable.dirty.ratio"),
            "A log is compacted when at least this share of it is dirty.",
        ),
        ("sasl.kerberos.ticket.renew.jitter", 0.05, "Kerberos is not served."),
        ("sasl.kerberos.ticket.renew.window.factor", 0.8, "Kerberos is not served."),
        (
            "sasl.login.refresh.window.factor",
            0.8,
            "A login is refreshed after this share of its lifetime.",
        ),
        (
            "sasl.login.refresh.window.jitter",
            0.05,
            "Random part of sasl.login.refresh.window.factor.",
        ),
    ):
        yield ConfigKey(name, ConfigType.DOUBLE, default, None, doc)


def _lists() -> Iterator[ConfigKey]:
    no_check: Validator | None = None
    for name, default, validator, doc in (
        (
            "log.cleanup.policy",
            _TOPIC_DEFAULTS.get_list("cleanup.policy"),
            ListOf(("compact", "delete"), empty=True),
            "Whether old segments are deleted, compacted, or both.",
        ),
        ("kafka.metrics.reporters", (), no_check, "Java classes of Yammer reporters; not used."),
        ("metric.reporters", (), no_check, "Java classes; not used."),
        ("sasl.enabled.mechanisms", ("GSSAPI",), no_check, "SASL mechanisms offered to clients."),
        (
            "sasl.kerberos.principal.to.local.rules",
            ("DEFAULT",),
            no_check,
            "Kerberos is not served.",
        ),
        ("ssl.cipher.suites", (), no_check, "TLS cipher suites; empty: the library's."),
        ("ssl.enabled.protocols", ("TLSv1.2", "TLSv1.1", "TLSv1"), no_check, "TLS versions."),
        ("zookeeper.ssl.cipher.suites", None, no_check, "(2.5) TLS cipher suites to ZooKeeper."),
        ("zookeeper.ssl.enabled.protocols", None, no_check, "(2.5) TLS versions to ZooKeeper."),
    ):
        yield ConfigKey(name, ConfigType.LIST, default, validator, doc)


def _passwords() -> Iterator[ConfigKey]:
    for name, doc in (
        (
            "delegation.token.master.key",
            "Signs delegation tokens; the old name of delegation.token.secret.key.",
        ),
        ("delegation.token.secret.key", "(2.8) Signs delegation tokens."),
        (
            "password.encoder.old.secret",
            "The secret that encoded stored passwords before password.encoder.secret changed.",
        ),
        ("password.encoder.secret", "Encodes passwords that are stored in ZooKeeper."),
        ("sasl.jaas.config", "Login of the broker itself."),
        ("ssl.key.password", "Password of the private key."),
        ("ssl.keystore.certificate.chain", "(2.7) The certificates themselves, as PEM."),
        ("ssl.keystore.key", "(2.7) The private key itself, as PEM."),
        ("ssl.keystore.password", "Password of the key store."),
        ("ssl.truststore.certificates", "(2.7) The trusted certificates themselves, as PEM."),
        ("ssl.truststore.password", "Password of the trust store."),
        ("zookeeper.ssl.keystore.password", "(2.5) Password of the key store for ZooKeeper."),
        ("zookeeper.ssl.truststore.password", "(2.5) Password of the trust store for ZooKeeper."),
    ):
        yield ConfigKey(name, ConfigType.PASSWORD, None, None, doc)


def _strings() -> Iterator[ConfigKey]:
    protocols = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
    for name, default, validator, doc in (
        (
            "advertised.host.name",
            None,
            None,
            "Old form of advertised.listeners: the host that clients connect to.",
        ),
        (
            "advertised.listeners",
            None,
            None,
            "The addresses that clients and other brokers connect to; default: listeners.",
        ),
        ("authorizer.class.name", "", None, "A Java class in Kafka."),
        ("broker.rack", None, None, "The rack of this broker; replicas are spread over racks."),
        (
            "compression.type",
            _of_text("compression.type"),
            OneOf(("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")),
            "Compression of the log; producer: keep the producer's.",
        ),
        (
            "control.plane.listener.name",
            None,
            None,
            (
                "(2.2) The listener for the controller's requests, separate from the data. It"
                " must not be the listener between brokers."
            ),
        ),
        (
            "host.name",
            LOOPBACK,
            None,
            (
                "Old form of listeners: the host. Kafka's default is all interfaces; ours is the"
                " loopback address."
            ),
        ),
        (
            "inter.broker.listener.name",
            None,
            None,
            "The listener that brokers use among themselves.",
        ),
        (
            "inter.broker.protocol.version",
            "2.8",
            ProtocolVersion(),
            "The release whose protocol brokers use among themselves. The default of Kafka 2.0 is"
            " 2.0-IV1.",
        ),
        (
            "listener.security.protocol.map",
            protocols,
            None,
            "Listener names and their security protocols.",
        ),
        (
            "listeners",
            None,
            None,
            (
                "The addresses to listen on, as in"
                " PLAINTEXT://127.0.0.1:9092,OTHER://127.0.0.1:0; default: host.name and port."
            ),
        ),
        ("log.dir", "/tmp/kafka-logs", None, "One log dir, if log.dirs is not set."),
        ("log.dirs", None, None, "Folders of the logs, separated by commas."),
        (
            "log.message.format.version",
            _of_text("message.format.version"),
            ProtocolVersion(),
            "The release whose message format is used in the log.",
        ),
        (
            "log.message.timestamp.type",
            _of_text("message.timestamp.type"),
            OneOf(("CreateTime", "LogAppendTime")),
            "The clock that sets a record's timestamp: the producer's or the broker's.",
        ),
        ("metrics.recording.level", "INFO", None, "INFO or DEBUG; not used."),
        (
            "password.encoder.cipher.algorithm",
            "AES/CBC/PKCS5Padding",
            None,
            "Cipher for stored passwords.",
        ),
        (
            "password.encoder.keyfactory.algorithm",
            None,
            None,
            "Key derivation for stored passwords.",
        ),
        (
            "replica.selector.class",
            None,
            KnownSelector(),
            "(2.4) The class that chooses which replica a consumer reads from (KIP-392); not set:"
            " the leader.",
        ),
        ("sasl.kerberos.kinit.cmd", "/usr/bin/kinit", None, "Kerberos is not served."),
        ("sasl.kerberos.service.name", None, None, "Kerberos is not served."),
        ("sasl.mechanism.inter.broker.protocol", "GSSAPI", None, "SASL mechanism between brokers."),
        (
            "security.inter.broker.protocol",
            "PLAINTEXT",
            None,
            "Security protocol between brokers, if no listener is named.",
        ),
        ("security.providers", None, None, "(2.4) Java classes of security providers."),
        (
            "ssl.client.auth",
            "none",
            OneOf(("required", "requested", "none")),
            "Whether clients must show a certificate.",
        ),
        (
            "ssl.endpoint.identification.algorithm",
            "https",
            None,
            "Whether host names of certificates are checked; empty: no.",
        ),
        ("ssl.keymanager.algorithm", "SunX509", None, "Java's; not used."),
        ("ssl.keystore.location", None, None, "File with key and certificate."),
        ("ssl.keystore.type", "JKS", None, "Format of it."),
        (
            "ssl.principal.mapping.rules",
            "DEFAULT",
            None,
            "(2.4) How the name in a certificate becomes a user's name.",
        ),
        ("ssl.protocol", "TLS", None, "Java's; not used."),
        ("ssl.provider", None, None, "Java's; not used."),
        ("ssl.secure.random.implementation", None, None, "Java's; not used."),
        ("ssl.trustmanager.algorithm", "PKIX", None, "Java's; not used."),
        ("ssl.truststore.location", None, None, "File with trusted certificates."),
        ("ssl.truststore.type", "JKS", None, "Format of it."),
        (
            "zookeeper.clientCnxnSocket",
            None,
            None,
            "(2.5) A Java class: the socket to ZooKeeper, Netty's for TLS.",
        ),
        (
            "zookeeper.ssl.endpoint.identification.algorithm",
            "HTTPS",
            None,
            "(2.5) Whether host names of ZooKeeper's certificates are checked.",
        ),
        (
            "zookeeper.ssl.keystore.location",
            None,
            None,
            "(2.5) File with key and certificate for ZooKeeper.",
        ),
        ("zookeeper.ssl.keystore.type", None, None, "(2.5) Format of it."),
        ("zookeeper.ssl.protocol", "TLSv1.2", None, "(2.5) TLS version to ZooKeeper."),
        (
            "zookeeper.ssl.truststore.location",
            None,
            None,
            "(2.5) File with the certificates that are trusted for ZooKeeper.",
        ),
        ("zookeeper.ssl.truststore.type", None, None, "(2.5) Format of it."),
    ):
        yield ConfigKey(name, ConfigType.STRING, default, validator, doc)
    yield ConfigKey(
        "zookeeper.connect",
        ConfigType.STRING,
        REQUIRED,
        None,
        "ZooKeeper's servers, as in 127.0.0.1:2181,127.0.0.1:2182/chroot.",
    )
    yield ConfigKey(
        "max.connections.per.ip.overrides",
        ConfigType.STRING,
        "",
        None,
        "Other limits for single addresses, as in 127.0.0.1:200.",
    )


def _classes() -> Iterator[ConfigKey]:
    for name in (
        "alter.config.policy.class.name",
        "client.quota.callback.class",
        "create.topic.policy.class.name",
        "principal.builder.class",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.server.callback.handler.class",
        "ssl.engine.factory.class",
    ):
        yield ConfigKey(name, ConfigType.CLASS, None, None, "A Java class; not used.")


def _own() -> Iterator[ConfigKey]:
    text = ConfigType.STRING
    yield ConfigKey(
        "edu.api.level",
        text,
        "2.8",
        OneOf(("2.0", "2.8")),
        "The Kafka release whose API versions the broker advertises and serves.",
    )
    yield ConfigKey(
        "edu.events.file",
        text,
        None,
        None,
        "The file in which the broker writes the address of its events: host, port, token, pid"
        " (mode 0600).",
    )
    yield ConfigKey(
        "edu.record.file", text, None, None, "The file in which the broker records its events."
    )
    yield ConfigKey(
        "edu.record.level",
        text,
        "state",
        OneOf(("state", "hops", "all")),
        "Which events are recorded.",
    )
    yield ConfigKey(
        "edu.record.gauges",
        ConfigType.BOOLEAN,
        True,
        None,
        "Whether the recording has the gauges, which the broker samples ten times a second. An idle"
        " broker writes 30 KB of them a second. Without them a recording can run for days.",
    )
    yield ConfigKey(
        "edu.record.hops.per.second",
        ConfigType.INT,
        7_000,
        _AT_LEAST_0,
        "The most hops a second that are recorded, which are those of about 700 requests. A"
        " busier broker leaves hops out for parts of each second, and the recording says so. 0: no"
        " limit.",
    )
    yield ConfigKey(
        "edu.trace.ring.minutes",
        ConfigType.INT,
        DEFAULT_MINUTES,
        _AT_LEAST_0,
        "The broker keeps the events of this many minutes in memory, so that one can look back"
        " after a surprise. 0: it keeps none. Needs edu.events.file.",
    )
    yield ConfigKey(
        "edu.trace.ring.bytes",
        ConfigType.LONG,
        DEFAULT_BYTES,
        _AT_LEAST_0,
        "The most memory for these facts, which are kept compressed. If there are more facts than"
        " fit, the broker keeps a shorter time. 0: it keeps none.",
    )
    yield ConfigKey(
        "edu.capture.clients",
        ConfigType.LIST,
        (),
        None,
        "The client ids whose requests and responses the broker writes to edu.capture.file, for the"
        " wire microscope. A name that ends with * stands for all that begin so; one that begins"
        " with - is left out. Secrets are hidden.",
    )
    yield ConfigKey(
        "edu.capture.file",
        text,
        None,
        None,
        "The file of captured frames. Without it nothing is captured. Only server.properties can"
        " set it, because the broker writes there.",
    )
    yield ConfigKey(
        "edu.capture.max.bytes",
        ConfigType.LONG,
        16 * 1024 * 1024,
        Range(1024 * 1024),
        "How much edu.capture.file and its predecessor FILE.1 may hold together.",
    )
    yield ConfigKey(
        "edu.log.dir.quota.bytes",
        ConfigType.LONG,
        -1,
        Range(-1),
        "The most bytes that the segments in one log dir may have together. A write beyond that"
        " fails as on a full disk, and the dir goes offline. So one can practise with a full disk"
        " and needs none. -1: no limit.",
    )
    yield ConfigKey(
        "edu.max.pipelined.requests",
        ConfigType.INT,
        64,
        Range(1, 1000),
        "How many produce requests of one connection may wait for their followers at once. 1: one"
        " at a time, as in Kafka.",
    )
    yield ConfigKey(
        "edu.learner",
        text,
        None,
        None,
        "A learner's code that replaces ours at chosen seams (kafka_edu.learner.seams).",
    )


def _all_keys() -> Iterator[ConfigKey]:
    for family in (
        _strings,
        _classes,
        _ints,
        _shorts,
        _longs,
        _doubles,
        _booleans,
        _lists,
        _passwords,
        _own,
    ):
        for key in family():
            yield key._replace(gap=BROKER_GAPS.get(key.name))


CONFIG_DEF: Final = ConfigDef(sorted(_all_keys()))
"""All keys of server.properties, sorted by name."""
