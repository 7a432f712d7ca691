"""Kafka's znodes: their paths and the JSON in them (Kafka: ZkData.scala; book 000 §6.4.1).

    /brokers/ids/<id>
        a live broker; ephemeral; its czxid is the broker's epoch (KIP-380)
    /brokers/seqid
        empty; its version counts the generated broker ids
    /brokers/topics/<topic>
        the replicas of each partition, the preferred leader first
    /brokers/topics/<topic>/partitions/<n>/state
        leader, leader epoch, ISR, and the epoch of the controller that wrote it last
    /controller
        the id of the controller; ephemeral, so that there is only one
    /controller_epoch
        counts the elections of a controller; the first controller has epoch 1
    /isr_change_notification/isr_change_<sequence>
        a leader changed an ISR; the controller reads the state and updates all brokers
    /log_dir_event_notification/log_dir_event_<sequence>
        a broker lost a log dir
    /config/{topics,clients,users,brokers}/<name>
        the overrides of one topic, client, user or broker
    /config/changes/config_change_<sequence>
        some overrides changed
    /admin/{delete_topics/<topic>, preferred_replica_election, reassign_partitions}
        requests to the controller
    /cluster/id
        the cluster's id, created once
    /latest_producer_id_block
        the thousand producer ids that were reserved last

The JSON is byte for byte the same as Kafka's. It has no spaces. If `inter.broker.protocol.version`
is 2.4 or later, the JSON members have the order of Kafka 2.8.2. Below 2.4 they have the order of
Kafka 2.0.1. Both orders are recorded in tests/golden/zk. Only the order of *partitions* differs
from Kafka: there it is the order of a Scala hash map, and here partitions are sorted by number.

Reading accepts the members in any order, and ignores unknown members. `decode` never raises an
exception, because people may write any data into a znode by hand. Data that is not Kafka's JSON is
decoded as None or as an empty value.
"""

import json
import uuid
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import Final, NamedTuple

from kafka_edu.cluster.broker import Broker, EndPoint
from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.cluster.topic_assignment import (
    ReplicaAssignment as ReplicaAssignment,
)  # other modules import these names from here
from kafka_edu.cluster.topic_assignment import TopicAssignment as TopicAssignment
from kafka_edu.common.topic_partition import TopicPartition

ProtocolVersion = tuple[int, int]
"""The value of inter.broker.protocol.version as a pair (major, minor), for example (2, 8)."""
REASSIGNMENT_IN_TOPIC: Final[ProtocolVersion] = (2, 4)
"""From this version on, a topic's znode lists the replicas that are being added and removed
(KIP-455).
"""
FEATURES: Final[ProtocolVersion] = (2, 7)
"""From this version on, a broker's znode lists the features that the broker supports, and the znode
/feature lists the features of the cluster (KIP-584).
"""
TOPIC_IDS: Final[ProtocolVersion] = (2, 8)
"""From this version on, each topic has an id, which is stored in its znode and sent in requests
(KIP-516).
"""
IP_CONFIGS: Final[ProtocolVersion] = (2, 8)
"""From this version on, the znode /config/ips exists (KIP-612)."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode_json(value: object) -> bytes:
    """Return `value` as the JSON that Kafka writes: UTF-8, without spaces, members in the given
    order.
    """
    return _JSON.encode(value).encode()


def decode_object(data: bytes) -> dict[str, Json]:
    """Return the JSON object in `data`, or an empty dict if `data` is not a JSON object."""
    try:
        value: Json = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def decode_number(text: str) -> int | None:
    """Parse a decimal number of at most 19 digits, the longest that Kafka's type long can have.
    Return None for any other text.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 19 else None


def _ints(value: Json) -> tuple[int, ...]:
    return tuple(v for v in value if isinstance(v, int)) if isinstance(value, list) else ()


def _objects(value: Json) -> list[dict[str, Json]]:
    return [v for v in value if isinstance(v, dict)] if isinstance(value, list) else []


def _partition_lists(value: Json) -> dict[int, tuple[int, ...]]:
    if not isinstance(value, dict):
        return {}
    numbered = [(decode_number(number), brokers) for number, brokers in value.items()]
    return {number: _ints(brokers) for number, brokers in numbered if number is not None}


def encode_uuid(value: uuid.UUID) -> str:
    """Return the UUID as 22 characters of URL-safe base64, like Kafka's Uuid.toString."""
    return urlsafe_b64encode(value.bytes).decode().rstrip("=")


