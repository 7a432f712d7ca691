"""`demo proxy` as a user starts it: the producer that got its metadata from the proxy continues
after the proxy has ended.
"""

from pathlib import Path

import pytest

from tests.cluster.processes import processes_of
from tests.demos import play

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc"
    ),
]


def test_what_bootstrap_servers_means(tmp_path: Path) -> None:
    _, figures, targets = play(tmp_path, "proxy", "--seconds", "4", "--rate", "500")
    assert targets["bytes in the proxy's logs"] == 0
    assert (
        figures["bytes in the brokers' logs"] > 3 * 50 * figures["records produced"]
    )  # three replicas; a line of the log is longer than 50 bytes
    assert (
        figures["bytes into the proxy's socket"] < 2000 < figures["bytes into the brokers' sockets"]
    )
    assert not processes_of(str(tmp_path))
