"""One-shot watches on paths (ZooKeeper: WatchManager.java).

The server has two watch managers. The first one keeps the data watches, which the requests getData
and exists set. An exists can also watch a node that is missing. The second one keeps the child
watches, which getChildren sets.

A watcher is a connection, not a session. When a connection is closed, its watches are removed, and
the client sets them again on its next connection (SetWatches). A watch fires once and is then
removed. Watchers are notified in the order in which they set their watches, so that a run can be
repeated exactly.

On the way from a broker's death to the new leader, `trigger` notifies the connection of the active
controller's broker. The next step is `ServerCnxnFactory._perform` (server_cnxn_factory.py), which
sends the event.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final, Literal

from kafka_edu.trace.events.zk import WatchFired, WatchSet
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.zk_client import WatchedEvent, WatchType

WatchKind = Literal["data", "child"]
_NOBODY: Final[dict[int, None]] = {}


class WatchManager:
    """All watches of one kind, stored in both directions: path → watchers, and watcher → paths.

    Every operation costs O(watches that it adds, fires or removes).
    """

    def __init__(self, kind: WatchKind, notify: Callable[[int, WatchedEvent], None]) -> None:
        self.kind = kind
        self.trace: Tracer | None = None
        self.session_of: Callable[[int], int] = lambda _: 0
        """Function that returns the session id of a connection. Events show this id."""
        self.count = 0
        """The number of watches that are set now. Each pair of path and watcher counts as one."""
        self._notify = notify
        self._watchers: dict[str, dict[int, None]] = {}
        self._paths: dict[int, dict[str, None]] = {}

    def add(self, path: str, watcher: int) -> None:
        """Set a watch. Setting the same watch again changes nothing."""
        watchers = self._watchers.setdefault(path, {})
        if watcher in watchers:
            return
        watchers[watcher] = None
        self._paths.setdefault(watcher, {})[path] = None
        self.count += 1
        if self.trace:
            self.trace(WatchSet(path=path, kind=self.kind, cnxn=watcher))

    def trigger(
        self, path: str, event_type: WatchType, zxid: int, already_notified: Collection[int] = ()
    ) -> Collection[int]:
        """Fire and remove all watches on `path`, because the change `zxid` has happened there.

        Watchers in `already_notified` are not notified again: a deletion notifies each connection
        only once. Return all watchers of the path, those in `already_notified` included.
        """
        watchers = self._watchers.pop(path, None)
        if watchers is None:
            return _NOBODY
        self.count -= len(watchers)
        event = WatchedEvent(event_type, path)
        for watcher in watchers:
            self._forget(watcher, path)
            if watcher not in already_notified:
                self.fire(watcher, event, zxid)
        return watchers

    def fire(self, watcher: int, event: WatchedEvent, zxid: int) -> None:
        """Send one event to one watcher, without looking up a watch. Either `trigger` has already
        removed the watch, or no watch was set.
        """
        if self.trace:
            self.trace(
                WatchFired(
                    path=event.path,
                    kind=self.kind,
                    cnxn=watcher,
                    type=event.type.name,
                    session_id=self.session_of(watcher),
                    zxid=zxid,
                )
            )
        self._notify(watcher, event)

    def contains(self, path: str, watcher: int) -> bool:
        return watcher in self._watchers.get(path, _NOBODY)

    def remove(self, path: str, watcher: int) -> bool:
        """Remove one watch. Return whether it was set."""
        watchers = self._watchers.get(path, _NOBODY)
        if watcher not in watchers:
            return False
        del watchers[watcher]
        if not watchers:
            del self._watchers[path]
        self._forget(watcher, path)
        self.count -= 1
        return True

    def remove_watcher(self, watcher: int) -> None:
        """Remove all watches of a closed connection."""
        for path in self._paths.pop(watcher, {}):
            watchers = self._watchers[path]
            del watchers[watcher]
            self.count -= 1
            if not watchers:
                del self._watchers[path]

    def items(self) -> Iterator[tuple[str, int]]:
        """Yield every watch as (path, watcher). The paths come in the order in which they were
        first watched.
        """
        for path, watchers in self._watchers.items():
            for watcher in watchers:
                yield path, watcher

    @property
    def paths(self) -> int:
        return len(self._watchers)

    @property
    def watchers(self) -> int:
        return len(self._paths)

    def _forget(self, watcher: int, path: str) -> None:
        paths = self._paths[watcher]
        del paths[path]
        if not paths:
            del self._paths[watcher]
