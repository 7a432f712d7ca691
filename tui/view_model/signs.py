"""The sign of each kind of fact on the time line. It is the same on all screens."""

from typing import Final

from kafka_edu.trace.event import Event
from kafka_edu.trace.events import controller, group, replication, server, supervisor, zk

from .partition_view import DEAD, IN_ISR, LEADER, OUT_OF_SYNC

CONTROLLER, RUNS, PAUSED, WATCH, OTHER = "♛", "▲", "‖", "◆", "•"
_SIGNS: Final[dict[type[Event], str]] = {
    supervisor.ProcessEnded: DEAD,
    supervisor.ProcessStarted: RUNS,
    supervisor.ProcessPaused: PAUSED,
    supervisor.ProcessResumed: RUNS,
    zk.SessionExpired: DEAD,
    zk.SessionDisconnected: DEAD,
    zk.WatchFired: WATCH,
    controller.ZkWatchFired: WATCH,
    controller.ControllerElected: CONTROLLER,
    controller.BrokerFailed: DEAD,
    controller.BrokerJoined: RUNS,
    controller.LeaderElected: LEADER,
    controller.LeaderElectionFailed: DEAD,
    controller.ReplicaRemovedFromIsr: OUT_OF_SYNC,
    replication.BecameLeader: LEADER,
    replication.BecameFollower: IN_ISR,
    replication.IsrShrunk: OUT_OF_SYNC,
    replication.IsrExpanded: IN_ISR,
    server.SessionLost: DEAD,
    group.MemberFailed: DEAD,
    group.MemberJoined: RUNS,
}


def sign_of(event: Event) -> str:
    """Return the sign for this type of fact, or OTHER."""
    return _SIGNS.get(type(event), OTHER)
