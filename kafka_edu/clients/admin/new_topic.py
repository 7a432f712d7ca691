"""Create a topic for a demo, an exercise or a test, even if the controller changes meanwhile.

Other clients fail with NOT_CONTROLLER if there is no controller at that moment.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.admin.brokers import RETRY_PAUSE_S, connect_brokers
from kafka_edu.clients.admin.topic_service import BrokerTopicService
from kafka_edu.common.errors import Errors, KafkaException

#: Time limit in seconds. It is longer than any election takes, also on a busy machine.
CONTROLLER_TIMEOUT_S: Final = 60.0
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})


def make_topic(
    bootstrap_servers: str,
    topic: str,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, str] = _NO_CONFIGS,
) -> None:
    """Create a topic. The controller chooses the brokers of its replicas.

    `until_taken` says which errors are raised.
    """

    async def order(service: BrokerTopicService) -> None:
        await service.create(topic, partitions, replication_factor, configs)

    _make(bootstrap_servers, order)


def make_assigned_topic(
    bootstrap_servers: str,
    topic: str,
    assignment: Mapping[int, Sequence[int]],
    configs: Mapping[str, str] = _NO_CONFIGS,
) -> None:
    """Create a topic with the given replicas. `assignment` maps each partition to its brokers.

    The first broker of a partition becomes its leader. `until_taken` says which errors are raised.
    """

    async def order(service: BrokerTopicService) -> None:
        await service.create_assigned(topic, assignment, configs)

    _make(bootstrap_servers, order)


def _make(bootstrap_servers: str, order: Callable[[BrokerTopicService], Awaitable[None]]) -> None:
    async def send() -> None:
        async with connect_brokers(bootstrap_servers) as brokers:
            await order(BrokerTopicService(brokers))

    asyncio.run(until_taken(send, CONTROLLER_TIMEOUT_S))


async def until_taken(order: Callable[[], Awaitable[None]], timeout_s: float) -> None:
    """Call `order`, which creates a topic, again and again until a controller has accepted it.

    When this function returns, some brokers may not know the topic's leaders yet. After
    REQUEST_TIMED_OUT the topic may not exist yet, but the controller goes on creating it. Raises
    KafkaException if the controller refuses. After `timeout_s` it raises the error of the last try:
    KafkaException NOT_CONTROLLER, OSError or AdminTimeoutError.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    may_exist = False
    """True if the answer to an earlier try was lost. The controller may have created the topic."""
    while True:
        try:
            return await order()
        except KafkaException as error:
            taken = error.error is Errors.REQUEST_TIMED_OUT
            if taken or (may_exist and error.error is Errors.TOPIC_ALREADY_EXISTS):
                return None
            if error.error is not Errors.NOT_CONTROLLER or loop.time() >= end:
                raise
        except (OSError, AdminTimeoutError):
            may_exist = True
            if loop.time() >= end:
                raise
        await asyncio.sleep(RETRY_PAUSE_S)
