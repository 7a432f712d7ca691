"""A client's connections: their states, the requests in flight, and the pauses between attempts."""

import random

import pytest

from kafka_edu.clients.client_connections import (
    SILENT_MS,
    ClientConnections,
    Close,
    Connect,
    ConnectionsConfig,
    ConnectionState,
    Send,
)
from kafka_edu.clients.metadata import Metadata
from kafka_edu.clients.throttling import FIRST_THROTTLED_VERSION
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import encode_response
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.metadata import MetadataRequest
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from tests.golden.throttling.record import recorded
from tests.unit.clients.producer.parts import Core

CONFIG = ConnectionsConfig("c", 1_000, 100, 400, 5_000, 2_000, 2)
ASK = FindCoordinatorRequest(key="g", key_type=0)


def connections() -> ClientConnections:
    return ClientConnections(CONFIG, Metadata([("a", 1)], 100, 1_000, 5_000), random.Random(0))


def frame(key: ApiKey, version: int, correlation_id: int, message: Message) -> bytes:
    parts = encode_response(key, version, correlation_id, message)
    return b"".join(bytes(part_bytes(part)) for part in parts)[4:]


def versions(error: int = 0) -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=ApiKey.FIND_COORDINATOR, min_version=0, max_version=2)]
    return ApiVersionsResponse(
        error_code=error,
        api_keys=keys,
        throttle_time_ms=0,
        supported_features=[],
        finalized_features=[],
    )


def opened() -> ClientConnections:
    client = connections()
    assert not client.ready(-1, 0)
    client.connected(-1, "here:5", 0)
    client.received(-1, frame(ApiKey.API_VERSIONS, 3, 0, versions()), 0)
    client.take_effects()
    assert client.state(-1) is ConnectionState.READY
    return client


def test_a_connection_is_ready_once_the_versions_are_known() -> None:
    client = connections()
    assert not client.ready(-1, 0)
    assert client.take_effects() == [Connect(-1, "a", 1, 2_000)]
    assert not client.ready(-1, 0)
    assert client.take_effects() == []
    client.connected(-1, "here:5", 0)
    assert [type(effect) for effect in client.take_effects()] == [Send]
    assert client.state(-1) is ConnectionState.CHECKING_API_VERSIONS
    client.received(-1, frame(ApiKey.API_VERSIONS, 3, 0, versions()), 1)
    assert client.ready(-1, 1)
    assert client.version(-1, ApiKey.FIND_COORDINATOR, 9) == 2
    assert client.version(-1, ApiKey.PRODUCE, 9) == -1


def test_an_old_broker_is_asked_for_its_versions_in_version_0() -> None:
    client = connections()
    client.ready(-1, 0)
    client.connected(-1, "here:5", 0)
    client.received(-1, frame(ApiKey.API_VERSIONS, 0, 0, versions(error=35)), 0)
    client.received(-1, frame(ApiKey.API_VERSIONS, 0, 1, versions()), 0)
    assert client.ready(-1, 0)


def test_a_connection_that_ends_before_the_versions_are_known_names_a_likely_reason() -> None:
    """Brokers before 0.10 close the connection when they get ApiVersions. Servers that are no Kafka
    brokers may close it too.
    """
    client = connections()
    client.ready(-1, 0)
    client.connected(-1, "here:5", 0)
    client.disconnected(-1, "closed by the other side", 0)
    assert client.last_failure == (
        "closed by the other side, before it answered ApiVersions (is it a Kafka broker, and not"
        " older than 0.10?)"
    )
    client = opened()
    client.disconnected(-1, "closed by the other side", 0)
    assert client.last_failure == "closed by the other side"


@pytest.mark.parametrize(
    ("served", "words"),
    [([], "serves no version of Metadata"), ([(90, 99)], "serves the versions 90 to 99 of")],
)
def test_a_broker_without_a_common_version_of_metadata_is_left_and_named(
    served: list[tuple[int, int]], words: str
) -> None:
    metadata = Metadata([("a", 1)], 100, 1_000, 5_000)
    client = ClientConnections(CONFIG, metadata, random.Random(0))
    client.ready(-1, 0)
    client.connected(-1, "here:5", 0)
    keys = [
        ApiVersion(api_key=ApiKey.METADATA, min_version=low, max_version=high)
        for low, high in served
    ]
    answer = versions()
    answer.api_keys = keys
    client.received(-1, frame(ApiKey.API_VERSIONS, 3, 0, answer), 0)
    client.take_effects()
    metadata.use("t", 0)
    client.poll(1_000)
    assert client.take_effects() == [Close(-1)]
    assert client.last_failure.startswith(f"the broker at a:1 {words}")
    client.poll(1_001)
    assert client.take_effects() == []  # it does not try again at once
    client.poll(3_000)
    assert [type(each) for each in client.take_effects()] == [Connect]


