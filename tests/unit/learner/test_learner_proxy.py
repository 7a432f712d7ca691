"""Learners' parts of a metadata proxy: their answers are carried out. Where a part fails, our own
code answers.
"""

from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import Any

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.clients.proxy.coordinators import Coordinators
from kafka_edu.clients.proxy.health import Health
from kafka_edu.clients.proxy.metadata_rewrite import MetadataRewrite
from kafka_edu.clients.proxy.routes import Choice, Route, Routes
from kafka_edu.cluster.metadata_response import NOT_ASKED
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.learner import (
    learner_coordinators,
    learner_health,
    learner_metadata_layout,
    learner_metadata_rewrite,
    learner_routes,
)
from kafka_edu.learner.seams import FAILURES_ALLOWED, PROXY, SEAMS, LearnerError
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

from .conftest import Load

Made = tuple[Any, list[LearnerError]]
Make = Callable[[str, str], Made]
ADAPTERS: dict[str, Any] = {
    "08-1": learner_metadata_rewrite,
    "08-2": learner_routes,
    "08-3": learner_health,
    "08-4": learner_coordinators,
    "08-5": learner_metadata_layout,
}
OURS: dict[str, Any] = {
    "08-1": MetadataRewrite,
    "08-2": Routes,
    "08-3": Health,
    "08-4": Coordinators,
    "08-5": encode_response,
}
ROUTES = (Route("a*", None, ("east",)), Route("*", None, ("east", "west")))


@pytest.fixture
def make(load: Load) -> Make:
    def go(exercise: str, text: str) -> Made:
        code, errors = load(exercise, text)
        return ADAPTERS[exercise].adapt(code), errors

    return go


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def topic(name: str, *replicas: int) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        name=name,
        partitions=[
            MetadataResponsePartition(
                partition_index=0,
                leader_id=replicas[0],
                leader_epoch=7,
                replica_nodes=list(replicas),
                isr_nodes=list(replicas),
            )
        ],
        topic_authorized_operations=9,
    )


def response() -> MetadataResponse:
    brokers = [MetadataResponseBroker(node_id=1, host="b", port=9092, rack="r")]
    told = topic("web", 1, 2)
    told.topic_authorized_operations = NOT_ASKED
    return MetadataResponse(brokers=brokers, controller_id=1, topics=[told])


@pytest.mark.parametrize("exercise", ADAPTERS)
def test_the_seams_are_where_the_proxy_looks(exercise: str) -> None:
    seam = SEAMS[exercise]
    assert seam.process == PROXY
    assert vars(import_module(seam.module))[seam.name] is OURS[exercise]


def test_the_references_answer_as_ours_do(make: Make) -> None:
    rewrite, routes, health, coordinators, encode = (make(one, right(one)) for one in ADAPTERS)
    random = Random(8)
    led, health_of = routes[0](ROUTES), health[0](2, 3)
    ours_led, ours_health = Routes(ROUTES), Health(2, 3)
    topics = {"web": topic("web", 1, 2), "audit": topic("audit", 2, 3)}
    for _ in range(60):
        names, version = random.choice((None, ["web", "no"])), random.randrange(9)
        alive = random.sample(range(1, 4), 2)
        came = rewrite[0]().topics(names, version, topics, alive)
        assert came == MetadataRewrite().topics(names, version, topics, alive)
        client = random.choice(("a1", "b", "c"))
        assert led.clusters_for(client, None) == ours_led.clusters_for(client, None)
        serves = random.choice((frozenset({"east"}), frozenset(), frozenset({"east", "west"})))
        asked = (client, "10.0.0.1", None, serves.__contains__)
        assert led.choose(*asked).cluster == ours_led.choose(*asked).cluster
        answered = random.random() < 0.5
        assert health_of.saw(answered) == ours_health.saw(answered)
        leaders = [random.randrange(-1, 4) for _ in range(6)]
        assert coordinators[0]().find(client, leaders, alive) == Coordinators().find(
            client, leaders, alive
        )
        assert encode[0](ApiKey.METADATA, version, 5, response()) == encode_response(
            ApiKey.METADATA, version, 5, response()
        )
    assert rewrite[1] == routes[1] == health[1] == coordinators[1] == encode[1] == []


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    rewrite, errors = make(
        "08-1", "class Rewrite:\n    def topics(self, *_):\n        return [(5, 'web', True, [])]\n"
    )
    (came,) = rewrite().topics(["web"], 5, {"web": topic("web", 1)}, [1])
    assert (came.error_code, came.is_internal, came.partitions) == (5, True, [])
    assert came.topic_authorized_operations == 9, "what learners are not told stays"
    led, more = make(
        "08-2",
        "class Routes:\n    def __init__(self, rules): pass\n"
        "    def clusters_for(self, *_): return ['west']\n"
        "    def choose(self, *_): return 'west'\n",
    )
    assert led(ROUTES).clusters_for("a", None) == ("west",)
    assert led(ROUTES).choose("a", "", None, lambda _: True) == Choice("west", "")
    down, again = make(
        "08-3",
        "class Health:\n    def __init__(self, *_): pass\n    def saw(self, _): return 'Down'\n",
    )
    assert down(2, 2).saw(True).value == "Down"
    find, last = make("08-4", "class Coordinators:\n    def find(self, *_): return 2\n")
    assert find().find("g", [1], [1, 2]) == 2
    layout, none = make(
        "08-5", "class Layout:\n    def fields(self, part, _): return ['controller_id']\n"
    )
    (body,) = layout(ApiKey.METADATA, 1, 5, response())
    assert bytes(body) == bytes.fromhex("00000008 00000005 00000001")
    assert errors == more == again == last == none == []


