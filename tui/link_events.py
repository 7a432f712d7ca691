"""What the dashboard itself sees, in the form of events, so that reducers take all they know by one
door.

They are no events of the cluster: not registered, never in a recording. Their sequence number is 0.
"""

from typing import NamedTuple


class LinkMade(NamedTuple):
    """A process's event socket was found, and tells."""

    pid: int


class LinkLost(NamedTuple):
    """A process's event socket was closed: it ended, or was killed."""

    reason: str


class ClusterKnown(NamedTuple):
    """Which cluster this is, and for how long it has been up; the supervisor's answer to
    `status`.
    """

    name: str
    up_ms: int
    zookeeper: str
