import pytest

from kafka_edu.common.errors import Errors
from tests.unit.clients.proxy.proxy_world import Proxy, copy_of, partition


@pytest.fixture
def proxy():
    """Return a proxy with one target that has answered.

    The topic web has partition 0 led by broker 1, and partition 1 without a leader, on brokers 1
    and 2. Broker 3 is dead.
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
