"""Whatever state the brokers and ZooKeeper are in, every act is done or is refused with one
line.
"""

from collections.abc import Iterator, Sequence

import pytest

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.cluster.acts_in_states import PROPS, Case, all_cases, run, some_cases

SEED = 25


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("states", brokers=2, props=PROPS, with_relays=True) as cluster:
        make_assigned_topic(cluster.bootstrap_servers, "t", {0: [0, 1]})
        yield cluster


def _play(cluster: Cluster, cases: Sequence[Case]) -> None:
    said: list[str] = []
    try:
        faults = run(cluster, cases, said)
    finally:
        print("\n".join(said))
    assert not faults, "\n".join(faults)


@pytest.mark.cluster
def test_each_act_in_some_states(cluster: Cluster) -> None:
    _play(cluster, some_cases(SEED, of_each=1))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_each_act_in_each_state(cluster: Cluster) -> None:
    _play(cluster, all_cases())
