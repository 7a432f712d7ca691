"""One-shot watches: who wants to be told about which path (ZooKeeper: WatchManager.java).

The server keeps two: data watches (set by getData and by exists, for a node there or not) and child
watches (set by getChildren). A watcher is a connection, not a session: when the connection goes,
its watches go, and the client sets them again on its next one (SetWatches). A watch fires once and
is gone. Whoever is told is told in the order in which the watches were set, so that a run can be
repeated.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final, Literal

from kafka_edu.trace.events.zk import WatchFired, WatchSet
from kafka_edu.trace.tracer import Tracer
from kafka_edu.zk.zk_client import WatchedEvent, WatchType

WatchKind = Literal["data", "child"]
_NOBODY: Final[dict[int, None]] = {}


class WatchManager:
    """Watches of one kind, kept both ways: path → watchers and watcher → paths. All operations
    O(what they touch).
    """

    def __init__(self, kind: WatchKind, notify: Callable[[int, WatchedEvent], None]) -> None:
        self.kind = kind
        self.trace: Tracer | None = None
        self.session_of: Callable[[int], int] = lambda _: 0
        """The session of a connection, for the events."""
        self.count = 0
        """Watches set now: pairs of path and watcher."""
        self._notify = notify
        self._watchers: dict[str, dict[int, None]] = {}
        self._paths: dict[int, dict[str, None]] = {}

    def add(self, path: str, watcher: int) -> None:
        """Set a watch; setting it twice is setting it once."""
        watchers = self._watchers.setdefault(path, {})
        if watcher in watchers:
            return
        watchers[watcher] = None
        self._paths.setdefault(watcher, {})[path] = None
        self.count += 1
        if self.trace:
            self.trace(WatchSet(path=path, kind=self.kind, cnxn=watcher))

    def trigger(
        self, path: str, event_type: WatchType, zxid: int, already_told: Collection[int] = ()
    ) -> Collection[int]:
        """Fire and forget the watches on `path`, for the change `zxid`; returns the watchers, told
        now or by `already_told` (a deletion tells each connection once).
        """
        watchers = self._watchers.pop(path, None)
        if watchers is None:
            return _NOBODY
        self.count -= len(watchers)
        event = WatchedEvent(event_type, path)
        for watcher in watchers:
            self._forget(watcher, path)
            if watcher not in already_told:
                self.fire(watcher, event, zxid)
        return watchers

    def fire(self, watcher: int, event: WatchedEvent, zxid: int) -> None:
        """Notify one watcher, whose watch is not set, or is not set any more."""
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
        """Take one watch back; returns whether it was there."""
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
        """The connection is gone, and its watches with it."""
        for path in self._paths.pop(watcher, {}):
            watchers = self._watchers[path]
            del watchers[watcher]
            self.count -= 1
            if not watchers:
                del self._watchers[path]

    def items(self) -> Iterator[tuple[str, int]]:
        """Every watch as (path, watcher), in the order of paths first watched."""
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
