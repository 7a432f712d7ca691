from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_edu.clients.proxy.metadata_proxy import Refusal
from kafka_edu.clients.proxy.routes import RouteError, parse_routes
from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.unit.clients.proxy.proxy_world import Proxy, copy_of, partition

CLUSTERS = ("east", "west", "money")
RULES = (
    "client=billing-* to=money",
    "topic=audit.* to=west",
    "client=probe? topic=ping to=east,west",
    "to=east,west",
)


def routes(*rules):
    return parse_routes([(f"line {i}", rule) for i, rule in enumerate(rules, 1)], CLUSTERS)


def test_the_first_rule_that_matches_counts():
    asked = routes("", "# who goes where", *RULES)
    assert asked.clusters_for("billing-7", "audit.log") == ("money",)
    assert asked.clusters_for("web", "audit.log") == ("west",)
    assert asked.clusters_for("web", "audit") == ("east", "west")
    assert asked.clusters_for("web", None) == ("east", "west")
    assert asked.clusters_for("probe1", "ping") == ("east", "west")


def test_without_rules_everybody_is_spread_over_all():
    assert routes().clusters_for("", None) == CLUSTERS


def test_where_a_client_may_be_led_to():
    asked = routes(*RULES)
    assert asked.reachable("billing-7") == {"money"}
    assert asked.reachable("web") == {"west", "east"}
    assert routes("client=a to=east", "client=b to=west").reachable("c") == set()


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (("client=a",), "line 1: it does not say where to: to=CLUSTER[,CLUSTER…]"),
        (
            ("to=east", "client=a to=west"),
            (
                "line 2: client=a to=west is never used, because client=* to=east comes first"
                " (line 1)"
            ),
        ),
        (
            ("client=a to=east", "client=a topic=t to=west", "to=east"),
            "line 2: client=a topic=t to=west is never used",
        ),
        (
            ("topic=t to=east", "client=a topic=t to=west", "to=east"),
            "line 2: client=a topic=t to=west is never used, because client=* topic=t",
        ),
        (("to=north",), "line 1: there is no cluster north, only east, west, money"),
        (("to=east,",), "line 1: there is no cluster (empty name)"),
        (("to=east,east",), "line 1: to names a cluster twice"),
        (("to=east to=west",), "line 1: to is given twice"),
        (
            ("user=a to=east",),
            "line 1: user=a is not client=PATTERN, topic=PATTERN or to=CLUSTER[,CLUSTER…]",
        ),
        (("client= to=east",), "line 1: client= is not"),
        (
            ("topic=t to=east",),
            "no rule says where a request without a topic goes: end with to=CLUSTER",
        ),
    ],
)
def test_wrong_rules_are_refused_with_their_place(rules, said):
    with pytest.raises(RouteError) as told:
        routes(*rules)
    assert str(told.value).startswith(said)


def test_clients_are_spread_and_each_stays():
    asked = routes()
    chosen = {
        f"client-{i}": asked.choose(f"client-{i}", "10.0.0.9", None, lambda _: True).cluster
        for i in range(600)
    }
    assert min(Counter(chosen.values()).values()) > 150
    assert all(
        asked.choose(client, "10.0.0.9", None, lambda _: True).cluster == cluster
        for client, cluster in chosen.items()
    )


def test_clients_without_an_id_of_their_own_are_spread_by_address():
    asked = routes()
    assert {
        asked.choose("rdkafka", f"10.0.0.{i}", None, lambda _: True).cluster for i in range(40)
    } == set(CLUSTERS)


@given(st.text(max_size=20), st.text(max_size=20), st.sets(st.sampled_from(CLUSTERS), min_size=1))
def test_only_the_clients_of_a_cluster_that_is_left_out_move(client, address, living):
    asked = routes()
    before = asked.choose(client, address, None, lambda _: True).cluster
    now = asked.choose(client, address, None, lambda cluster: cluster in living).cluster
    assert now in living
    if before in living:
        assert now == before


def test_who_has_no_route_or_no_living_target_is_told_why():
    asked = routes("client=a to=east", "client=b topic=t to=west")
    assert asked.choose("c", "h", None, lambda _: True).reason == "no route for client c"
    assert (
        asked.choose("", "h", "t", lambda _: True).reason
        == "no route for client (no id) and topic t"
    )
    assert asked.choose("a", "h", None, lambda _: False).reason == "no target answers of east"


def ask(proxy, client_id, *names):
    topics = [MetadataRequestTopic(name=name) for name in names] if names else None
    return proxy.ask(MetadataRequest(topics=topics), 5, client_id=client_id)


def test_a_client_belongs_to_one_cluster_and_sees_no_topic_of_another():
    proxy = Proxy(("east", "west"), ("topic=audit.* to=west", "to=east"))
    proxy.targets["east"].copied(
        copy_of({"web": [partition(0, 1, [1])], "audit.old": [partition(0, 1, [1])]}, "E"), 1
    )
    proxy.targets["west"].copied(copy_of({"audit.log": [partition(0, 2, [2])]}, "W"), 1)
    assert ask(proxy, "c", "audit.log").cluster_id == "W"
    mixed = ask(proxy, "c", "web", "audit.log")
    assert mixed.cluster_id == "E"
    assert [(t.name, t.error_code) for t in mixed.topics] == [
        ("web", Errors.NONE),
        ("audit.log", Errors.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [t.name for t in ask(proxy, "c").topics] == ["web"]


def test_a_target_that_is_down_is_left_out_and_comes_back():
    proxy = Proxy(("east", "west"), ("client=pinned to=west", "to=east,west"))
    for name, cluster_id in (("east", "E"), ("west", "W")):
        proxy.targets[name].copied(copy_of({}, cluster_id), 1)
    clients = [f"c{i}" for i in range(40)]
    before = {client: ask(proxy, client).cluster_id for client in clients}
    assert set(before.values()) == {"E", "W"}
    proxy.targets["west"].failed("no answer")
    assert {client: ask(proxy, client).cluster_id for client in clients} == before
    proxy.targets["west"].failed("no answer")
    assert {ask(proxy, client).cluster_id for client in clients} == {"E"}
    assert proxy.answer(MetadataRequest(topics=None), 5, client_id="pinned") == Refusal(
        "no target answers of west"
    )
    proxy.targets["west"].copied(copy_of({}, "W"), 1)
    assert {client: ask(proxy, client).cluster_id for client in clients} == before
    assert [(e.target, e.before, e.after) for e in proxy.events("TargetStateChanged")] == [
        ("east", "Unknown", "Up"),
        ("west", "Unknown", "Up"),
        ("west", "Up", "Down"),
        ("west", "Down", "Up"),
    ]
