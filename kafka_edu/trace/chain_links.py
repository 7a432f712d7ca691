"""The rules by which an event in one process is linked to its cause in another (docs/chains.md).

Messages of Kafka and ZooKeeper do not say what caused them. But they carry values that both
processes know: a connection and a correlation id, a session and a range of zxids, a follower and
its fetch offset. Such values form a key. A rule computes one key from the effect and one from each
possible cause. Two events are linked if their keys are equal and the rule's function `pick` chooses
the cause among all causes with this key. Time alone never links events. A key can occur more than
once, for example if a port or a topic's name is used again. For such a key, `pick` must find the
only cause that is certain.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.client import RecordAcknowledged
from kafka_edu.trace.events.controller import (
    BrokerJoined,
    ControllerElected,
    ControllerRequestSent,
    ControllerResponseReceived,
    IsrAltered,
    LeaderElected,
    ReplicaRemovedFromIsr,
    ZkWatchFired,
)
from kafka_edu.trace.events.network import RequestReceived, ResponseSent
from kafka_edu.trace.events.producer import ClientRequestSent, ClientResponseReceived
from kafka_edu.trace.events.reassignment import LeaderEpochIncremented
from kafka_edu.trace.events.replication import (
    BecameFollower,
    BecameLeader,
    FollowerAppended,
    FollowerFetched,
    IsrExpanded,
    IsrShrunk,
    ProduceAppended,
)
from kafka_edu.trace.events.server import (
    BrokerRegistered,
    ProduceAnswered,
    TopicCreated,
    TopicDeletionOrdered,
)
from kafka_edu.trace.events.zk import WatchFired, ZnodeChanged, ZnodeCreated, ZnodeDeleted


class LinkKind(StrEnum):
    """The kind of link between an effect and its cause. Each value is described with the cause
    first and the effect second.
    """

    CAUSE = "cause number"
    """Within one process: the effect's event contains the number of its cause."""
    PROCESS = "process"
    """A process ended or was paused. Then ZooKeeper lost the process's session, or another broker
    got no answer from the process.
    """
    MISSED_CHANGE = "missed change"
    """A znode changed while a client was not connected. The client set its watch again after it had
    reconnected, and the watch fired at once.
    """
    WATCH = "watch"
    """ZooKeeper fired a watch. The broker received the notification."""
    WRITER = "writer"
    """An event in a broker made the broker write a znode. ZooKeeper changed the znode."""
    ZNODE = "znode"
    """ZooKeeper changed a znode. The broker that wrote or read the znode emitted a fact about
    it.
    """
    REQUEST = "request"
    """The controller or one of our clients sent a request. A broker received it."""
    RESPONSE = "response"
    """A broker sent a response. The controller, or one of our clients, received it."""
    ELECTION = "election"
    """The controller decided on a leader epoch. A replica became leader or follower in that
    epoch.
    """
    ISR = "ISR change"
    """A leader requested a new ISR, and the controller wrote it. The leader uses the new ISR."""
    FOLLOWER = "follower"
    """A replica became a follower. Its leader read records for it."""
    REPLICATION = "replication"
    """A follower stored records. With its next fetch, the leader learns that they are stored."""
    RECORDS = "records"
    """A leader appended records. A follower stored them."""
    ACK = "acknowledgement"
    """A broker answered a produce request. The client's callback was called."""


Key = tuple[object, ...]
KeyOf = Callable[[Envelope], Key | None]
Pick = Callable[[Envelope, Sequence[Envelope]], Sequence[Envelope]]
"""A function that gets an effect and the candidates with an equal key, sorted by time. It returns
those candidates that are causes.
"""


class Rule(NamedTuple):
    """One rule for linking the events of two processes."""

    kind: LinkKind
    names: tuple[str, ...]
    """The names of the values in the key."""
    effects: tuple[type[tuple[object, ...]], ...]
    causes: tuple[type[tuple[object, ...]], ...]
    effect_key: KeyOf
    cause_key: KeyOf
    pick: Pick
    proof: str
    """An explanation for the documentation: why `pick` finds the true cause and no other event."""


#: Matches the id of a connection, `local-peer-index`, as SocketServer makes it. A host name may
#: contain a `-`, so the port numbers show where each part ends.
_CONNECTION_ID: Final = re.compile(r"(.*?:\d+)-(.*:\d+)-\d+")


def peer_of(connection_id: str) -> str:
    """Return the peer's `host:port` from a broker's connection id. Return "" for any other text."""
    match = _CONNECTION_ID.fullmatch(connection_id)
    return match.group(2) if match else ""


