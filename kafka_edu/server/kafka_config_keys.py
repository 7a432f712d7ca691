"""Every key of server.properties that Kafka 2.0 knows: name, type, default, allowed values, and
effect (Kafka: KafkaConfig.scala; spec A2).

The defaults are those of 2.0.1, read from it. Some of ours differ, and their lines say so:

    listeners, host.name                the loopback address instead of all interfaces, so that
                                        nothing outside this machine can connect
    inter.broker.protocol.version       2.8, because the wire protocol is that of 2.8
    zookeeper.max.in.flight.requests    1000 instead of 10, because that is faster here

A mark like (2.4) names the release that added the key. Keys that start with `edu.` are this
project's own. `kafka_edu.server.config_gaps` lists the keys without effect, and the values that
refuse the start.
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
from kafka_edu.server.config_gaps import BROKER_GAPS

_AT_LEAST_0: Final = Range(0)
_AT_LEAST_1: Final = Range(1)
_TOPIC_DEFAULTS: Final = TOPIC_CONFIG.parse({})
#: Topics have a table of their own. The broker's key for the same setting takes its default from
#: there.
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
            "The controller gives leadership back to preferred replicas, from time to time.",
        ),
        (
            "broker.id.generation.enable",
            True,
            "A broker without broker.id gets one from ZooKeeper, above reserved.broker.max.id.",
        ),
        (
            "controlled.shutdown.enable",
            True,
            "A broker that stops has the controller move its leaders away first.",
        ),
        ("delete.topic.enable", True, "Topics may be deleted."),
        ("log.cleaner.enable", True, "Compact topics whose cleanup.policy says so."),
        (
            "log.message.downconversion.enable",
            _of_bool("message.downconversion.enable"),
            "Convert records for consumers that know old message formats only.",
        ),
        (
            "log.preallocate",
            _of_bool("preallocate"),
            "Give a new segment its full size on disk at once.",
        ),
        (
            "unclean.leader.election.enable",
            _of_bool("unclean.leader.election.enable"),
            "A replica out of sync may become leader when no other is left: records may be lost.",
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
            "(2.5) Ask online whether ZooKeeper's certificates are revoked.",
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
            "Old form of advertised.listeners: the port clients are told.",
        ),
        (
            "alter.log.dirs.replication.quota.window.num",
            11,
            _AT_LEAST_1,
            "Samples kept for the quota of moves between log dirs.",
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
            "Workers for blocking background work: flush, deletion, recovery.",
        ),
        ("broker.id", -1, Range(-1), "This broker's id in the cluster; -1: stored or generated."),
        (
            "connection.failed.authentication.delay.ms",
            100,
            _AT_LEAST_0,
            "(2.1) How long a failed authentication keeps its connection.",
        ),
        ("controlled.shutdown.max.retries", 3, None, "How often a controlled shutdown is tried."),
        (
            "controller.socket.timeout.ms",
            30_000,
            None,
            "How long the controller, and a controlled shutdown, wait for an answer.",
        ),
        (
            "controller.quota.window.num",
            11,
            _AT_LEAST_1,
            "(2.7) Samples kept for the quota of topic changes.",
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
            "Replicas of a topic that is created automatically.",
        ),
        (
            "delete.records.purgatory.purge.interval.requests",
            1,
            None,
            "Completed DeleteRecords that may stay in watcher lists.",
        ),
        (
            "fetch.max.bytes",
            57_671_680,
            Range(1024),
            "(2.5) Most bytes in one fetch response, whatever the client asks for.",
        ),
        (
            "fetch.purgatory.purge.interval.requests",
            1000,
            None,
            "Completed fetches that may stay in watcher lists before they are purged.",
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
            "Longest session time-out a member may ask for.",
        ),
        ("group.max.size", MAX_INT, _AT_LEAST_1, "(2.2) Most members of one group."),
        (
            "group.min.session.timeout.ms",
            6000,
            None,
            "Shortest session time-out a member may ask for.",
        ),
        (
            "kafka.metrics.polling.interval.secs",
            10,
            _AT_LEAST_1,
            "(2.2) How often Yammer reporters of metrics are served.",
        ),
        (
            "leader.imbalance.per.broker.percentage",
            10,
            None,
            "From this share of misplaced leaders on, a broker is rebalanced.",
        ),
        (
            "log.cleaner.io.buffer.size",
            524_288,
            _AT_LEAST_0,
            "Read and write buffers of all cleaners together.",
        ),
        ("log.cleaner.threads", 1, _AT_LEAST_0, "How many logs are compacted at a time."),
        (
            "log.flush.offset.checkpoint.interval.ms",
            60_000,
            _AT_LEAST_0,
            "How often the recovery points are written down.",
        ),
        (
            "log.flush.start.offset.checkpoint.interval.ms",
            60_000,
            _AT_LEAST_0,
            "How often the log start offsets are written down.",
        ),
        (
            "log.index.interval.bytes",
            _of_int("index.interval.bytes"),
            _AT_LEAST_0,
            "Bytes of records from one index entry to the next.",
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
            "How long segments are kept; log.retention.minutes and .ms go before it.",
        ),
        (
            "log.retention.minutes",
            None,
            None,
            "How long segments are kept; log.retention.ms goes before it.",
        ),
        (
            "log.roll.hours",
            _of_int("segment.ms") // HOUR_MS,
            _AT_LEAST_1,
            "A segment is rolled at that age at the latest; log.roll.ms goes before it.",
        ),
        (
            "log.roll.jitter.hours",
            0,
            _AT_LEAST_0,
            "Random part of log.roll.hours; log.roll.jitter.ms goes before it.",
        ),
        ("log.segment.bytes", _of_int("segment.bytes"), Range(14), "Size of a segment file."),
        (
            "max.connection.creation.rate",
            MAX_INT,
            _AT_LEAST_0,
            "(2.7) Most new connections in a second (KIP-612).",
        ),
        ("max.connections", MAX_INT, _AT_LEAST_0, "(2.4) Most connections of the broker."),
        ("max.connections.per.ip", MAX_INT, _AT_LEAST_0, "Most connections from one address."),
        (
            "max.incremental.fetch.session.cache.slots",
            1000,
            _AT_LEAST_0,
            "Fetch sessions the broker remembers (KIP-227).",
        ),
        ("message.max.bytes", _of_int("max.message.bytes"), _AT_LEAST_0, "Largest record batch."),
        ("metrics.num.samples", 2, _AT_LEAST_1, "Samples kept for a metric."),
        (
            "min.insync.replicas",
            _of_int("min.insync.replicas"),
            _AT_LEAST_1,
            "Replicas that must be in sync for a write with acks=all.",
        ),
        (
            "num.io.threads",
            8,
            _AT_LEAST_1,
            "Request handlers: so many requests are worked on at a time.",
        ),
        ("num.network.threads", 3, _AT_LEAST_1, "Processors of each listener."),
        ("num.partitions", 1, _AT_LEAST_1, "Partitions of a topic that is created automatically."),
        (
            "num.recovery.threads.per.data.dir",
            1,
            _AT_LEAST_1,
            "Workers for each log dir that recover at start and flush at the end.",
        ),
        (
            "num.replica.alter.log.dirs.threads",
            None,
            None,
            "Moves between log dirs at a time; default: as many as log dirs.",
        ),
        ("num.replica.fetchers", 1, None, "Fetchers for each leader a broker follows."),
        (
            "offset.metadata.max.bytes",
            4096,
            None,
            "Longest text that may be committed with an offset.",
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
        ("offsets.topic.num.partitions", 50, _AT_LEAST_1, "Partitions of __consumer_offsets."),
        (
            "offsets.topic.segment.bytes",
            104_857_600,
            _AT_LEAST_1,
            "Segment size of __consumer_offsets.",
        ),
        (
            "password.encoder.iterations",
            4096,
            Range(1024),
            "Iterations that derive the key for stored passwords.",
        ),
        ("password.encoder.key.length", 128, Range(8), "Bits of that key."),
        ("port", BROKER_PORT, Range(0, 65535), "Old form of listeners: the port."),
        (
            "producer.purgatory.purge.interval.requests",
            1000,
            None,
            "Completed produces that may stay in watcher lists before they are purged.",
        ),
        (
            "queued.max.requests",
            500,
            _AT_LEAST_1,
            "Length of the request queue; when it is full, processors stop reading.",
        ),
        ("quota.window.num", 11, _AT_LEAST_1, "Samples kept for client quotas."),
        ("quota.window.size.seconds", 1, _AT_LEAST_1, "Length of one such sample."),
        ("replica.fetch.backoff.ms", 1000, _AT_LEAST_0, "How long a fetcher waits after an error."),
        (
            "replica.fetch.max.bytes",
            1_048_576,
            _AT_LEAST_0,
            "Bytes a follower asks for, for each partition.",
        ),
        ("replica.fetch.min.bytes", 1, None, "Bytes a follower's fetch waits for."),
        (
            "replica.fetch.response.max.bytes",
            10_485_760,
            _AT_LEAST_0,
            "Bytes a follower asks for in one response.",
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
            "Receive buffer of a follower's socket.",
        ),
        ("replica.socket.timeout.ms", 30_000, None, "How long a follower waits for an answer."),
        ("replication.quota.window.num", 11, _AT_LEAST_1, "Samples kept for replication quotas."),
        ("replication.quota.window.size.seconds", 1, _AT_LEAST_1, "Length of one such sample."),
        (
            "request.timeout.ms",
            30_000,
            None,
            "How long the broker, as a client of others, waits for an answer.",
        ),
        (
            "reserved.broker.max.id",
            1000,
            _AT_LEAST_0,
            "Highest id that may be configured; generated ones are above it.",
        ),
        (
            "sasl.server.max.receive.size",
            524_288,
            None,
            "(2.8) Largest request during SASL authentication.",
        ),
        ("socket.receive.buffer.bytes", 102_400, None, "SO_RCVBUF; -1: the system's."),
        (
            "socket.request.max.bytes",
            104_857_600,
            _AT_LEAST_1,
            "Largest request; a longer one costs its connection.",
        ),
        ("socket.send.buffer.bytes", 102_400, None, "SO_SNDBUF; -1: the system's."),
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
            "Longest transaction a producer may ask for.",
        ),
        (
            "transaction.remove.expired.transaction.cleanup.interval.ms",
            3_600_000,
            _AT_LEAST_1,
            "How often forgotten transactional ids are removed.",
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
            "Partitions of __transaction_state.",
        ),
        (
            "transaction.state.log.segment.bytes",
            104_857_600,
            _AT_LEAST_1,
            "Segment size of __transaction_state.",
        ),
        (
            "transactional.id.expiration.ms",
            604_800_000,
            _AT_LEAST_1,
            "How long a silent transactional id is remembered.",
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
            "Requests to ZooKeeper sent ahead of their answers; 10 in Kafka.",
        ),
        (
            "zookeeper.session.timeout.ms",
            6000,
            None,
            "A broker silent to ZooKeeper for that long is dead to the cluster.",
        ),
        ("zookeeper.sync.time.ms", 2000, None, "Not used, in Kafka neither."),
    ):
        yield ConfigKey(name, ConfigType.INT, default, validator, doc)


def _shorts() -> Iterator[ConfigKey]:
    for name, default, validator, doc in (
        (
            "offsets.commit.required.acks",
            -1,
            None,
            "acks of the broker's own writes of committed offsets.",
        ),
        ("offsets.topic.replication.factor", 3, _AT_LEAST_1, "Replicas of __consumer_offsets."),
        ("sasl.login.refresh.buffer.seconds", 300, None, "Reserve before a login expires."),
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
            "Replicas of __transaction_state.",
        ),
    ):
        yield ConfigKey(name, ConfigType.SHORT, default, validator, doc)


def _longs() -> Iterator[ConfigKey]:
    for name, default, validator, doc in (
        (
            "connections.max.idle.ms",
            600_000,
            None,
            "A connection that was silent for that long is closed.",
        ),
        (
            "connections.max.reauth.ms",
            0,
            None,
            "(2.2) A SASL session must authenticate again after that time.",
        ),
        (
            "controlled.shutdown.retry.backoff.ms",
            5000,
            None,
            "Pause from one try of a controlled shutdown to the next.",
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
            "How often the controller looks for misplaced leaders.",
        ),
        (
            "log.cleaner.backoff.ms",
            15_000,
            _AT_LEAST_0,
            "Pause of a cleaner that finds nothing to do.",
        ),
        (
            "log.cleaner.dedupe.buffer.size",
            134_217_728,
            None,
            "Bytes of offset maps, all cleaners together.",
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
            "(2.3) A record is compacted at that age at the latest.",
        ),
        (
            "log.cleaner.min.compaction.lag.ms",
            _of_int("min.compaction.lag.ms"),
            None,
            "A record is not compacted before that age.",
        ),
        (
            "log.flush.interval.messages",
            _of_int("flush.messages"),
            _AT_LEAST_1,
            "Flush a log to disk after so many records.",
        ),
        (
            "log.flush.interval.ms",
            None,
            None,
            "Flush a log to disk after that time; default: log.flush.scheduler.interval.ms.",
        ),
        (
            "log.flush.scheduler.interval.ms",
            MAX_LONG,
            None,
            "How often the broker looks for logs to flush.",
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
            "Bytes a partition keeps; -1: any number.",
        ),
        (
            "log.retention.check.interval.ms",
            300_000,
            _AT_LEAST_1,
            "How often the broker looks for segments to delete.",
        ),
        ("log.retention.ms", None, None, "How long segments are kept; -1: for ever."),
        ("log.roll.jitter.ms", None, None, "Random part of log.roll.ms."),
        ("log.roll.ms", None, None, "A segment is rolled at that age at the latest."),
        (
            "log.segment.delete.delay.ms",
            _of_int("file.delete.delay.ms"),
            _AT_LEAST_0,
            "How long a deleted segment's file lives on as .deleted.",
        ),
        ("metrics.sample.window.ms", 30_000, _AT_LEAST_1, "Length of a metric's sample."),
        (
            "offsets.retention.check.interval.ms",
            600_000,
            _AT_LEAST_1,
            "How often expired offsets are removed.",
        ),
        ("queued.max.request.bytes", -1, None, "Bytes of queued requests; -1: any number."),
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
            "How often high watermarks are written down.",
        ),
        (
            "replica.lag.time.max.ms",
            10_000,
            None,
            "A follower that has not caught up for that long leaves the ISR.",
        ),
        ("sasl.kerberos.min.time.before.relogin", 60_000, None, "Kerberos is not served."),
        (
            "socket.connection.setup.timeout.max.ms",
            30_000,
            None,
            "(2.7) Longest time for the set-up of a connection to another broker.",
        ),
        (
            "socket.connection.setup.timeout.ms",
            10_000,
            None,
            "(2.7) First time for the set-up of a connection to another broker.",
        ),
    ):
        yield ConfigKey(name, ConfigType.LONG, default, validator, doc)


def _doubles() -> Iterator[ConfigKey]:
    for name, default, doc in (
        ("log.cleaner.io.buffer.load.factor", 0.9, "How full an offset map may get."),
        (
            "log.cleaner.io.max.bytes.per.second",
            sys.float_info.max,
            "Cleaners' reads and writes together.",
        ),
        (
            "log.cleaner.min.cleanable.ratio",
            _TOPIC_DEFAULTS.get_float("min.cleanable.dirty.ratio"),
            "A log is compacted when its dirty part is at least that share.",
        ),
        ("sasl.kerberos.ticket.renew.jitter", 0.05, "Kerberos is not served."),
        ("sasl.kerberos.ticket.renew.window.factor", 0.8, "Kerberos is not served."),
        (
            "sasl.login.refresh.window.factor",
            0.8,
            "A login is refreshed after that share of its life.",
        ),
        ("sasl.login.refresh.window.jitter", 0.05, "Random part of it."),
    ):
        yield ConfigKey(name, ConfigType.DOUBLE, default, None, doc)


def _lists() -> Iterator[ConfigKey]:
    no_check: Validator | None = None
    for name, default, validator, doc in (
        (
            "log.cleanup.policy",
            _TOPIC_DEFAULTS.get_list("cleanup.policy"),
            ListOf(("compact", "delete"), empty=True),
            "What is done with old segments.",
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
            "The secret that stored passwords were encoded with before.",
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
            "Old form of advertised.listeners: the host clients are told.",
        ),
        (
            "advertised.listeners",
            None,
            None,
            "Where clients and brokers are told to connect; default: listeners.",
        ),
        ("authorizer.class.name", "", None, "A Java class in Kafka."),
        ("broker.rack", None, None, "Where this broker stands; replicas are spread over racks."),
        (
            "compression.type",
            _of_text("compression.type"),
            OneOf(("uncompressed", "gzip", "snappy", "lz4", "zstd", "producer")),
            "Compression of the log; producer: keep what was sent.",
        ),
        (
            "control.plane.listener.name",
            None,
            None,
            (
                "(2.2) The listener for what the controller sends, apart from the data; it must not"
                " be the one between brokers."
            ),
        ),
        (
            "host.name",
            LOOPBACK,
            None,
            (
                "Old form of listeners: the host. Kafka's default is every interface; ours is"
                " loopback."
            ),
        ),
        (
            "inter.broker.listener.name",
            None,
            None,
            "The listener by which brokers talk to each other.",
        ),
        (
            "inter.broker.protocol.version",
            "2.8",
            ProtocolVersion(),
            "What brokers say to each other. Kafka 2.0's default is 2.0-IV1.",
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
                "Where to listen, as in PLAINTEXT://127.0.0.1:9092,OTHER://127.0.0.1:0; default:"
                " host.name and port."
            ),
        ),
        ("log.dir", "/tmp/kafka-logs", None, "One log dir, if log.dirs is not set."),
        ("log.dirs", None, None, "Folders of the logs, separated by commas."),
        (
            "log.message.format.version",
            _of_text("message.format.version"),
            ProtocolVersion(),
            "The release whose message format the log is written in.",
        ),
        (
            "log.message.timestamp.type",
            _of_text("message.timestamp.type"),
            OneOf(("CreateTime", "LogAppendTime")),
            "Whose clock stamps the records.",
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
            None,
            "(2.4) Which replica a consumer reads from (KIP-392).",
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
            "(2.5) File with the certificates that ZooKeeper may show.",
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
        "Whose table of API versions the broker advertises and serves.",
    )
    yield ConfigKey(
        "edu.events.file",
        text,
        None,
        None,
        "Where the broker writes how to reach its events: host, port, token, pid (mode 0600).",
    )
    yield ConfigKey(
        "edu.record.file", text, None, None, "Record the broker's events into this file."
    )
    yield ConfigKey(
        "edu.record.level", text, "state", OneOf(("state", "hops", "all")), "How much of them."
    )
    yield ConfigKey(
        "edu.max.pipelined.requests",
        ConfigType.INT,
        1,
        Range(1, 1000),
        "How many produce requests of one connection may wait for their followers at once. 1: one"
        " at a time, as Kafka.",
    )
    yield ConfigKey(
        "edu.learner",
        text,
        None,
        None,
        "A learner's code in place of ours, seam by seam (kafka_edu.learner.seams).",
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
"""All keys, by name."""
