"""The pictures of chapter 08, made by the proxy's own classes.

They use its rules for routes, health and old versions, and the codec.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import Final, NamedTuple

import graphviz
from rich.table import Table
from rich.text import Text

from kafka_edu.clients.proxy.health import Health
from kafka_edu.clients.proxy.metadata_copy import MetadataCopy
from kafka_edu.clients.proxy.routes import Route, Routes
from kafka_edu.common.transport import part_bytes
from kafka_edu.instruments.drawings.figure import (
    BLUE,
    GREEN,
    GREY,
    RED,
    YELLOW,
    cell,
    new_figure,
    table,
    wrapped,
)
from kafka_edu.instruments.presenter.script import Picture
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_request, encode_response
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

from ..drawing import picture

TOPIC: Final = "ch08"
CLIENT: Final = "shop"
VERSION: Final = 5
"""The version of the Metadata request that a client of Kafka 2.0 sends."""
VERSIONS: Final = range(9)
BROKERS: Final = (0, 1, 2)
DEAD: Final = 2


def figures() -> Mapping[str, graphviz.Digraph]:
    """Draw the figures for the chapter's page, and return them by name."""
    return {
        "three-steps": _three_steps_figure(),
        "experiment": _experiment_figure(),
        "routes": _routes_figure(),
        "health": _health_figure(),
    }


# The three steps of a client's start.


@cache
def metadata(live: tuple[int, ...] = BROKERS) -> MetadataCopy:
    """Return a copy of the metadata of three brokers. Only the brokers in `live` are alive."""
    partitions = []
    for number in range(3):
        replicas = [(number + step) % 3 for step in range(3)]
        isr = [one for one in replicas if one in live]
        partitions.append(
            MetadataResponsePartition(
                partition_index=number,
                leader_id=isr[0],
                leader_epoch=1,
                replica_nodes=replicas,
                isr_nodes=isr,
                offline_replicas=[one for one in replicas if one not in live],
            )
        )
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=one, host="127.0.0.1", port=9092 + one) for one in live
        ],
        cluster_id="ZWR1LWthZmthLWVkdS1rYQ",
        controller_id=live[0],
        topics=[MetadataResponseTopic(name=TOPIC, partitions=partitions)],
    )
    return MetadataCopy(response, {ApiKey.METADATA: (0, 11)}, 11, "127.0.0.1:9092", 0)


def request_size(version: int = VERSION) -> int:
    """Return the size of a Metadata request for the topic, in bytes."""
    parts = encode_request(_request(), version, 1, CLIENT)
    return sum(len(part_bytes(part)) for part in parts)


def _request() -> MetadataRequest:
    return MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)])


def answer_size(version: int = VERSION, live: tuple[int, ...] = BROKERS) -> int:
    """Return the size of the proxy's answer, in bytes. The answer comes from the proxy's copy."""
    answer = metadata(live).metadata(_request(), version, [TOPIC], lambda _: True)
    parts = encode_response(ApiKey.METADATA, version, 1, answer)
    return sum(len(part_bytes(part)) for part in parts)


def three_steps() -> Picture:
    """Show a client's Metadata request, and the proxy's answer."""
    answers = Table("partition", "leader", "at", box=None)
    answer = metadata().response
    where = {one.node_id: f"{one.host}:{one.port}" for one in answer.brokers}
    for one in answer.topics[0].partitions:
        answers.add_row(f"{TOPIC}-{one.partition_index}", str(one.leader_id), where[one.leader_id])
    return picture(
        {"asked": request_size(), "told": answer_size()},
        Text(f"1  Metadata({TOPIC}), version {VERSION}: {request_size()} bytes"),
        Text(f"2  the answer: {answer_size()} bytes"),
        answers,
        Text("3  records, to the leader of their partition"),
    )


# Which cluster a client is sent to.

CLUSTERS: Final = ("east", "north", "west")
GONE: Final = "west"
ROUTES: Final = Routes(
    (Route("billing-*", None, (GONE,)), Route("*", None, CLUSTERS)),
)
ADDRESS: Final = "10.0.0.8"
CLIENTS: Final = ("billing-7", *(f"shop-{number}" for number in range(11)))
REFUSED: Final = "refused"


class Led(NamedTuple):
    """A client, and its cluster before and after one cluster is gone."""

    client: str
    before: str
    after: str


def led() -> list[Led]:
    """Remove one cluster, and return the cluster of each client before and after."""

    def choose(client: str, serving: Sequence[str]) -> str:
        choice = ROUTES.choose(client, ADDRESS, None, lambda one: one in serving)
        return choice.cluster or REFUSED

    rest = [one for one in CLUSTERS if one != GONE]
    return [Led(one, choose(one, CLUSTERS), choose(one, rest)) for one in CLIENTS]


def moved_by_modulo() -> int:
    """Return how many clients would change clusters by the rule hash modulo number of clusters.

    The number of a client serves as its hash here.
    """
    rest = [one for one in CLUSTERS if one != GONE]
    return sum(
        CLUSTERS[number % len(CLUSTERS)] != rest[number % len(rest)]
        for number in range(len(CLIENTS))
    )


def routes() -> Picture:
    """Show the cluster of each client before and after one cluster is gone."""
    shown = Table("client", "before", f"{GONE} is gone", box=None)
    for one in led():
        shown.add_row(one.client, one.before, one.after if one.after != one.before else "")
    moved = sum(one.before != one.after for one in led())
    return picture(
        {"moved": moved, "clients": len(CLIENTS), "modulo": moved_by_modulo()},
        *(Text(str(route)) for route in ROUTES.routes),
        shown,
    )


