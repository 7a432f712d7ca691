"""The cluster and the proxy for the live parts about the metadata proxy.

The learner's code runs in a proxy in front of a real cluster. Unmodified clients use the proxy, and
the live part sends it requests of any version.
"""

import contextlib
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from kafka import KafkaProducer
from kafka.errors import KafkaError

from kafka_edu.common.transport import part_bytes
from kafka_edu.common.words import plural
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.supervisor.running_proxy import RunningProxy, running_proxy
from kafka_edu.trace.events.learner import LearnerFailed, LearnerServed
from kafka_edu.trace.events.proxy import MetadataCopied

from .runner.manifest import Exercise
from .runner.topics import make_topic
from .runner.verdict import Step

M = TypeVar("M", bound=Message)
E = TypeVar("E")
#: The proxy refreshes its metadata often (each 200 ms). It waits long for a broker's response (20
#: s), because the machine may be busy.
OPTIONS: Final = ("--refresh-ms", "200", "--timeout-ms", "20000")
ANSWER_S: Final = 30.0
_LOOK_EVERY_S: Final = 0.05


class LearnerProxy:
    """A proxy that runs the learner's code, and the cluster behind the proxy."""

    def __init__(
        self, cluster: Cluster, proxy: RunningProxy, address: str, patience_s: float
    ) -> None:
        self.cluster = cluster
        self.proxy = proxy
        self.address = address
        """The proxy's address, as host:port."""
        self.patience_s = patience_s

    def events_of(self, kind: type[E]) -> list[E]:
        """Return the events of the type `kind` that the proxy has emitted so far."""
        return [one.event for one in self.proxy.events() if isinstance(one.event, kind)]

    def wait_for(self, done: Callable[[], bool]) -> bool:
        """Wait until `done` returns True. Return False if that takes more than `patience_s`
        seconds.
        """
        end = time.monotonic() + self.patience_s
        while not done():
            if time.monotonic() > end:
                return False
            time.sleep(_LOOK_EVERY_S)
        return True

    def wait_for_brokers(self, brokers: Sequence[int], topic: str = "") -> bool:
        """Wait until the proxy's copy of the metadata has exactly the brokers `brokers`, and has
        the topic if a topic is given. Return False if this does not happen in time.
        """

        def has_come() -> bool:
            copies = self.events_of(MetadataCopied)
            if not copies or copies[-1].brokers != tuple(brokers):
                return False
            return not topic or self._has(topic)

        return self.wait_for(has_come)

    def _has(self, topic: str) -> bool:
        try:
            answer = metadata(self.address, [topic], 5)
        except (OSError, ProtocolError):
            return False
        return all(not one.error_code for one in answer.topics)

    def judge_calls(self, seen: str) -> Step:
        """Stop the proxy. The step passes if the learner's code was called and no call failed."""
        says = "your code did it, without an error"
        self.proxy.stop()
        failed = self.events_of(LearnerFailed)
        if failed:
            first = failed[0]
            where = f"line {first.line}: " if first.line else ""
            return Step(says, False, f"{where}{first.message} ({failed[-1].failures} times)")
        calls = sum(one.total.calls for one in self.events_of(LearnerServed))
        if calls == 0:
            return Step(says, False, "the proxy did not ask your class once")
        return Step(says, True, f"asked {calls:,} times; {seen}")


@contextmanager
def learner_proxy(
    exercise: Exercise,
    file: Path | None,
    say: Callable[[str], None],
    patience_s: float,
    *,
    brokers: int = 2,
    props: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[LearnerProxy]:
    """Run a cluster, and a proxy in front of it, for the length of a `with` block.

    The proxy runs the learner's `file`. If `file` is None, it runs the course's own code. Raises
    ClusterError.
    """
    say(
        f"starting {plural(brokers, 'broker')}, and a proxy with"
        f" {'yours' if file is not None else 'ours'}"
    )
    with (
        running_cluster(f"lab-{exercise.id}", brokers=brokers, props=props) as cluster,
        proxy_before({"": cluster}, exercise, file, options) as (proxy, address),
    ):
        yield LearnerProxy(cluster, proxy, address, patience_s)


@contextmanager
def proxy_before(
    targets: Mapping[str, Cluster], exercise: Exercise, file: Path | None, options: Sequence[str]
) -> Iterator[tuple[RunningProxy, str]]:
    """Run a proxy in front of the clusters `targets`. Yield the running proxy and its address.

    The keys of `targets` are the clusters' names. A single cluster may have the empty name.
    """
    words = [*OPTIONS, *options]
    for name, cluster in targets.items():
        words += ["--target", f"{name}={cluster.bootstrap_servers}".removeprefix("=")]
    if file is not None:
        words += ["--learner", f"{exercise.id}={file.absolute()}"]
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as folder,
        running_proxy(Path(folder), *words) as running,
    ):
        yield running


def ask(address: str, request: Message, version: int, kind: type[M], client: str = "lab") -> M:
    """Send a request to `address`, and return the response.

    Raises OSError if there is no connection or it is closed without a response. Raises
    ProtocolError if the response cannot be decoded.
    """
    host, _, port = address.rpartition(":")
    frame = b"".join(map(part_bytes, encode_request(request, version, 1, client)))
    key = type(request).KEY
    assert key is not None
    with socket.create_connection((host, int(port)), timeout=ANSWER_S) as connection:
        connection.sendall(frame)
        size = struct.unpack(">i", _exactly(connection, 4))[0]
        _, answer = decode_response(key, version, _exactly(connection, size))
    assert isinstance(answer, kind)
    return answer


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        came = connection.recv(size - len(data))
        if not came:
            raise ConnectionError("the connection was closed in place of an answer")
        data += came
    return data


def metadata(
    address: str, topics: Sequence[str], version: int, client: str = "lab"
) -> MetadataResponse:
    """Request the metadata of the given topics, and return the response. Raises OSError and
    ProtocolError.
    """
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name) for name in topics])
    if version >= 4:
        request.allow_auto_topic_creation = False
    return ask(address, request, version, MetadataResponse, client)


def send_by_proxy(proxy: LearnerProxy, topic: str, records: int) -> Step:
    """Let an unmodified client find the brokers through the proxy, and send records to them.

    The step passes if all records are acknowledged.
    """
    says = "a client boots on the proxy, and the brokers acknowledge its records"
    make_topic(proxy.cluster, topic, proxy.cluster.broker_ids, 3)
    if not proxy.wait_for_brokers(proxy.cluster.broker_ids, topic):
        return Step(says, False, f"the proxy's answer has no topic {topic}", late=True)
    acked = 0
    try:
        with contextlib.closing(
            KafkaProducer(
                bootstrap_servers=proxy.address,
                acks="all",
                retries=0,
                linger_ms=0,
                enable_idempotence=False,
                max_block_ms=round(proxy.patience_s * 1_000),
            )
        ) as producer:
            sent = [producer.send(topic, b"by a proxy", partition=n % 3) for n in range(records)]
            producer.flush(proxy.patience_s + 30)
            acked = sum(one.succeeded() for one in sent)
    except KafkaError as error:
        return Step(says, False, f"{type(error).__name__}: {error}", late=True)
    return Step(says, acked == records, f"{acked} of {records} acked", late=acked < records)
