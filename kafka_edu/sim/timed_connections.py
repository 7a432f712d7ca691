"""The connections of one simulated client. AnswerDeadlines measures the time of each request.

The clients in the search by seeds use this class: PipelinedProducer, GroupReader and ProbeClient.
"""

import random
from typing import Final, NamedTuple, TypeVar

from kafka_edu.clients.answer_deadlines import AnswerDeadlines, Answers, Pauses
from kafka_edu.clients.probe_requests import CLIENT_TIMEOUT_MS, Probe
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess

GIVE_UP_MS: Final = 120_000
CONNECT_TIMEOUT_MS: Final = 3_000
RETRY_MS: Final = 150
"""How long a client waits after its connection has failed, in ms."""

R = TypeVar("R", bound=Message)


class Gone(Exception):
    """The connection is closed, or it cannot be opened. The client tries again later."""


class Observed(NamedTuple):
    """A cluster, and the observations of all clients of a run, collected in one place."""

    cluster: SimCluster
    answers: Answers
    pauses: Pauses
    deadlines: set[AnswerDeadlines]
    """The deadlines of the requests on every open connection."""
    violations: list[str]
    """The responses that break the protocol, in words. If there is one, the run fails."""

    def now_ms(self) -> float:
        return self.cluster.time.nanoseconds() / 1e6

    async def sleep(self, ms: float) -> None:
        await self.cluster.time.sleep(ms)


class TimedConnections:
    """The connections of one client process, at most one to each broker, and the leaders that the
    client knows.
    """

    def __init__(self, observed: Observed, name: str) -> None:
        self.observed = observed
        self.process = SimProcess(name)
        self.leaders: dict[TopicPartition, int] = {}
        self._connections: dict[int, tuple[NetworkClient, AnswerDeadlines]] = {}

    async def connection(self, broker: int) -> tuple[NetworkClient, AnswerDeadlines]:
        """Return the connection to this broker. Open it if there is none. Raises Gone if that is
        not possible.
        """
        found = self._connections.get(broker)
        if found is not None and found[0].connected:
            return found
        if found is not None:
            self._close(broker, *found)
        observed = self.observed
        client = NetworkClient(observed.cluster.network.transport(), self.process.name)
        try:
            await client.connect("127.0.0.1", observed.cluster.port(broker), CONNECT_TIMEOUT_MS)
        except (OSError, TimeoutError):
            raise Gone from None
        deadlines = AnswerDeadlines(
            f"{self.process.name} {client.local}", broker, observed.answers, observed.pauses
        )
        observed.deadlines.add(deadlines)
        self._connections[broker] = client, deadlines
        return client, deadlines

    def _close(self, broker: int, client: NetworkClient, deadlines: AnswerDeadlines) -> None:
        client.close()
        deadlines.closed(self.observed.now_ms())
        self.observed.deadlines.discard(deadlines)
        if self._connections.get(broker) == (client, deadlines):
            del self._connections[broker]

    async def ask(self, broker: int, probe: Probe, answer_type: type[R]) -> R:
        """Send one request to a broker and return its response. Raises Gone if the connection
        fails.
        """
        client, deadlines = await self.connection(broker)
        return await self.ask_on(broker, client, deadlines, probe, answer_type)

    async def ask_on(
        self,
        broker: int,
        client: NetworkClient,
        deadlines: AnswerDeadlines,
        probe: Probe,
        answer_type: type[R],
        give_up_ms: float = GIVE_UP_MS,
    ) -> R:
        """Send one request on this connection and return its response. Raises Gone if the
        connection fails.

        Nothing is awaited before the request is sent, so requests are sent in the order of the
        calls. If no response comes within `give_up_ms`, the connection is closed.
        """
        if not client.connected:
            raise Gone
        deadlines.sent(probe.kind, probe.allowed_ms, self.observed.now_ms())
        try:
            response = await client.send(probe.request, probe.version, give_up_ms)
        except (OSError, TimeoutError):
            self._close(broker, client, deadlines)
            raise Gone from None
        except ProtocolError as error:
            self.observed.violations.append(
                f"broker {broker} broke the protocol on {deadlines.connection} at"
                f" {self.observed.now_ms():.0f} ms: {error}"
            )
            self._close(broker, client, deadlines)
            raise Gone from None
        deadlines.answered(self.observed.now_ms())
        if not isinstance(response, answer_type):
            raise TypeError(f"{probe.kind} is answered by {type(response).__name__}")
        return response

    async def refresh(self, topics: list[str], chance: random.Random) -> None:
        """Request the leaders of these topics from any broker. Raises Gone if no broker answers."""
        brokers = list(self.observed.cluster.brokers)
        chance.shuffle(brokers)
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in topics],
            allow_auto_topic_creation=False,
        )
        for broker in brokers:
            try:
                answer = await self.ask(
                    broker, Probe("Metadata", request, 8, CLIENT_TIMEOUT_MS), MetadataResponse
                )
            except Gone:
                continue
            for topic in answer.topics:
                for partition in topic.partitions:
                    tp = TopicPartition(topic.name or "", partition.partition_index)
                    self.leaders[tp] = partition.leader_id
            return
        raise Gone