def before(effect: Envelope, candidates: Sequence[Envelope]) -> Sequence[Envelope]:
    """Return the last candidate that is not later than the effect, or nothing. O(log
    candidates).
    """
    at = bisect_right(candidates, effect.mono_us, key=lambda envelope: envelope.mono_us)
    return candidates[at - 1 : at] if at else ()


def _every(_: Envelope, candidates: Sequence[Envelope]) -> Sequence[Envelope]:
    return candidates


def only(_: Envelope, candidates: Sequence[Envelope]) -> Sequence[Envelope]:
    """Return the candidate if there is only one. Of several candidates, none is certain, so return
    nothing.
    """
    return candidates if len(candidates) == 1 else ()


def _first_change_after(effect: Envelope, candidates: Sequence[Envelope]) -> Sequence[Envelope]:
    """Return the first watch that ZooKeeper fired for a zxid above `after_zxid`. O(log
    candidates).
    """
    event = effect.event
    if not isinstance(event, ZkWatchFired) or event.after_zxid < 0:
        return ()
    at = bisect_right(candidates, event.after_zxid, key=_zxid)
    return candidates[at : at + 1]


def _zxid(envelope: Envelope) -> int:
    event = envelope.event
    return (
        event.zxid
        if isinstance(event, WatchFired | ZnodeCreated | ZnodeChanged | ZnodeDeleted)
        else 0
    )


def _request_key(e: Envelope) -> Key | None:
    match e.event:
        case (
            RequestReceived(connection_id=connection, correlation_id=correlation, api_key=api)
            | ResponseSent(connection_id=connection, correlation_id=correlation, api_key=api)
        ):
            peer = peer_of(connection)
            return (e.broker, peer, correlation, int(api)) if peer else None
        case (
            ControllerRequestSent(
                broker_id=broker, local=local, correlation_id=correlation, api_key=api
            )
            | ControllerResponseReceived(
                broker_id=broker, local=local, correlation_id=correlation, api_key=api
            )
        ):
            return broker, local, correlation, int(api)
        case (
            ClientRequestSent(
                broker_id=broker, local=local, correlation_id=correlation, api_key=api
            )
            | ClientResponseReceived(
                broker_id=broker, local=local, correlation_id=correlation, api_key=api
            )
        ) if broker >= 0:
            return broker, local, correlation, int(api)
    return None


def _watch_key(e: Envelope) -> Key | None:
    match e.event:
        case (
            ZkWatchFired(session_id=session, path=path, type=kind)
            | WatchFired(session_id=session, path=path, type=kind)
        ) if session:
            return session, path, kind
    return None


def _parent(path: str) -> str:
    return path.rpartition("/")[0] or "/"


def _missed_key(e: Envelope) -> Key | None:
    match e.event:
        case WatchFired(path=path, type="CHILDREN_CHANGED", zxid=zxid) if zxid and not e.cause:
            return "children", path, zxid
        case WatchFired(path=path, zxid=zxid) if zxid and not e.cause:
            return "data", path, zxid
    return None


def _change_key(e: Envelope) -> Key | None:
    match e.event:
        case ZnodeCreated(path=path, zxid=zxid) | ZnodeChanged(path=path, zxid=zxid):
            return "data", path, zxid
    return None


def _child_change_key(e: Envelope) -> Key | None:
    match e.event:
        case ZnodeCreated(path=path, zxid=zxid) | ZnodeDeleted(path=path, zxid=zxid):
            return "children", _parent(path), zxid
    return None


def state_path(topic: str, partition: int) -> str:
    """Return the path of a partition's state znode. kafka_edu.zk.zk_data makes the same path, but
    this package must not import kafka_edu.zk, which is a higher layer.
    """
    return f"/brokers/topics/{topic}/partitions/{partition}/state"


def written_key(e: Envelope) -> Key | None:
    """Return the path and version of the znode that a broker has written, from the broker's event.
    Return None for other events.
    """
    match e.event:
        case (
            LeaderElected(zk_path=path, zk_version=version)
            | ReplicaRemovedFromIsr(zk_path=path, zk_version=version)
        ):
            return path, version
        case LeaderEpochIncremented(zk_path=path, zk_version=version):
            return path, version
        case (
            IsrShrunk(topic=topic, partition=partition, zk_version=version)
            | IsrExpanded(topic=topic, partition=partition, zk_version=version)
        ):
            return state_path(topic, partition), version
        case TopicCreated(topic=topic):
            return f"/brokers/topics/{topic}", 0
        case TopicDeletionOrdered(topic=topic):
            return f"/admin/delete_topics/{topic}", 0
        case BrokerRegistered(broker_id=broker):
            return f"/brokers/ids/{broker}", 0
        case ControllerElected(epoch_zk_version=version):
            return "/controller_epoch", version
    return None


