"""A load on a simulated cluster: the same producers and consumers as those of `kafka-edu load`.

The load is a separate simulated process. It creates its topic if the topic does not exist, as the
command `kafka-edu load` does.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from kafka_edu.clients.load.load import (
    PARTITIONS,
    TICK_S,
    Load,
    LoadSpec,
    replicas_of_new_topic,
)
from kafka_edu.clients.load.own_clients import own_clients
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic import validate_topic_name
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import Source, SourceKind
from kafka_edu.trace.tracer import Tracer

AGAIN_S: Final = 0.2


def load_spec(options: Sequence[str]) -> LoadSpec:
    """Return the settings of a load from words such as `topic=web`. Raises ValueError."""
    given: dict[str, str] = dict(word.split("=", 1) for word in options)
    ours = LoadSpec()

    def number(name: str, default: int) -> int:
        value = given.get(name, str(default))
        if not value.isdigit():
            raise ValueError(f"{name}={value} is not a number")
        return int(value)

    acks = given.get("acks", ours.acks)
    if acks not in ("all", "1", "0"):
        raise ValueError(f"acks={acks} is not all, 1 or 0")
    topic = given.get("topic", ours.topic)
    try:
        validate_topic_name(topic)
    except KafkaException as error:
        raise ValueError(str(error)) from error
    return LoadSpec(
        topic=topic,
        rate=number("rate", ours.rate),
        acks=acks,
        keys=number("keys", ours.keys),
        size=number("size", ours.size),
        producers=number("producers", ours.producers),
        consumers=number("consumers", ours.consumers),
        group=given.get("group", ours.group),
    )


class SimLoad:
    """One load. `start` lets it run, `stop` lets it end."""

    def __init__(self, cluster: SimCluster, spec: LoadSpec) -> None:
        self._cluster = cluster
        self._spec = spec
        self._stop = False
        self._task: asyncio.Task[None] | None = None
        number = 1
        while Source(SourceKind.CLIENT, number) in cluster.guests:
            number += 1
        self._source = Source(SourceKind.CLIENT, number)
        self._trace = Tracer(self._source, cluster.time)
        cluster.listen_to(self._trace)
        cluster.guests[self._source] = self._trace

    def start(self) -> None:
        process = SimProcess(f"load-{self._source.id}")
        self._task = self._cluster.loop.spawn(process, self._run())

    def stop(self) -> None:
        self._stop = True

    async def _run(self) -> None:
        cluster, spec = self._cluster, self._spec
        await self._create_topic()
        if self._stop:
            del cluster.guests[self._source]
            return
        now_ms = cluster.time.milliseconds()
        load = Load(
            spec,
            own_clients(
                spec,
                ",".join(f"127.0.0.1:{cluster.port(broker)}" for broker in cluster.brokers),
                cluster.time,
                self._trace,
                transport=cluster.network.transport(),
                chance=SeededRandom(f"{cluster.seed}/load/{now_ms}"),
                first=now_ms * 1_000_000,
            ),
            self._trace,
        )
        load.start()
        while not self._stop:
            load.tick()
            await asyncio.sleep(TICK_S)
        await load.finish()
        del cluster.guests[self._source]

    async def _create_topic(self) -> None:
        admin = SimClient(self._cluster, "load-admin")
        replicas, settings = replicas_of_new_topic(len(self._cluster.brokers))
        topic = self._spec.topic
        while not self._stop:
            try:
                made = await admin.create_topic(topic, PARTITIONS, replicas, settings)
            except (OSError, TimeoutError, KeyError):  # no controller is known, or it has just gone
                made = Errors.NOT_CONTROLLER
            if made in (Errors.NONE, Errors.TOPIC_ALREADY_EXISTS):
                return
            await asyncio.sleep(AGAIN_S)
