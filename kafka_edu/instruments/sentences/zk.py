"""Sentences for ZooKeeper's events."""

from kafka_edu.common.words import duration, plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import quiet, session, why
from kafka_edu.trace.events import zk


@sentence.register
def session_opened(e: zk.SessionOpened) -> Sentence:
    return quiet(
        f"session {e.session_id:#x} begins",
        after=f"for {e.peer}",
        exact=(f"session {e.session_id:#x} opened, time-out {duration(e.timeout_ms)}"),
    )


@sentence.register
def session_moved(e: zk.SessionMoved) -> Sentence:
    return quiet(
        f"{session(e.session_id)} is back on another connection",
        after=f"from {e.peer}",
    )


@sentence.register
def session_disconnected(e: zk.SessionDisconnected) -> Sentence:
    return quiet(
        f"session {e.session_id:#x} has lost its connection",
        after=e.reason,
        exact=f"session {e.session_id:#x} lost its connection{why(e.reason)}",
    )


@sentence.register
def session_expired(e: zk.SessionExpired) -> Sentence:
    return Sentence(
        f"session {e.session_id:#x} expired",
        after=f"(nothing heard for {duration(e.timeout_ms)})",
        because="its session expired",
    )


@sentence.register
def session_closed(e: zk.SessionClosed) -> Sentence:
    return Sentence(
        f"session {e.session_id:#x} is over",
        after=f"and with it {plural(e.ephemerals, 'ephemeral znode')}",
        loud=False,
    )


@sentence.register
def session_refused(e: zk.SessionRefused) -> Sentence:
    return Sentence(
        f"refuses {session(e.session_id)} to {e.peer}",
        reason=e.reason,
        because=f"ZooKeeper refused {session(e.session_id)}",
        loud=False,
    )


@sentence.register
def znode_created(e: zk.ZnodeCreated) -> Sentence:
    return Sentence(f"znode {e.path} created", because=f"{e.path} was created", loud=False)


@sentence.register
def znode_changed(e: zk.ZnodeChanged) -> Sentence:
    return Sentence(
        f"znode {e.path} set",
        after=f"version {e.version}",
        because=f"{e.path} was set",
        loud=False,
    )


@sentence.register
def znode_acl_changed(e: zk.ZnodeAclChanged) -> Sentence:
    return quiet(
        f"the access list of znode {e.path} is set,",
        after=f"version {e.version}",
        because=f"the access list of {e.path} was set",
    )


@sentence.register
def znode_deleted(e: zk.ZnodeDeleted) -> Sentence:
    return Sentence(f"znode {e.path} deleted", because=f"{e.path} was deleted", loud=False)


@sentence.register
def watch_set(e: zk.WatchSet) -> Sentence:
    return quiet(
        "a watch is set on",
        e.path,
        exact=f"keeps a {e.kind} watch on {e.path} for connection {e.cnxn}",
    )


@sentence.register
def watch_fired(e: zk.WatchFired) -> Sentence:
    return quiet("watch fires on", e.path, exact=f"fires the {e.kind} watch on {e.path}")


@sentence.register
def zk_request_served(e: zk.ZkRequestServed) -> Sentence:
    of = f" of {e.path}" if e.path else ""
    failed = "" if e.error in ("", "OK", "NONE") else f": {e.error}"
    return quiet(
        f"serves {e.request}{of}",
        exact=f"serves {e.request}{of} for {session(e.session_id)}{failed}",
    )


@sentence.register
def snapshot_taken(e: zk.SnapshotTaken) -> Sentence:
    return quiet(
        "writes its whole tree to the disk:",
        after=f"{plural(e.znodes, 'znode')}, {e.size_bytes:,} bytes, up to zxid {e.zxid:#x}",
    )