def znode_key(e: Envelope) -> Key | None:
    """Return the path and version of the znode that a client has written, from ZooKeeper's event.
    Return None for other events.
    """
    match e.event:
        case ZnodeCreated(path=path):
            return path, 0
        case ZnodeChanged(path=path, version=version, session_id=session) if session:
            return path, version
    return None


def _joined_key(e: Envelope) -> Key | None:
    match e.event:
        case BrokerJoined(broker_id=broker, broker_epoch=zxid):
            return f"/brokers/ids/{broker}", zxid
        case ZnodeCreated(path=path, zxid=zxid):
            return path, zxid
    return None


def _election_key(e: Envelope) -> Key | None:
    match e.event:
        case (
            BecameLeader(topic=t, partition=p, leader_epoch=epoch)
            | BecameFollower(topic=t, partition=p, leader_epoch=epoch)
            | LeaderElected(topic=t, partition=p, leader_epoch=epoch)
            | ReplicaRemovedFromIsr(topic=t, partition=p, leader_epoch=epoch)
            | LeaderEpochIncremented(topic=t, partition=p, leader_epoch=epoch)
        ):
            return t, p, epoch
    return None


def _isr_key(e: Envelope) -> Key | None:
    match e.event:
        case (
            IsrShrunk(topic=t, partition=p, leader_epoch=epoch, zk_version=version)
            | IsrExpanded(topic=t, partition=p, leader_epoch=epoch, zk_version=version)
            | IsrAltered(topic=t, partition=p, leader_epoch=epoch, zk_version=version)
        ):
            return t, p, epoch, version
    return None


def _follower_key(e: Envelope) -> Key | None:
    match e.event:
        case FollowerFetched(topic=t, partition=p, leader_epoch=epoch, follower=follower) if (
            epoch >= 0
        ):
            return t, p, epoch, follower
        case BecameFollower(topic=t, partition=p, leader_epoch=epoch):
            return t, p, epoch, e.broker
    return None


def _offset_key(e: Envelope) -> Key | None:
    match e.event:
        case FollowerFetched(
            topic=t, partition=p, leader_epoch=epoch, follower=follower, fetch_offset=offset
        ) if epoch >= 0:
            return t, p, epoch, follower, offset
        case FollowerAppended(
            topic=t,
            partition=p,
            leader_epoch=epoch,
            follower=follower,
            fetch_offset=asked,
            log_end_offset=end,
        ) if end > asked:
            return t, p, epoch, follower, end
    return None


def _records_key(e: Envelope) -> Key | None:
    match e.event:
        case (
            FollowerAppended(topic=t, partition=p, leader_epoch=epoch)
            | ProduceAppended(topic=t, partition=p, leader_epoch=epoch)
        ) if epoch >= 0:
            return t, p, epoch
    return None


def _appended_here(effect: Envelope, candidates: Sequence[Envelope]) -> Sequence[Envelope]:
    """Return the appends on the leader whose records the follower has stored. These are the appends
    whose first offset lies in the range that the follower appended. O(log candidates).
    """
    event = effect.event
    if not isinstance(event, FollowerAppended):
        return ()
    first = bisect_right(candidates, event.fetch_offset - 1, key=_first_offset)
    behind = bisect_right(candidates, event.log_end_offset - 1, key=_first_offset)
    return candidates[first:behind]


def _first_offset(envelope: Envelope) -> int:
    return envelope.event.first_offset if isinstance(envelope.event, ProduceAppended) else -1


def acknowledged(effect: Envelope, candidates: Sequence[Envelope]) -> Sequence[Envelope]:
    """Return the ProduceAnswered event that acknowledges this record. Return nothing if there are
    several, because then none is certain. This happens if an unclean election has made the leader
    assign an offset twice.
    """
    event = effect.event
    if not isinstance(event, RecordAcknowledged):
        return ()
    holding = [c for c in candidates if c.mono_us <= effect.mono_us and holds_record(c, event)]
    return holding if len(holding) == 1 else ()


def holds_record(answered: Envelope, ack: RecordAcknowledged) -> bool:
    """Return whether the ProduceAnswered event `answered` acknowledges the record of `ack`."""
    return isinstance(answered.event, ProduceAnswered) and any(
        (topic, partition, error) == (ack.topic, ack.partition, "NONE")
        and first <= ack.offset < end
        for topic, partition, first, end, error in answered.event.partitions
    )


