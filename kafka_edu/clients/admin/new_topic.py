"""Create a topic for a demo, an exercise or an act, even if the controller changes meanwhile.

If an answer is lost, the admin client usually sends its request again. If the broker then answers
that the topic exists, the client does not know who has created the topic. So in this module the
client sends each request only once, and the module itself repeats it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.topic_calls import NewTopic
from kafka_edu.clients.client_errors import BrokerException, ClientException
from kafka_edu.common.errors import Errors

#: Time limit in seconds. It is longer than any election takes, even on a busy machine.
CONTROLLER_TIMEOUT_S: Final = 60.0
RETRY_PAUSE_S: Final = 0.1
_NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})
_AGAIN: Final = frozenset({Errors.NOT_CONTROLLER, Errors.NETWORK_EXCEPTION})


def make_topic(
    bootstrap_servers: str,
    topic: str,
    partitions: int,
    replication_factor: int,
    configs: Mapping[str, str] = _NO_CONFIGS,
) -> None:
    """Create a topic. The controller chooses the brokers of its replicas.

    Raises the errors of `until_taken`.
    """
    _make(bootstrap_servers, NewTopic(topic, partitions, replication_factor, configs=configs))


def make_assigned_topic(
    bootstrap_servers: str,
    topic: str,
    assignment: Mapping[int, Sequence[int]],
    configs: Mapping[str, str] = _NO_CONFIGS,
) -> None:
    """Create a topic with the given replicas. `assignment` maps each partition to its brokers.

    The first broker of a partition becomes its leader. Raises the errors of `until_taken`.
    """
    _make(bootstrap_servers, NewTopic(topic, assignments=assignment, configs=configs))


def _make(bootstrap_servers: str, topic: NewTopic) -> None:
    asyncio.run(order_topic(bootstrap_servers, topic))


async def order_topic(
    bootstrap_servers: str,
    topic: NewTopic,
    client_id: str = "",
    make_admin: Callable[[Mapping[str, object]], Admin] | None = None,
) -> None:
    """Let the controller create a topic. Raises the errors of `until_taken`.

    `make_admin` makes the admin client from its settings.
    """
    settings = {"bootstrap.servers": bootstrap_servers, "client.id": client_id, "retries": 0}
    async with (make_admin or Admin)(settings) as admin:

        async def order(timeout_ms: float) -> None:
            (await admin.create_topics([topic], timeout_ms=timeout_ms)).all()

        await until_taken(order, CONTROLLER_TIMEOUT_S)


async def until_taken(order: Callable[[float], Awaitable[None]], timeout_s: float) -> None:
    """Call `order`, which creates a topic, again and again until a controller has accepted it.

    `order` gets the ms that are left. When this function returns, some brokers may not know the
    topic's leaders yet. After REQUEST_TIMED_OUT the topic may not exist yet, but the controller
    continues creating it. Raises ClientException if the controller refuses. After `timeout_s` it
    raises the error of the last try: NOT_CONTROLLER, NETWORK_EXCEPTION or TimeoutException.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + timeout_s
    may_exist = False
    """True if the answer to an earlier try was lost. The controller may have created the topic."""
    while True:
        try:
            return await order(max(end - loop.time(), 0) * 1000)
        except ClientException as error:
            asked = isinstance(error, BrokerException)  # otherwise no broker has answered in time
            taken = asked and error.error is Errors.REQUEST_TIMED_OUT
            if taken or (may_exist and error.error is Errors.TOPIC_ALREADY_EXISTS):
                return None
            if error.error not in _AGAIN or loop.time() >= end:
                raise
            may_exist = may_exist or error.error is Errors.NETWORK_EXCEPTION
        await asyncio.sleep(RETRY_PAUSE_S)