def test_no_more_requests_than_allowed_are_in_flight() -> None:
    client = opened()
    for _ in range(2):
        assert client.ready(-1, 0)
        client.send(-1, ASK, 2, 0, lambda answer, at: None)
    assert not client.ready(-1, 0)


def test_a_late_answer_closes_the_connection_and_ends_every_request() -> None:
    client = opened()
    ends: list[tuple[str, Message | None]] = []
    client.send(-1, ASK, 2, 0, lambda answer, at: ends.append(("first", answer)))
    client.send(-1, ASK, 2, 500, lambda answer, at: ends.append(("second", answer)))
    client.take_effects()
    client.poll(999)
    assert ends == []
    assert client.next_poll_ms(999) == 1
    client.poll(1_000)
    assert ends == [("first", None), ("second", None)]
    assert client.take_effects() == [Close(-1)]


def test_a_wrong_correlation_id_closes_the_connection() -> None:
    client = opened()
    ends: list[Message | None] = []
    client.send(-1, ASK, 2, 0, lambda answer, at: ends.append(answer))
    client.take_effects()
    client.received(-1, frame(ApiKey.API_VERSIONS, 0, 77, versions()), 0)
    assert ends == [None]
    assert client.take_effects() == [Close(-1)]
    assert client.state(-1) is ConnectionState.DISCONNECTED


def test_the_pause_before_the_next_attempt_doubles_up_to_the_limit() -> None:
    client = connections()
    now = 0.0
    for usual in (100, 200, 400, 400):
        client.ready(-1, now)
        assert len(client.take_effects()) == 1
        client.disconnected(-1, "refused", now)
        client.ready(-1, now + usual * 0.79)
        assert client.take_effects() == []
        now += usual * 1.21
    assert client.last_failure == "refused"


def test_after_a_success_the_pause_is_short_again() -> None:
    client = connections()
    for now in (0, 1_000, 2_000):
        client.ready(-1, now)
        client.disconnected(-1, "refused", now)
    client.ready(-1, 3_000)
    client.connected(-1, "here:5", 3_000)
    client.take_effects()
    client.received(-1, frame(ApiKey.API_VERSIONS, 3, 0, versions()), 3_000)
    client.disconnected(-1, "lost", 3_000)
    client.ready(-1, 3_121)
    assert client.take_effects() == [Connect(-1, "a", 1, 2_000)]


def test_without_a_broker_it_starts_at_the_bootstrap_servers_and_keeps_the_pauses() -> None:
    metadata = Metadata([("a", 1)], 100, 1_000, 5_000)
    client = ClientConnections(CONFIG, metadata, random.Random(0))
    metadata.use("t", 0)
    metadata.request(0)
    metadata.update(Core().metadata_answer(), 0)
    assert set(metadata.nodes) == {1}
    client.ready(1, 0)
    client.take_effects()
    client.disconnected(1, "refused", 0)
    client.poll(100)
    assert set(metadata.nodes) == {-1}
    client.poll(100)
    assert client.take_effects() == [Connect(-1, "a", 1, 2_000)]
    metadata.request(101)
    metadata.update(Core().metadata_answer(), 101)
    client.poll(101)
    client.ready(1, 101)
    assert client.take_effects() == []
    client.ready(1, 121)
    assert [type(effect) for effect in client.take_effects()] == [Connect]


def test_a_throttled_client_pauses() -> None:
    client = opened()
    answers: list[Message | None] = []
    request = MetadataRequest(topics=[], allow_auto_topic_creation=False)
    client.send(-1, request, 8, 10, lambda answer, now: answers.append(answer))
    answer = Core().metadata_answer()
    answer.throttle_time_ms = 500
    client.received(-1, frame(ApiKey.METADATA, 8, 1, answer), 20)
    assert answers == [answer]
    assert not client.ready(-1, 519)
    assert client.next_poll_ms(20) == 500
    assert client.ready(-1, 520)


