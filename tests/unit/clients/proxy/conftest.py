import pytest

from kafka_edu.common.errors import Errors
from tests.unit.clients.proxy.proxy_world import Proxy, copy_of, partition


@pytest.fixture
def proxy():
    """Return a proxy that has a copy of the metadata of its only target.

    Broker 3 is dead. Of the topic web, broker 1 leads partition 0, and broker 2 leads partition 2.
    Partition 1 has no leader, because its only replica is on broker 3.
    """
    made = Proxy(find_coordinator=True)
    topics = {
        "web": [
            partition(0, 1, [1, 2]),
            partition(1, -1, [3], [], Errors.LEADER_NOT_AVAILABLE),
            partition(2, 2, [2, 3], [2]),
        ],
        "elsewhere": [partition(0, -1, [2], [2], Errors.LISTENER_NOT_FOUND)],
        "__consumer_offsets": [partition(number, 1 + number % 2, [1, 2]) for number in range(50)],
    }
    made.targets["a"].copied(copy_of(topics), 3)
    return made


@pytest.fixture
def proxy_of():
    return Proxy
