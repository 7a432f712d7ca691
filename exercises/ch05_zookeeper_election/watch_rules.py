"""Compute the right answers of exercise 05-3 with the core of the embedded ZooKeeper."""

from collections.abc import Mapping
from typing import Final

from kafka_edu.zk.embedded.zookeeper_server import Notify, Reply, ZooKeeperServer
from kafka_edu.zk.jute.proto import (
    OPEN_ACL_UNSAFE,
    ConnectRequest,
    CreateRequest,
    DeleteRequest,
    ExistsRequest,
    GetChildrenRequest,
    GetDataRequest,
    Request,
    SetDataRequest,
)
from kafka_edu.zk.zk_client import WatchType

Message = tuple[int, str, str]
WORDS: Final[Mapping[WatchType, str]] = {
    WatchType.CREATED: "NodeCreated",
    WatchType.DELETED: "NodeDeleted",
    WatchType.DATA_CHANGED: "NodeDataChanged",
    WatchType.CHILDREN_CHANGED: "NodeChildrenChanged",
}
WRITES: Final = ("create", "set", "delete")
READS: Final = ("exists", "get", "children")
SESSION_MS: Final = 6_000


class RightZooKeeper:
    """The reference for the learner's ZooKeeper. It gives the right answers."""

    def __init__(self) -> None:
        self._server = ZooKeeperServer(tick_time_ms=500, now_ms=0, wall_ms=0)
        self._server.start(0)
        self._cnxns: dict[int, int] = {}

    def request(self, client: int, verb: str, path: str, watch: bool) -> tuple[Message, ...]:
        cnxn = self._cnxn(client)
        effects = self._server.request(cnxn, 1, _request(verb, path, watch), 0, 0)
        clients = {number: one for one, number in self._cnxns.items()}
        sent: list[Message] = []
        for effect in effects:
            match effect:
                case Notify(cnxn=notified, event=event) if notified in clients:
                    sent.append((clients[notified], WORDS[event.type], event.path))
                case Reply(code=code):
                    sent.append((client, code.name, path))
        return tuple(sent)

    def closed(self, client: int) -> None:
        if client in self._cnxns:
            self._server.lose_cnxn(self._cnxns.pop(client), "closed")

    def _cnxn(self, client: int) -> int:
        """Return the connection of this client. Open one if it has none."""
        if client not in self._cnxns:
            cnxn = self._cnxns[client] = self._server.open_cnxn(str(client))
            self._server.connect(cnxn, ConnectRequest(0, 0, SESSION_MS, 0, bytes(16), None), 0, 0)
        return self._cnxns[client]


def _request(verb: str, path: str, watch: bool) -> Request:
    match verb:
        case "create":
            return CreateRequest(path, b"", OPEN_ACL_UNSAFE, 0)
        case "set":
            return SetDataRequest(path, b"x", -1)
        case "delete":
            return DeleteRequest(path, -1)
        case "exists":
            return ExistsRequest(path, watch)
        case "get":
            return GetDataRequest(path, watch)
        case "children":
            return GetChildrenRequest(path, watch)
        case _:
            raise ValueError(f"there is no verb {verb!r}")