# The health of a cluster.

LOOKS: Final = "+--+---++"
DOWN_AFTER, UP_AFTER = 3, 2


def states(down_after: int, up_after: int) -> list[str]:
    """Return the health state after each health check."""
    health = Health(down_after, up_after)
    return [health.saw(one == "+").value for one in LOOKS]


def changes(down_after: int, up_after: int) -> int:
    """Return how often the state changes. The first state counts as a change."""
    found = ["", *states(down_after, up_after)]
    return sum(one != other for one, other in pairwise(found))


def health() -> Picture:
    """Show the results of the health checks, and the states with hysteresis and without."""
    shown = Table("look", *LOOKS, box=None)
    shown.add_row(f"down after {DOWN_AFTER}, up after {UP_AFTER}", *states(DOWN_AFTER, UP_AFTER))
    shown.add_row("at once", *states(1, 1))
    return picture({"changes": changes(DOWN_AFTER, UP_AFTER), "flaps": changes(1, 1)}, shown)


# Versions of the answer.


def versions() -> Picture:
    """Show the proxy's answers in all versions, while a broker is dead."""
    live = tuple(one for one in BROKERS if one != DEAD)
    shown = Table("version", "bytes", f"replicas of {TOPIC}-0", "error", "offline", box=None)
    for version in VERSIONS:
        answer = metadata(live).metadata(_request(), version, [TOPIC], lambda _: True)
        first = answer.topics[0].partitions[0]
        shown.add_row(
            str(version),
            str(answer_size(version, live)),
            ", ".join(map(str, first.replica_nodes)),
            str(int(first.error_code)),
            ", ".join(map(str, first.offline_replicas)) if version >= 5 else "-",
        )
    return picture({"v0": answer_size(0, live), "v8": answer_size(8, live)}, shown)


# The figures.


def _three_steps_figure() -> graphviz.Digraph:
    """Draw the book's figure 6-19: a client, the server that it bootstraps on, and the brokers."""
    legend = [(YELLOW, "bootstrap.servers"), (BLUE, "brokers")]
    figure = new_figure("three-steps", "What a client does first", legend)
    figure.node("client", "client", fillcolor=GREY, style="filled", shape="box")
    figure.node("server", "server", fillcolor=YELLOW, style="filled", shape="box")
    for one in BROKERS:
        figure.node(f"b{one}", f"broker {one}", fillcolor=BLUE, style="filled", shape="box")
        figure.edge("client", f"b{one}", label="3 records" if one == 1 else "")
    figure.edge("client", "server", label=f"1 Metadata?\n{request_size()} bytes")
    figure.edge("server", "client", label=f"2 brokers, leaders\n{answer_size()} bytes")
    return figure


def _experiment_figure() -> graphviz.Digraph:
    """Draw the book's figure 6-20: a proxy with a copy of the metadata, and its connections."""
    legend = [(YELLOW, "no broker"), (BLUE, "brokers")]
    figure = new_figure("experiment", "Boot on a server that is no broker", legend)
    figure.attr(rankdir="LR")
    for name in ("librdkafka", "kafka-python"):
        figure.node(name, name, fillcolor=GREY, style="filled", shape="box")
        figure.edge(name, "proxy", label="metadata")
        figure.edge(name, "brokers", label="records", color=GREEN, penwidth="2")
    figure.node("proxy", "metadata proxy", fillcolor=YELLOW, style="filled", shape="box")
    figure.node("brokers", "three brokers", fillcolor=BLUE, style="filled", shape="box")
    figure.edge("proxy", "brokers", label="copies", style="dashed")
    return figure


def _routes_figure() -> graphviz.Digraph:
    """Draw the cluster of each client before and after one cluster is gone."""
    colours = {"east": BLUE, "north": YELLOW, GONE: RED, REFUSED: GREY}
    legend = [(colours[one], one) for one in (*CLUSTERS, REFUSED)]
    figure = new_figure("routes", f"{GONE} is gone: only its clients move", legend)
    rows = []
    for one in led():
        cells = cell(one.before, colours[one.before]) + cell(one.after, colours[one.after])
        rows.append(f'<td border="0" align="left">{wrapped(one.client, 20)}</td>{cells}')
    figure.node("routes", shape="plaintext", label=table(rows))
    return figure


def _health_figure() -> graphviz.Digraph:
    """Draw the results of the health checks, and the states with hysteresis and without."""
    legend = [(GREEN, "up, or an answer"), (RED, "down, or a failure")]
    figure = new_figure("health", "With hysteresis, and without", legend)
    colours = {"Up": GREEN, "Down": RED, "+": GREEN, "-": RED}
    courses: dict[str, Sequence[str]] = {
        "looks": LOOKS,
        f"{DOWN_AFTER} and {UP_AFTER}": states(DOWN_AFTER, UP_AFTER),
        "at once": states(1, 1),
    }
    rows = []
    for name, course in courses.items():
        cells = "".join(cell(one, colours[one]) for one in course)
        rows.append(f'<td border="0" align="left">{wrapped(name, 20)}</td>{cells}')
    figure.node("health", shape="plaintext", label=table(rows))
    return figure


DRAWINGS: Final[Mapping[str, Callable[[], Picture]]] = {
    "three-steps": three_steps,
    "routes": routes,
    "health": health,
    "versions": versions,
}
