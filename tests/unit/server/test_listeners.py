"""Listeners as Apache Kafka accepts, advertises and reports them (spec B4).

tests/golden/listeners/record.py recorded Kafka's answers.
"""

import re
from pathlib import Path

import pytest

from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.create_topics import CreateTopicsResponse
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataResponse
from kafka_edu.server.config.kafka_config import ConfigFileError, Setting, make_config
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from tests.golden.listeners import listener_cases as story

GOLDEN = Path(__file__).parents[2] / "golden" / "listeners"
CASES = (GOLDEN / "cases.txt").read_text().splitlines()
VERSIONS = ("2.0.1", "2.8.2")

#: Settings that we refuse and Kafka accepts, each with the reason. docs/differences.md lists them.
REFUSED_HERE = {
    "listeners=PLAINTEXT://[::]:9092": "cannot be advertised",
    "listeners=PLAINTEXT://127.0.0.1:9092;advertised.listeners=PLAINTEXT://[::]:9092": (
        "cannot be advertised"
    ),
    "listeners=PLAINTEXT://127.0.0.1:70000": "the value must be NAME://HOST:PORT",
    "listeners=PLAINTEXT://127.0.0.1:-1": "the value must be NAME://HOST:PORT",
    "listeners=PLAINTEXT://127.0.0.1:9092;listener.security.protocol.map=PLAINTEXT:PLAINTEXT,PLAINTEXT:SSL": (  # noqa: E501
        "SSL is not served yet"
    ),
}


def golden(version):
    return dict(
        zip(CASES, (GOLDEN / f"kafka-{version}-configs.txt").read_text().splitlines(), strict=True)
    )


def said(case):
    """Return our result for a case in the form of ListenerConfigs.java, with the place of an
    error.
    """
    settings = {
        key: Setting(value, f"line of {key}")
        for key, _, value in (pair.partition("=") for pair in case.split(";") if pair)
    }
    try:
        config, _ = make_config(
            {
                "zookeeper.connect": Setting("h:1", ""),
                **{key: s._replace(value=s.value.strip()) for key, s in settings.items()},
            }
        )
    except ConfigFileError as error:
        return f"refused: {error}"
    advertised = config.advertised_listeners(
        {end_point.listener_name: end_point.port for end_point in config.listeners}
    )
    return (
        f"listeners {_shown(config.listeners)} advertised {_shown(advertised)} inter-broker"
        f" {config.inter_broker_listener_name}"
    )


def _shown(end_points):
    return " ".join(map(str, end_points))


def kafkas(line):
    """Return Kafka's line with end points as in a properties file.

    An end point without a host means all interfaces in Kafka. Here it becomes loopback, as in ours.
    """

    def end_point(match):
        host = (
            "127.0.0.1" if match[1] == "null" else f"[{match[1]}]" if ":" in match[1] else match[1]
        )
        return f"{match[3]}://{host}:{match[2]}"

    return re.sub(
        r"ListenerName\((.*?)\)",
        r"\1",
        re.sub(r"EndPoint\((.*?),(-?\d+),ListenerName\((.*?)\),\w+\)", end_point, line),
    )


@pytest.mark.parametrize("case", CASES)
def test_what_kafka_takes_we_take_and_advertise_the_same(case):
    theirs = [kafkas(golden(version)[case]) for version in VERSIONS]
    ours = said(case)
    if case in REFUSED_HERE:
        assert ours.startswith("refused: ")
        assert REFUSED_HERE[case] in ours
        assert not theirs[-1].startswith("refused: ")
    elif ours.startswith("refused: "):
        assert any(line.startswith("refused: ") for line in theirs), (ours, theirs)
    elif case == "listeners=PLAINTEXT://127.0.0.1:9092;advertised.listeners=PLAINTEXT://b:0":
        assert ours == theirs[-1].replace(
            "b:0", "b:9092"
        )  # Kafka fills in the bound port later, when it registers
    else:
        assert ours in theirs, (ours, theirs)


def test_each_reason_to_refuse_is_told_with_its_place_and_what_would_be_right():
    told = {case: said(case) for case in CASES}
    both = "listeners=PLAINTEXT://127.0.0.1:9092;inter.broker.listener.name=PLAINTEXT;security.inter.broker.protocol=PLAINTEXT"
    assert (
        told[both]
        == "refused: line of inter.broker.listener.name: Only one of inter.broker.listener.name and"
        " security.inter.broker.protocol should be set."
    )
    assert (
        told["listeners=PLAINTEXT://0.0.0.0:9092"]
        == "refused: line of listeners: PLAINTEXT://0.0.0.0:9092 cannot be advertised: no client"
        " can connect to 0.0.0.0; set advertised.listeners to a real address"
    )
    assert (
        told["listeners=PLAINTEXT://127.0.0.1:9092;security.inter.broker.protocol=NONSENSE"]
        == "refused: line of security.inter.broker.protocol: Invalid value NONSENSE for"
        " configuration security.inter.broker.protocol: the value must be one of PLAINTEXT, SSL,"
        " SASL_PLAINTEXT, SASL_SSL"
    )


class TwoDoors(SimCluster):
    """The story's brokers in virtual time."""

    def __init__(self):
        super().__init__(11, range(story.BROKERS))
        self.inside = {broker: self.port(broker) for broker in self.brokers}
        self.outside = {broker: 10_000 + self.port(broker) for broker in self.brokers}

    def config(self, broker_id):
        self._properties = story.properties(broker_id, self.inside, self.outside)
        return super().config(broker_id)

    def ask(self, port, request, version, response_type):
        async def body():
            client = NetworkClient(self.network.transport(), "client")
            await client.connect("127.0.0.1", port, 1000)
            try:
                return await client.ask(request, version, response_type, 30_000)
            finally:
                client.close()

        return self.run_as(SimProcess("client"), body())


@pytest.fixture(scope="module")
def by_doors():
    """Return the lines that record.py writes, from our brokers."""
    cluster = TwoDoors()
    cluster.start_all()
    controller = cluster.ask(
        cluster.inside[0], MetadataRequest(topics=[]), 5, MetadataResponse
    ).controller_id
    cluster.ask(cluster.inside[controller], story.create_topic(), 2, CreateTopicsResponse)
    cluster.advance(2000)
    lines = []
    for listener, broker in story.DOORS:
        port = (cluster.inside if listener == "INSIDE" else cluster.outside)[broker]
        for version in story.VERSIONS:
            response = cluster.ask(port, story.metadata(), version, MetadataResponse)
            lines += [
                f"{listener} of {broker}, version {version}",
                *story.told(response, cluster.inside),
            ]
    return lines


def test_the_door_by_which_a_client_comes_decides_what_metadata_tells(by_doors):
    assert by_doors == (GOLDEN / "kafka-2.8.2-metadata.txt").read_text().splitlines()


def test_what_kafka_2_0_told_otherwise(by_doors):
    """Kafka 2.0 reported no ISR for a partition without a reachable leader. We report the ISR, as
    2.8 does (docs/differences.md).
    """
    older = (GOLDEN / "kafka-2.0.1-metadata.txt").read_text().splitlines()
    differ = [
        (ours, theirs) for ours, theirs in zip(by_doors, older, strict=True) if ours != theirs
    ]
    assert differ
    assert all(
        "leader -1" in ours and re.sub(r"isr \[.*?\]", "isr []", ours) == theirs
        for ours, theirs in differ
    )