@pytest.mark.parametrize(
    "answer",
    ["None", "5", "[(99999, 'a', True, [])]", "[(0, 'a', 1, [])]", "[(0, 'a', True, [(0, 1)])]"],
)
def test_topics_that_are_none_are_an_error_and_ours_answers(make: Make, answer: str) -> None:
    rewrite, errors = make(
        "08-1", f"class Rewrite:\n    def topics(self, *_):\n        return {answer}\n"
    )
    (came,) = rewrite().topics(["web"], 5, {"web": topic("web", 1)}, [1])
    assert came.name == "web"
    assert "expected a list of (error, name, internal, partitions)" in errors[0].message


@pytest.mark.parametrize("answer", ["'north'", "'west'", "3"])
def test_a_cluster_that_does_not_serve_is_an_error_and_ours_chooses(
    make: Make, answer: str
) -> None:
    led, errors = make(
        "08-2",
        "class Routes:\n    def __init__(self, rules): pass\n"
        "    def clusters_for(self, *_): return ['north']\n"
        f"    def choose(self, *_): return {answer}\n",
    )
    made = led(ROUTES)
    assert made.choose("b", "", None, lambda one: one == "east").cluster == "east"
    assert made.clusters_for("a", None) == ("east",)
    assert len(errors) == 2


@pytest.mark.parametrize("answer", ["None", "True", "'Unknown'"])
def test_no_state_is_an_error_and_ours_goes_on_from_all_that_was_seen(
    make: Make, answer: str
) -> None:
    health, errors = make(
        "08-3",
        "class Health:\n    def __init__(self, *_): self.n = 0\n    def saw(self, _):\n"
        f"        self.n += 1\n        return 'Up' if self.n < 3 else {answer}\n",
    )
    made = health(2, 1)
    assert [made.saw(one).value for one in (True, False, False)] == ["Up", "Up", "Down"]
    assert made.saw(True).value == "Up"
    assert len(errors) == 1


@pytest.mark.parametrize("answer", ["7", "None", "True", "'1'"])
def test_no_broker_is_an_error_and_ours_answers(make: Make, answer: str) -> None:
    find, errors = make(
        "08-4", f"class Coordinators:\n    def find(self, *_):\n        return {answer}\n"
    )
    assert find().find("g", [1], [1, 2]) == 1
    assert "expected a broker that lives" in errors[0].message


@pytest.mark.parametrize("answer", ["None", "['rack']", "3"])
def test_no_field_is_an_error_and_ours_encodes(make: Make, answer: str) -> None:
    layout, errors = make(
        "08-5", f"class Layout:\n    def fields(self, *_):\n        return {answer}\n"
    )
    for version in (1, 9):
        came = layout(ApiKey.METADATA, version, 5, response())
        assert came == encode_response(ApiKey.METADATA, version, 5, response())
    assert len(errors) == 1, "version 9 is not asked for"
    told = FindCoordinatorResponse(node_id=1, host="b", port=1)
    assert b"".join(map(part_bytes, layout(ApiKey.FIND_COORDINATOR, 1, 5, told)))


def test_after_three_failures_ours_stays(make: Make) -> None:
    find, errors = make("08-4", "class Coordinators:\n    def find(self, *_): return 1 / 0\n")
    rewrite, more = make("08-1", "class Rewrite:\n    def topics(self, *_): return 1 / 0\n")
    for _ in range(FAILURES_ALLOWED + 2):
        assert find().find("g", [1], [1]) == 1
        assert rewrite().topics(["no"], 5, {}, [1])[0].error_code == (
            Errors.UNKNOWN_TOPIC_OR_PARTITION
        )
    assert len(errors) == len(more) == FAILURES_ALLOWED