def decode_uuid(text: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(bytes=urlsafe_b64decode(text + "=="))
    except ValueError:
        return None


def random_uuid(random: Random) -> uuid.UUID:
    """Return a new id for a topic or a cluster.

    The id's text never begins with `-`. Otherwise it would look like an option on a command line.
    """
    while encode_uuid(value := uuid.UUID(int=random.getrandbits(128), version=4)).startswith("-"):
        pass
    return value


class BrokerIdZNode:
    """The znode /brokers/ids/<id>. The JSON has version 4 up to protocol 2.6, and version 5 from
    2.7 on.
    """

    PARENT: Final = "/brokers/ids"

    @staticmethod
    def path(broker_id: int) -> str:
        return f"/brokers/ids/{broker_id}"

    @staticmethod
    def encode(
        broker: Broker, timestamp_ms: int, protocol: ProtocolVersion, jmx_port: int = -1
    ) -> bytes:
        plaintext = next((e for e in broker.end_points if e.security_protocol == "PLAINTEXT"), None)
        host, port = (plaintext.host, plaintext.port) if plaintext else (None, -1)
        fields: dict[str, object] = {"features": {}} if protocol >= FEATURES else {}
        fields["listener_security_protocol_map"] = {
            e.listener_name: e.security_protocol for e in broker.end_points
        }
        fields["endpoints"] = [str(e) for e in broker.end_points]
        if broker.rack is not None:
            fields["rack"] = broker.rack
        fields["jmx_port"] = jmx_port
        if protocol >= FEATURES:
            fields |= {"port": port, "host": host, "version": 5, "timestamp": str(timestamp_ms)}
        else:
            fields |= {"host": host, "timestamp": str(timestamp_ms), "port": port, "version": 4}
        return encode_json(fields)

    @staticmethod
    def decode(broker_id: int, data: bytes, epoch: int) -> Broker | None:
        """Return the broker in `data`. Versions 1 to 5 of the JSON are accepted. `epoch` is the
        broker's epoch.

        Version 1 has only `host` and `port`. Versions 2 and 3 do not contain the security protocol
        of a listener, so the listener's name is used as its protocol.
        """
        fields = decode_object(data)
        protocols = fields.get("listener_security_protocol_map")
        by_listener = protocols if isinstance(protocols, dict) else {}
        end_points = []
        listed = fields.get("endpoints")
        for text in listed if isinstance(listed, list) else []:
            listener, colon, address = str(text).partition("://")
            host, _, digits = address.rpartition(":")
            port = decode_number(digits)
            if colon and port is not None:
                end_points.append(
                    EndPoint(
                        host.strip("[]"), port, listener, str(by_listener.get(listener, listener))
                    )
                )
        plain_host, plain_port = fields.get("host"), fields.get("port")
        if not end_points and isinstance(plain_host, str) and isinstance(plain_port, int):
            end_points.append(EndPoint(plain_host, plain_port, "PLAINTEXT", "PLAINTEXT"))
        rack = fields.get("rack")
        return (
            Broker(broker_id, tuple(end_points), rack if isinstance(rack, str) else None, epoch)
            if end_points
            else None
        )


class BrokerSequenceIdZNode:
    """The znode /brokers/seqid. It has no data. Each write increments the znode's version, which
    gives the next generated broker id.
    """

    PATH: Final = "/brokers/seqid"


class TopicZNode:
    """The znode /brokers/topics/<topic>. The JSON has version 1 below protocol 2.4, and version 3
    from 2.4 on. From 2.8 on it contains the topic's id.
    """

    PARENT: Final = "/brokers/topics"

    @staticmethod
    def path(topic: str) -> str:
        return f"/brokers/topics/{topic}"

    @staticmethod
    def encode(assignment: TopicAssignment, protocol: ProtocolVersion) -> bytes:
        ordered = sorted(assignment.partitions.items())
        partitions = {str(n): list(a.replicas) for n, a in ordered}
        if protocol < REASSIGNMENT_IN_TOPIC:
            return encode_json({"version": 1, "partitions": partitions})
        fields: dict[str, object] = {"partitions": partitions}
        if assignment.topic_id is not None:
            fields["topic_id"] = encode_uuid(assignment.topic_id)
        fields["adding_replicas"] = {
            str(n): list(a.adding_replicas) for n, a in ordered if a.adding_replicas
        }
        fields["removing_replicas"] = {
            str(n): list(a.removing_replicas) for n, a in ordered if a.removing_replicas
        }
        fields["version"] = 3
        return encode_json(fields)

    @staticmethod
    def decode(data: bytes) -> TopicAssignment:
        fields = decode_object(data)
        adding, removing = (
            _partition_lists(fields.get("adding_replicas")),
            _partition_lists(fields.get("removing_replicas")),
        )
        topic_id = fields.get("topic_id")
        return TopicAssignment(
            decode_uuid(topic_id) if isinstance(topic_id, str) else None,
            {
                number: ReplicaAssignment(
                    replicas, adding.get(number, ()), removing.get(number, ())
                )
                for number, replicas in sorted(_partition_lists(fields.get("partitions")).items())
            },
        )


class TopicPartitionStateZNode:
    """The znode /brokers/topics/<topic>/partitions/<n>/state. It is changed only by compare-and-set
    on its version.
    """

    @staticmethod
    def partitions_path(topic: str) -> str:
        return f"/brokers/topics/{topic}/partitions"

    @staticmethod
    def partition_path(tp: TopicPartition) -> str:
        return f"/brokers/topics/{tp.topic}/partitions/{tp.partition}"

    @staticmethod
    def path(tp: TopicPartition) -> str:
        return f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"

    @staticmethod
    def partition_of(path: str) -> TopicPartition | None:
        """Return the partition whose state znode has this path. Return None for any other path."""
        match path.split("/"):
            case [
                "",
                "brokers",
                "topics",
                topic,
                "partitions",
                number,
                "state",
            ] if number.isdecimal():
                return TopicPartition(topic, int(number))
        return None

    @staticmethod
    def encode(state: LeaderIsrAndControllerEpoch) -> bytes:
        leader_and_isr, controller_epoch = state
        return encode_json(
            {
                "controller_epoch": controller_epoch,
                "leader": leader_and_isr.leader,
                "version": 1,
                "leader_epoch": leader_and_isr.leader_epoch,
                "isr": leader_and_isr.isr,
            }
        )

    @staticmethod
    def decode(data: bytes, zk_version: int) -> LeaderIsrAndControllerEpoch | None:
        fields = decode_object(data)
        leader, epoch, isr, controller_epoch = (
            fields.get(name) for name in ("leader", "leader_epoch", "isr", "controller_epoch")
        )
        if not (
            isinstance(leader, int)
            and isinstance(epoch, int)
            and isinstance(isr, list)
            and isinstance(controller_epoch, int)
        ):
            return None
        return LeaderIsrAndControllerEpoch(
            LeaderAndIsr(leader, epoch, _ints(isr), zk_version), controller_epoch
        )


class ControllerZNode:
    """The znode /controller. Example: `{"version":1,"brokerid":0,"timestamp":"1529210278988"}`."""

    PATH: Final = "/controller"

    @staticmethod
    def encode(broker_id: int, timestamp_ms: int) -> bytes:
        return encode_json({"version": 1, "brokerid": broker_id, "timestamp": str(timestamp_ms)})

    @staticmethod
    def decode(data: bytes) -> int | None:
        broker_id = decode_object(data).get("brokerid")
        return broker_id if isinstance(broker_id, int) else None


class ControllerEpochZNode:
    """The znode /controller_epoch. Its data is a decimal number, not JSON.

    Each write of the controller checks this znode's version (`CheckOp` in a multi). So the writes
    of a replaced controller fail.
    """

    PATH: Final = "/controller_epoch"
    INITIAL: Final = 0

    @staticmethod
    def encode(epoch: int) -> bytes:
        return str(epoch).encode()

    @staticmethod
    def decode(data: bytes) -> int | None:
        return decode_number(data.decode("ascii", "replace"))


class _PartitionListZNode:
    """A znode whose data is a list of partitions, sorted by topic and number.

    Example: `{"version":1,"partitions":[{"topic":"web","partition":0}]}`.
    """

    @staticmethod
    def encode(partitions: Iterable[TopicPartition]) -> bytes:
        return encode_json(
            {
                "version": 1,
                "partitions": [{"topic": t, "partition": p} for t, p in sorted(partitions)],
            }
        )

    @staticmethod
    def decode(data: bytes) -> list[TopicPartition]:
        listed = [
            (o.get("topic"), o.get("partition"))
            for o in _objects(decode_object(data).get("partitions"))
        ]
        return sorted(
            {TopicPartition(t, p) for t, p in listed if isinstance(t, str) and isinstance(p, int)}
        )


class IsrChangeNotificationZNode(_PartitionListZNode):
    """The znodes /isr_change_notification/isr_change_0000000000 and so on. They are persistent and
    sequential.

    The controller deletes each notification after reading it.
    """

    PARENT: Final = "/isr_change_notification"
    PREFIX: Final = "isr_change_"

    @staticmethod
    def path(sequence: str = "") -> str:
        return f"/isr_change_notification/isr_change_{sequence}"


class LogDirEventNotificationZNode:
    """The znodes /log_dir_event_notification/log_dir_event_… The only event number is 1,
    LogDirFailure.
    """

    PARENT: Final = "/log_dir_event_notification"
    PREFIX: Final = "log_dir_event_"

    @staticmethod
    def path(sequence: str = "") -> str:
        return f"/log_dir_event_notification/log_dir_event_{sequence}"

    @staticmethod
    def encode(broker_id: int) -> bytes:
        return encode_json({"version": 1, "broker": broker_id, "event": 1})

    @staticmethod
    def decode(data: bytes) -> int | None:
        broker_id = decode_object(data).get("broker")
        return broker_id if isinstance(broker_id, int) else None


class ConsumerOffsetZNode:
    """The znode /consumers/<group>/offsets/<topic>/<partition>. Its data is an offset as text, for
    example `42`.

    Old consumers stored their offsets in ZooKeeper, before brokers stored offsets (OffsetCommit
    v0).
    """

    @staticmethod
    def path(group: str, tp: TopicPartition) -> str:
        return f"/consumers/{group}/offsets/{tp.topic}/{tp.partition}"

    @staticmethod
    def encode(offset: int) -> bytes:
        return str(offset).encode()

    @staticmethod
    def decode(data: bytes) -> int | None:
        """Return the offset in `data`, or None if `data` is not a number."""
        try:
            return int(data.decode())
        except ValueError:
            return None


class ConfigEntityZNode:
    """The znode /config/<type>/<name>. Example:
    `{"version":1,"config":{"retention.ms":"3600000"}}`.

    All values are strings. The config names are sorted.
    """

    @staticmethod
    def parent(entity_type: str) -> str:
        return f"/config/{entity_type}"

    @staticmethod
    def path(entity_type: str, name: str) -> str:
        """Return the path of the znode with an entity's config overrides.

        `name` may itself be a path. For example, the quotas of a user's client are in
        /config/users/<user>/clients/<client>.
        """
        return f"/config/{entity_type}/{name}"

    @staticmethod
    def encode(config: Mapping[str, str]) -> bytes:
        return encode_json({"version": 1, "config": dict(sorted(config.items()))})

    @staticmethod
    def decode(data: bytes) -> dict[str, str]:
        config = decode_object(data).get("config")
        return (
            {name: str(value) for name, value in config.items()} if isinstance(config, dict) else {}
        )


class ConfigEntityChangeNotificationZNode:
    """The znodes /config/changes/config_change_… Example:
    `{"version":2,"entity_path":"topics/web"}`.

    Every broker watches /config/changes. When a new child appears, the broker reads the changed
    entity's configs again.
    """

    PARENT: Final = "/config/changes"
    PREFIX: Final = "config_change_"

    @staticmethod
    def path(sequence: str = "") -> str:
        return f"/config/changes/config_change_{sequence}"

    @staticmethod
    def encode(entity_path: str) -> bytes:
        return encode_json({"version": 2, "entity_path": entity_path})

    @staticmethod
    def decode(data: bytes) -> str | None:
        """Return the path of the changed entity. Version 1 of the JSON, from old tools, has the
        entity's type and name as separate members.
        """
        fields = decode_object(data)
        entity_path, entity_type, name = (
            fields.get("entity_path"),
            fields.get("entity_type"),
            fields.get("entity_name"),
        )
        if isinstance(entity_path, str):
            return entity_path
        return (
            f"{entity_type}/{name}"
            if isinstance(entity_type, str) and isinstance(name, str)
            else None
        )


class DeleteTopicsTopicZNode:
    """The znode /admin/delete_topics/<topic>. It has no data. Its existence requests the deletion
    of the topic.
    """

    PARENT: Final = "/admin/delete_topics"

    @staticmethod
    def path(topic: str) -> str:
        return f"/admin/delete_topics/{topic}"


class PreferredReplicaElectionZNode(_PartitionListZNode):
    """The znode /admin/preferred_replica_election. It lists partitions whose preferred replicas
    should become leaders.
    """

    PATH: Final = "/admin/preferred_replica_election"


class ReassignPartitionsZNode:
    """The znode /admin/reassign_partitions, a request to move partitions. Example:
    `{"version":1,"partitions":[{"topic":"web","partition":0,"replicas":[2,0,1]}]}`.
    """

    PATH: Final = "/admin/reassign_partitions"

    @staticmethod
    def encode(reassignment: Mapping[TopicPartition, Sequence[int]]) -> bytes:
        ordered = sorted(reassignment.items())
        return encode_json(
            {
                "version": 1,
                "partitions": [
                    {"topic": tp.topic, "partition": tp.partition, "replicas": list(r)}
                    for tp, r in ordered
                ],
            }
        )

    @staticmethod
    def decode(data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
        reassignment = {}
        for entry in _objects(decode_object(data).get("partitions")):
            topic, partition = entry.get("topic"), entry.get("partition")
            if isinstance(topic, str) and isinstance(partition, int):
                reassignment[TopicPartition(topic, partition)] = _ints(entry.get("replicas"))
        return dict(sorted(reassignment.items()))


class ClusterIdZNode:
    """The znode /cluster/id. In its JSON, the version is a string instead of a number."""

    PATH: Final = "/cluster/id"

    @staticmethod
    def encode(cluster_id: str) -> bytes:
        return encode_json({"version": "1", "id": cluster_id})

    @staticmethod
    def decode(data: bytes) -> str | None:
        cluster_id = decode_object(data).get("id")
        return cluster_id if isinstance(cluster_id, str) else None


class ProducerIdBlock(NamedTuple):
    """The producer ids from `start` to `end`, both included. The broker `broker` assigns them to
    producers.
    """

    broker: int
    start: int
    end: int


class ProducerIdBlockZNode:
    """The znode /latest_producer_id_block. In its JSON, the first and the last id are strings."""

    PATH: Final = "/latest_producer_id_block"
    BLOCK_SIZE: Final = 1000

    @staticmethod
    def encode(block: ProducerIdBlock) -> bytes:
        return encode_json(
            {
                "version": 1,
                "broker": block.broker,
                "block_start": str(block.start),
                "block_end": str(block.end),
            }
        )

    @staticmethod
    def decode(data: bytes) -> ProducerIdBlock | None:
        fields = decode_object(data)
        broker, start, end = (
            fields.get("broker"),
            decode_number(str(fields.get("block_start"))),
            decode_number(str(fields.get("block_end"))),
        )
        return (
            ProducerIdBlock(broker, start, end)
            if isinstance(broker, int) and start is not None and end is not None
            else None
        )


class FeatureZNode:
    """The znode /feature with the cluster's finalized features (KIP-584). Kafka 2.8 has no such
    features yet.

    In Kafka the controller creates this znode. Here every broker creates it at its start if it is
    missing.
    """

    PATH: Final = "/feature"
    ENABLED: Final = 1

    @staticmethod
    def encode() -> bytes:
        return encode_json({"features": {}, "version": 1, "status": FeatureZNode.ENABLED})

    @staticmethod
    def is_enabled(data: bytes) -> bool:
        """Return whether `data` says that the cluster has finalized features. For unreadable data,
        return False.
        """
        return decode_object(data).get("status") == FeatureZNode.ENABLED


_PERSISTENT_PATHS: Final = (
    "/consumers",
    BrokerIdZNode.PARENT,
    TopicZNode.PARENT,
    ConfigEntityChangeNotificationZNode.PARENT,
    DeleteTopicsTopicZNode.PARENT,
    BrokerSequenceIdZNode.PATH,
    IsrChangeNotificationZNode.PARENT,
    LogDirEventNotificationZNode.PARENT,
    ConfigEntityZNode.parent("topics"),
    ConfigEntityZNode.parent("clients"),
    ConfigEntityZNode.parent("users"),
    ConfigEntityZNode.parent("brokers"),
    ProducerIdBlockZNode.PATH,
)


def persistent_znodes(protocol: ProtocolVersion) -> dict[str, bytes | None]:
    """Return the path and data of each znode that every broker creates at its start if it is
    missing.

    The data of /latest_producer_id_block must be None (null). To a Java broker, null means that no
    block is reserved yet. Empty data would make the Java broker stop.
    """
    znodes: dict[str, bytes | None] = dict.fromkeys(_PERSISTENT_PATHS)
    if protocol >= FEATURES:
        znodes[FeatureZNode.PATH] = FeatureZNode.encode()
    if protocol >= IP_CONFIGS:
        znodes[ConfigEntityZNode.parent("ips")] = None
    return znodes
