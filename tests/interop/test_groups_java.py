"""The unmodified Java 3.9 consumer in groups, against three broker processes: range, cooperative
and static members (spec O1, O2, I2).
"""

import subprocess

import pytest

from tests.interop.external_programs import java_program

pytestmark = pytest.mark.interop

EAGER = "org.apache.kafka.clients.consumer.RangeAssignor"
COOPERATIVE = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


@pytest.fixture(scope="module")
def program() -> list[str]:
    """Build java_groups/Groups.java, and return the command that runs it."""
    return list(java_program("java_groups", "Groups", "3.9.1"))


@pytest.mark.parametrize(
    ("topic", "assignor", "instances"),
    [("eager", EAGER, ""), ("cooperative", COOPERATIVE, ""), ("static", EAGER, "i-")],
    ids=lambda value: value[:6],
)
def test_members_come_commit_and_go(
    program: list[str], servers: str, topic: str, assignor: str, instances: str
) -> None:
    done = subprocess.run(
        [*program, servers, f"groups-{topic}", assignor, instances],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    name = "cooperative-sticky" if assignor == COOPERATIVE else "range"
    common = ["one has all", "each has half", "all was read"]
    if instances:
        assert done.stdout.splitlines() == [
            *common,
            "it has what it had",
            "more revocations 0",
            f"Stable {name} 2",
            "committed 400",
        ]
    else:
        assert done.stdout.splitlines() == [
            *common,
            "one has all again",
            f"Stable {name} 1",
            "committed 400",
        ]
