"""Events about the dashboard's own connections, so that reducers take all input as events.

The cluster does not emit these events. Their types are not registered, their sequence number is 0,
and a recording never has them.
"""

from typing import NamedTuple


class LinkMade(NamedTuple):
    """The dashboard found a process's event socket and is connected to it."""

    pid: int


class LinkLost(NamedTuple):
    """A process's event socket was closed, because the process ended or was killed."""

    reason: str


class ClusterKnown(NamedTuple):
    """The dashboard received the cluster's name and start time from the supervisor (`status`)."""

    name: str
    up_ms: int
    zookeeper: str
