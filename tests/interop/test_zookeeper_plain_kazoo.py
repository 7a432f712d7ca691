"""kazoo alone: its watches and the order of its writes, on the embedded server and on Apache's.

The brokers' client (kafka_edu.zk.kazoo_zk_client) relies on part of this behaviour, and adds what
kazoo lacks. A new version of kazoo that behaves differently fails here first.
"""

import queue
from collections.abc import Iterator
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.protocol.states import EventType, KazooState, WatchedEvent

from tests.interop.raw_zookeeper import LONG_SESSION_MS, SERVER_NAMED, Server, hosts, make_server
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.tools


@pytest.fixture
def kazoo(server: Server, root: str) -> Iterator[KazooClient]:
    client = KazooClient(hosts(server))
    client.start(PATIENCE_S)
    client.create(root)
    yield client
    client.stop()
    client.close()


def test_writes_keep_their_order_on_the_wire(kazoo: KazooClient, root: str) -> None:
    """All writes are sent before the first answer is read, and each write succeeds only after the
    previous write.
    """
    answers = [kazoo.create_async(f"{root}/a", b"")]
    for version in range(200):
        answers.append(kazoo.set_async(f"{root}/a", b"%d" % version, version))
        transaction = kazoo.transaction()
        transaction.check(f"{root}/a", version + 1)
        transaction.create(f"{root}/a/{version}")
        answers.append(transaction.commit_async())
        answers.append(kazoo.delete_async(f"{root}/a/{version}"))
    for answer in answers:
        result = answer.get(timeout=PATIENCE_S)
        assert not isinstance(result, list) or not any(isinstance(r, Exception) for r in result)


def test_a_callback_hears_of_a_change_once_but_of_a_deletion_once_a_kind(
    kazoo: KazooClient, root: str
) -> None:
    events: queue.Queue[WatchedEvent] = queue.Queue()
    kazoo.create(f"{root}/a")
    for _ in range(2):
        kazoo.get(f"{root}/a", watch=events.put)
        kazoo.exists(f"{root}/a", watch=events.put)
        kazoo.get_children(f"{root}/a", watch=events.put)
    kazoo.set(f"{root}/a", b"1")
    assert events.get(timeout=PATIENCE_S).type == EventType.CHANGED
    kazoo.get(f"{root}/a", watch=events.put)
    kazoo.delete(f"{root}/a")
    kazoo.exists(f"{root}/end", watch=events.put)
    kazoo.create(f"{root}/end")
    types = [events.get(timeout=PATIENCE_S).type for _ in range(3)]
    assert types == [EventType.DELETED, EventType.DELETED, EventType.CREATED]


@pytest.mark.parametrize("kind", ["embedded", "apache"])
def test_watches_do_not_survive_a_reconnect(kind: str, tmp_path: Path) -> None:
    server = make_server(kind, tmp_path, tick_time_ms=LONG_SESSION_MS // 20)
    server.start()
    try:
        client = KazooClient(hosts(server), timeout=LONG_SESSION_MS / 1000)
        assert len(client.hosts) == SERVER_NAMED, "kazoo divides the session by this"
        states: queue.Queue[str] = queue.Queue()
        events: queue.Queue[WatchedEvent] = queue.Queue()
        client.start(PATIENCE_S)
        client.add_listener(states.put)
        session, _ = client.client_id
        client.create("/a")
        client.get("/a", watch=events.put)
        server.kill()
        assert states.get(timeout=PATIENCE_S) == KazooState.SUSPENDED
        server.start()
        assert states.get(timeout=PATIENCE_S) == KazooState.CONNECTED
        assert client.client_id[0] == session
        client.set("/a", b"1")
        client.exists("/end", watch=events.put)
        client.create("/end")
        got = [events.get(timeout=PATIENCE_S) for _ in range(2)]
        assert [(event.type, event.path) for event in got] == [
            (EventType.NONE, None),
            (EventType.CREATED, "/end"),
        ]
        client.stop()
        client.close()
    finally:
        server.kill()
