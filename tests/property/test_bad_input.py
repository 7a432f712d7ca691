"""Whatever bytes arrive, no handler meets an unforeseen exception, and the next client is served.

The frames are random, or real ones (those recorded in tests/conformance/recordings) with a few
bytes changed, cut or doubled. One broker in virtual time gets them all in turn, each on its own
connection.
"""

from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_edu.protocol.headers import encode_request
from kafka_edu.protocol.messages.api_versions import ApiVersionsRequest
from kafka_edu.trace.events.server import RequestFailed
from tests.conformance.brokers import SimulatedBroker
from tests.conformance.cases import COMMON, MODULES
from tests.conformance.replay import Replay, read_steps

TRUE_FRAMES: Final = sorted(
    {
        step["request"]
        for name in MODULES
        for step in read_steps(name)
        if "request" in step and not step.get("raw")
    }
)
PROBE: Final = b"".join(map(bytes, encode_request(ApiVersionsRequest(), 0, 7, "probe")))  # type: ignore[arg-type]  # it holds no file region
#: Bytes that are likely to be misread as a length, a count, an id or a version.
TELLING: Final = st.sampled_from([0, 1, 0x7F, 0x80, 0xFE, 0xFF]) | st.integers(0, 255)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """Return a real frame with an error in it. Its size is right, so it is read as a request."""
    body = bytearray(bytes.fromhex(draw(st.sampled_from(TRUE_FRAMES)))[4:])
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(2, max(len(body) - 1, 2)))
        match draw(st.integers(0, 3)):
            case 0 | 1:
                body[at : at + 1] = bytes([draw(TELLING)])
            case 2:
                del body[at : at + draw(st.integers(1, 8))]
            case _:
                body[at:at] = body[at : at + draw(st.integers(1, 8))]
    return len(body).to_bytes(4, "big") + body


@st.composite
def random_request(draw: st.DrawFn) -> bytes:
    """Return a correct header with any body."""
    key, version = draw(st.integers(0, 65)), draw(st.integers(0, 12))
    body = (
        key.to_bytes(2, "big")
        + version.to_bytes(2, "big")
        + b"\0\0\0\1\xff\xff"
        + draw(st.binary(max_size=60))
    )
    return len(body).to_bytes(4, "big") + body


@pytest.fixture(scope="module")
def broker() -> Iterator[SimulatedBroker]:
    """Start a broker with the topics, records and groups that the recordings make.

    All modules share this broker, so some answers differ from the recorded ones however often they
    are asked for. Three tries are enough for a coordinator that is still loading.
    """
    broker = SimulatedBroker(COMMON)
    for name in MODULES:
        list(Replay(broker, retries=3).differences(read_steps(name)))
    assert broker.cluster.facts(RequestFailed) == []
    yield broker
    broker.close()


@settings(max_examples=400, derandomize=True, database=None)
@given(frame=spoiled() | random_request() | st.binary(min_size=1, max_size=80))
def test_any_frame_is_answered_or_costs_its_own_connection(
    broker: SimulatedBroker, frame: bytes
) -> None:
    bystander = broker.connect()
    line = broker.connect()
    line.send(frame)
    broker.pause(20)  # raises what was caught nowhere
    line.close()
    bystander.send(PROBE)
    assert (bystander.receive() or b"")[:6] == b"\0\0\0\7\0\0"
    bystander.close()
    assert [envelope.event for envelope in broker.cluster.facts(RequestFailed)] == []
