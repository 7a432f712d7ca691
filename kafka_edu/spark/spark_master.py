"""Check Spark's master, as `--master` names it: a local master in this process, or a cluster.

If Spark itself finds a wrong name, or a master that does not run, it takes a minute and prints a
page of Java errors. So this module checks both before the JVM starts.
"""

import re
import socket
from typing import Final

from kafka_edu.spark.source_errors import SourceError

CONNECT_TIMEOUT_S: Final = 5.0
#: Matches local, local[N], local[*], local[N, failures] and local[*, failures].
_LOCAL: Final = re.compile(r"local(\[\s*(\d+|\*)\s*(,\s*\d+\s*)?\])?")
_STANDALONE: Final = re.compile(r"spark://(?P<servers>[^,:/\s]+:\d+(,[^,:/\s]+:\d+)*)")
_OTHERS: Final = re.compile(r"yarn|k8s://\S+|local-cluster\[.+\]")
_LOOPBACK: Final = re.compile(r"127\.\d+\.\d+\.\d+|localhost")


class MasterError(SourceError):
    """Raised if the master's name is wrong, or if the master does not answer."""


def is_local(master: str) -> bool:
    """Return whether the master is local, so that the driver's own JVM runs the tasks."""
    return _LOCAL.fullmatch(master) is not None


def is_standalone(master: str) -> bool:
    """Return whether the master belongs to a standalone cluster of Spark."""
    return _STANDALONE.fullmatch(master) is not None


def is_on_loopback(master: str) -> bool:
    """Return whether all processes of a job run on this machine. This is so for a local master, and
    for a standalone master with a loopback address.
    """
    found = _STANDALONE.fullmatch(master)
    if found is None:
        return is_local(master)
    hosts = [server.partition(":")[0] for server in found["servers"].split(",")]
    return all(_LOOPBACK.fullmatch(host) for host in hosts)


def check_master(master: str, timeout_s: float = CONNECT_TIMEOUT_S) -> None:
    """Check that the master's name has a valid form. For a standalone master, also check that one
    of its addresses answers.

    Raises MasterError if a check fails, or if the name is the address of a Spark Connect server.
    """
    if is_local(master) or _OTHERS.fullmatch(master):
        return
    if master.startswith("sc://"):
        raise MasterError(
            f"{master} is a Spark Connect server, and no Spark master. This command starts a driver"
            " of its own: give it a master, such as local[2] or spark://127.0.0.1:7077. `spark"
            " shell --remote` uses a Spark Connect server."
        )
    if (found := _STANDALONE.fullmatch(master)) is None:
        raise MasterError(
            f"{master!r} is not a Spark master. Examples are local[2], local[*] and"
            " spark://127.0.0.1:7077."
        )
    reasons = []
    for server in found["servers"].split(","):
        host, _, port = server.partition(":")
        try:
            socket.create_connection((host, int(port)), timeout_s).close()
        except OSError as error:
            reasons.append(f"{server}: {error.strerror or error}")
        else:
            return
    raise MasterError(
        f"no Spark master answers at {master} ({'; '.join(reasons)}). Start one, or"
        " correct --master."
    )
