"""The dashboard's own observations, as events, so that reducers have one input for everything.

These are not events of the cluster. They are not registered and never stand in a recording. Their
sequence number is 0.
"""

from typing import NamedTuple


class LinkMade(NamedTuple):
    """The dashboard found a process's event socket and is connected to it."""

    pid: int


class LinkLost(NamedTuple):
    """A process's event socket was closed, because the process ended or was killed."""

    reason: str


class ClusterKnown(NamedTuple):
    """The cluster's name and start time: the supervisor's answer to `status`."""

    name: str
    up_ms: int
    zookeeper: str