_WRITES: Final = (
    LeaderElected,
    ReplicaRemovedFromIsr,
    LeaderEpochIncremented,
    IsrShrunk,
    IsrExpanded,
    TopicCreated,
    TopicDeletionOrdered,
    BrokerRegistered,
    ControllerElected,
)

#: Rules that need only the two events. The kinds WRITER, PROCESS and ACK need a third event; their
#: rules are in `reader.History`.
RULES: Final = (
    Rule(
        LinkKind.WATCH,
        ("session", "path", "type"),
        (ZkWatchFired,),
        (WatchFired,),
        _watch_key,
        _watch_key,
        _first_change_after,
        "A watch fires once. The cause is the first of the session's watches on that path, and of"
        " that type, whose zxid is above the effect's `after_zxid`. Changes up to that zxid were"
        " notified before the answer that set the watch.",
    ),
    Rule(
        LinkKind.MISSED_CHANGE,
        ("of", "path", "zxid"),
        (WatchFired,),
        (ZnodeCreated, ZnodeChanged),
        _missed_key,
        _change_key,
        only,
        "A zxid names one transaction, and a znode is written once in it.",
    ),
    Rule(
        LinkKind.MISSED_CHANGE,
        ("of", "path", "zxid"),
        (WatchFired,),
        (ZnodeCreated, ZnodeDeleted),
        _missed_key,
        _child_change_key,
        _every,
        "A child that was made or deleted shows in its parent's pzxid. An expired session deletes"
        " several children in one transaction: each is a cause.",
    ),
    Rule(
        LinkKind.REQUEST,
        ("broker", "peer", "correlation id", "api key"),
        (RequestReceived,),
        (ControllerRequestSent, ClientRequestSent),
        _request_key,
        _request_key,
        before,
        "A connection counts its requests. If the port is used again, the earlier connection was"
        " closed: the last request sent before is the one.",
    ),
    Rule(
        LinkKind.ZNODE,
        ("path", "version"),
        _WRITES,
        (ZnodeCreated, ZnodeChanged),
        written_key,
        znode_key,
        before,
        "A version is written once until the znode is deleted, and a broker reports its write when"
        " it has the answer.",
    ),
    Rule(
        LinkKind.ZNODE,
        ("path", "zxid"),
        (BrokerJoined,),
        (ZnodeCreated,),
        _joined_key,
        _joined_key,
        only,
        "The broker's epoch is its znode's czxid.",
    ),
    Rule(
        LinkKind.ISR,
        ("topic", "partition", "leader epoch", "zk version"),
        (IsrShrunk, IsrExpanded),
        (IsrAltered,),
        _isr_key,
        _isr_key,
        before,
        "A version of the partition's znode is written once; a topic that is created again has lost"
        " its replicas before.",
    ),
    Rule(
        LinkKind.FOLLOWER,
        ("topic", "partition", "leader epoch", "follower"),
        (FollowerFetched,),
        (BecameFollower,),
        _follower_key,
        _follower_key,
        before,
        "A replica fetches in its present role. Only a topic that was deleted and created again has"
        " the same epoch twice.",
    ),
    Rule(
        LinkKind.REPLICATION,
        ("topic", "partition", "leader epoch", "follower", "offset"),
        (FollowerFetched,),
        (FollowerAppended,),
        _offset_key,
        _offset_key,
        before,
        "A follower fetches from its log's end; in one leader epoch it reaches each end by one"
        " append.",
    ),
    Rule(
        LinkKind.RECORDS,
        ("topic", "partition", "leader epoch"),
        (FollowerAppended,),
        (ProduceAppended,),
        _records_key,
        _records_key,
        _appended_here,
        "In one leader epoch the leader gives each offset out once; the follower's range holds"
        " whole batches.",
    ),
)

#: Rules that may need a third event. If the key occurs more than once, `reader.History` looks for
#: the controller's event that caused both ends.
ELECTION: Final = Rule(
    LinkKind.ELECTION,
    ("topic", "partition", "leader epoch"),
    (BecameLeader, BecameFollower),
    (LeaderElected, ReplicaRemovedFromIsr, LeaderEpochIncremented),
    _election_key,
    _election_key,
    only,
    "A leader epoch is written once. A topic that is created again counts from 0 again: then the"
    " cause is the one whose controller event also sent the LeaderAndIsr request that gave the"
    " role.",
)
RESPONSE: Final = Rule(
    LinkKind.RESPONSE,
    ("broker", "peer", "correlation id", "api key"),
    (ControllerResponseReceived, ClientResponseReceived),
    (ResponseSent,),
    _request_key,
    _request_key,
    _every,
    "The connection and correlation id of its request, whose ResponseSent is the first after that"
    " request was sent.",
)