def test_a_client_pauses_after_the_same_responses_as_kafkas() -> None:
    of_kafka = {
        key: first for key, first in recorded().items() if first is not None and key in REGISTRY
    }
    assert of_kafka == FIRST_THROTTLED_VERSION


@pytest.mark.parametrize("key", FIRST_THROTTLED_VERSION, ids=lambda key: key.name)
def test_a_client_pauses_after_each_response_from_the_version_on_in_which_kafkas_does(
    key: ApiKey,
) -> None:
    """Before KIP-219, the broker delayed a throttled answer, so the client did not have to
    pause.
    """
    pair = REGISTRY[key]
    first = FIRST_THROTTLED_VERSION[key]
    for version in range(first if first == pair.min_version else first - 1, pair.max_version + 1):
        client = opened()
        client.send(-1, pair.request(), version, 10, lambda answer, now: None)
        answer = pair.response(throttle_time_ms=500)
        client.received(-1, frame(key, version, 1, answer), 20)
        assert client.ready(-1, 519) is (version < first)
        assert client.ready(-1, 520)


def test_a_shorter_throttle_time_does_not_end_a_longer_one() -> None:
    client = opened()
    for at in (0, 1):
        client.send(-1, ASK, 2, at, lambda answer, now: None)
    for number, throttle_ms in enumerate((500, 0), 1):
        answer = FindCoordinatorResponse(
            throttle_time_ms=throttle_ms, error_code=0, node_id=1, host="a", port=1
        )
        client.received(-1, frame(ApiKey.FIND_COORDINATOR, 2, number, answer), 20)
    assert not client.ready(-1, 519)
    assert client.ready(-1, 520)


def test_a_broker_that_lets_nobody_in_keeps_the_client_from_another_for_a_second() -> None:
    """The broker is paused: its operating system accepts the connection, but ApiVersions gets no
    answer.
    """
    metadata = Metadata([("a", 1), ("b", 2)], 100, 1_000, 5_000)
    client = ClientConnections(CONFIG, metadata, random.Random(0))
    assert client.least_loaded(0) is None
    (first,) = (effect.node for effect in client.take_effects() if isinstance(effect, Connect))
    client.connected(first, "here:5", 1)
    client.take_effects()
    metadata.update_failed(1)
    assert client.next_poll_ms(1) <= SILENT_MS - 1, "the client runs again by itself"
    assert client.least_loaded(SILENT_MS - 1) is None
    assert client.take_effects() == [], "it may still answer"
    assert client.least_loaded(SILENT_MS) is None
    (second,) = (effect.node for effect in client.take_effects() if isinstance(effect, Connect))
    assert {first, second} == {-1, -2}
    client.connected(second, "here:6", SILENT_MS)
    client.received(second, frame(ApiKey.API_VERSIONS, 3, 1, versions()), SILENT_MS + 1)
    assert client.least_loaded(SILENT_MS + 1) == second


def test_the_least_loaded_broker_has_the_fewest_requests_in_flight() -> None:
    metadata = Metadata([("a", 1), ("b", 2)], 100, 1_000, 5_000)
    client = ClientConnections(CONFIG, metadata, random.Random(0))
    for number, node in enumerate((-1, -2)):
        client.ready(node, 0)
        client.connected(node, "here:5", 0)
        client.received(node, frame(ApiKey.API_VERSIONS, 3, number, versions()), 0)
    for busy, free in ((-1, -2), (-2, -1)):
        client.send(busy, ASK, 2, 0, lambda answer, now: None)
        assert client.least_loaded(0) == free
        client.send(free, ASK, 2, 0, lambda answer, now: None)
        client.in_flight.clear(busy)
        client.in_flight.clear(free)


def test_an_idle_connection_is_closed() -> None:
    client = opened()
    client.poll(4_999)
    assert client.take_effects() == []
    client.poll(5_000)
    assert client.take_effects() == [Close(-1)]


def test_a_state_is_entered_only_from_the_states_of_the_table() -> None:
    client = opened()
    with pytest.raises(ValueError, match="cannot go from READY to CHECKING_API_VERSIONS"):
        client.connected(-1, "here:6", 0)
