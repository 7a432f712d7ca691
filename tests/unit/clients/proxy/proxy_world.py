"""The core of a metadata proxy without sockets. Its copies of the metadata are made by the test,
and the test sends requests as a client does.
"""

from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.clients.proxy.metadata_proxy import Answer, MetadataProxy
from kafka_edu.clients.proxy.routes import parse_routes
from kafka_edu.clients.proxy.target import Address, Target
from kafka_edu.common.errors import Errors
from kafka_edu.common.time import MockTime
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import (
    decode_request_header,
    decode_response,
    encode_request,
    encode_response,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.trace.event import PROXY
from kafka_edu.trace.ring_sink import RingSink
from kafka_edu.trace.tracer import Tracer

OPERATIONS = 3400


def partition(number, leader, replicas, isr=None, error=Errors.NONE):
    isr = replicas if isr is None else isr
    offline = [replica for replica in replicas if replica not in isr]
    return MetadataResponsePartition(
        error_code=error,
        partition_index=number,
        leader_id=leader,
        leader_epoch=7,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline,
    )


def copy_of(
    topics, cluster_id="cluster-a", brokers=(1, 2), version=11, first_port=9092, produce=(0, 9)
):
    """Return a copy. `topics` maps a name to its partitions."""
    return MetadataCopy(
        MetadataResponse(
            brokers=[
                MetadataResponseBroker(
                    node_id=b, host="10.0.0.1", port=first_port + b, rack=f"r{b}"
                )
                for b in brokers
            ],
            cluster_id=cluster_id,
            controller_id=brokers[0],
            topics=[
                MetadataResponseTopic(
                    name=name, partitions=partitions, topic_authorized_operations=OPERATIONS
                )
                for name, partitions in topics.items()
            ],
            cluster_authorized_operations=OPERATIONS,
        ),
        {ApiKey.METADATA: (0, version), ApiKey.PRODUCE: produce, ApiKey.API_VERSIONS: (0, 3)},
        version,
        "10.0.0.1:9093",
        1_600_000_000_000,
    )


class Proxy:
    """A MetadataProxy that is used through the bytes of requests and answers.

    Requests are encoded as clients encode them, and answers are decoded as clients decode them.
    """

    def __init__(self, clusters=("a",), rules=(), find_coordinator=False, target_versions=False):
        self.time = MockTime()
        self.ring = RingSink()
        trace = Tracer(PROXY, self.time)
        trace.add_sink(self.ring)
        self.targets = {
            name: Target(name, [Address(f"{name}.example", 9092)], trace) for name in clusters
        }
        routes = parse_routes([(f"rule {i}", rule) for i, rule in enumerate(rules, 1)], clusters)
        self.core = MetadataProxy(
            list(self.targets.values()),
            routes,
            find_coordinator=find_coordinator,
            target_versions=target_versions,
        )

    def answer(self, request, version, client_id="test", address="127.0.0.1"):
        """Return Answer or Refusal."""
        frame = b"".join(map(part_bytes, encode_request(request, version, 7, client_id)))[4:]
        header, body_offset = decode_request_header(frame)
        return self.core.answer(header, address, frame, body_offset)

    def ask(self, request, version, client_id="test", address="127.0.0.1"):
        """Return the decoded response."""
        answer = self.answer(request, version, client_id, address)
        assert isinstance(answer, Answer), answer
        sent = b"".join(
            map(part_bytes, encode_response(request.KEY, answer.version, 7, answer.response))
        )[4:]
        correlation_id, response = decode_response(request.KEY, version, sent)
        assert correlation_id == 7
        return response

    def events(self, name):
        return [envelope.event for envelope in self.ring.events if envelope.name == name]
