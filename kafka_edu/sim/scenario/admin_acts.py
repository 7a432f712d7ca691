"""Acts that are requests to the cluster, not faults: change topics, hold elections, replace the
controller.

These acts use the same interfaces as an administrator's tools: our admin client, and ZooKeeper's
own protocol. So an act takes virtual time, and the cluster may refuse it.
"""

import json
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Final

from kafka_edu.clients.admin.admin import Admin
from kafka_edu.clients.admin.new_topic import order_topic
from kafka_edu.clients.admin.topic_acts import ActWordsError, TopicActs
from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import KafkaException
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.zk.zk_client import ZkError, ZkErrorCode

CLIENT_ID: Final = "supervisor"
CONTROLLER: Final = "/controller"
SESSION_MS: Final = 6_000
CONNECT_MS: Final = 2_000

Asks = Callable[[SimCluster, str, tuple[int, ...], Mapping[str, str]], Coroutine[Any, Any, str]]
"""Asks for an act by its name, its brokers and its options. Returns what was done."""


class ActFailedError(Exception):
    """The cluster did not carry out the act. The text is the reason."""


async def act_on_topic(
    cluster: SimCluster, name: str, _: tuple[int, ...], options: Mapping[str, str]
) -> str:
    """Carry out an act of TopicActs. Raises ActFailedError."""
    running = [broker for broker in cluster.brokers.values() if broker.server is not None]
    if not running:
        raise ActFailedError("no broker runs: start one first")
    servers = ",".join(f"127.0.0.1:{cluster.port(broker.id)}" for broker in running)
    make_admin = partial(
        Admin,
        transport=cluster.network.transport(),
        time=cluster.time,
        chance=SeededRandom(f"{cluster.seed}/{name}/{cluster.loop.now_ns}"),
    )
    acts = TopicActs(
        lambda: make_admin({"bootstrap.servers": servers, "client.id": CLIENT_ID}),
        lambda topic: order_topic(servers, topic, CLIENT_ID, make_admin),
    )
    try:
        return await acts.act(name, options)
    except (ActWordsError, ClientException, KafkaException) as error:
        raise ActFailedError(str(error)) from error


async def act_on_controller(
    cluster: SimCluster, name: str, brokers: tuple[int, ...], _: Mapping[str, str]
) -> str:
    """Delete /controller, or write another broker into it. Raises ActFailedError."""
    zookeeper = MemoryZkClient(cluster.zookeeper, SESSION_MS, CLIENT_ID)
    try:
        await zookeeper.start(lambda _: None, lambda _: None, CONNECT_MS)
        before, _stat = await zookeeper.get(CONTROLLER)
        if name == "delete-controller":
            await zookeeper.delete(CONTROLLER)
            return f"{CONTROLLER} is deleted; it held {before.decode('utf-8', 'replace')}"
        [broker] = brokers
        data = json.dumps({"version": 1, "brokerid": broker, "timestamp": "0"}).encode()
        await zookeeper.set(CONTROLLER, data)
        return f"{CONTROLLER} names broker {broker} now"
    except ZkError as error:
        if error.code is ZkErrorCode.NO_NODE:
            raise ActFailedError(
                f"there is no {CONTROLLER} now: no broker is the controller"
            ) from None
        raise ActFailedError(f"ZooKeeper did not do it: {error}") from error
    finally:
        await zookeeper.close()
