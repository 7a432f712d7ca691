"""The wire screen's data for a captured session of real clients (tests/tui/wire_session.py made the
capture).
"""

from pathlib import Path

import pytest

from kafka_edu.instruments.wire.capture import Frames, decode_captured, read_capture
from kafka_edu.instruments.wire.tree import Node
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.capture_format import CapturedFrame

RECORDING = Path(__file__).parents[2] / "tui" / "recordings" / "wire-session.capture.gz"


@pytest.fixture(scope="module")
def frames() -> list[CapturedFrame]:
    return read_capture(RECORDING)


def of(
    frames: list[CapturedFrame], client: str, key: ApiKey, *, is_response: bool = False
) -> list[CapturedFrame]:
    return [
        frame
        for frame in frames
        if (frame.client_id, frame.api_key, frame.is_response) == (client, key, is_response)
    ]


def named(frame: CapturedFrame, name: str) -> list[Node]:
    """Return the fields of this name, also those of unpacked bytes."""
    found: list[Node] = []

    def walk(node: Node) -> None:
        if node.name == name:
            found.append(node)
        for child in (*node.children, *node.inner):
            walk(child)

    walk(decode_captured(frame).root)
    return found


def test_each_frame_of_real_clients_is_explained_and_only_the_broken_one_is_wrong(
    frames: list[CapturedFrame],
) -> None:
    wrong = [frame for frame in frames if decode_captured(frame).problems]
    assert [(frame.client_id, frame.number) for frame in wrong] == [("stranger", frames[-1].number)]
    (problem,) = decode_captured(wrong[0]).problems
    assert wrong[0].data[problem.at :].startswith(b"\x7fweb")
    assert problem.path == "body.topics[0].name.length"


def test_each_request_that_was_answered_is_next_to_its_answer(frames: list[CapturedFrame]) -> None:
    held = Frames()
    held.add(frames)
    responses = [frame for frame in frames if frame.is_response]
    assert responses
    for response in responses:
        request = held.partner(response)
        assert request is not None
        assert (request.api_key, request.api_version) == (response.api_key, response.api_version)
        assert held.partner(request) is response


def test_an_old_client_speaks_old_versions_and_an_old_message_format(
    frames: list[CapturedFrame],
) -> None:
    (old,) = of(frames, "old-shop", ApiKey.PRODUCE)
    new = of(frames, "shop", ApiKey.PRODUCE)
    assert (old.api_version, {frame.api_version for frame in new}) == (1, {9})
    (message,) = named(old, "message")
    assert message.type == "message v0"
    assert "an order from the old days" in message.value
    assert [node.type for node in named(new[0], "batch")] == ["record batch v2"]
    assert not of(frames, "old-shop", ApiKey.API_VERSIONS)


def test_records_with_keys_and_headers_and_compressed_ones_are_read(
    frames: list[CapturedFrame],
) -> None:
    plain, packed = of(frames, "shop", ApiKey.PRODUCE)
    assert [node.value for node in named(plain, "value") if node.children][::2] == [
        '"first order"',
        '"second order"',
    ]
    assert [node.value for node in named(plain, "header 0")] == ['"trace": "abc"'] * 2
    (leaf,) = named(packed, "compressed records")
    assert leaf.type == "gzip"
    assert len([node for node in leaf.inner if node.type == "record"]) == 8


def test_what_consumers_say_to_each_other_is_read_inside_the_groups_requests(
    frames: list[CapturedFrame],
) -> None:
    join = of(frames, "shop-reader", ApiKey.JOIN_GROUP)[-1]
    subscription = named(join, "metadata")[0].inner
    assert any(node.name == "topics" and node.value == '["web"]' for node in subscription)
    (sync,) = of(frames, "shop-reader", ApiKey.SYNC_GROUP, is_response=True)
    assignment = named(sync, "assignment")[0].inner
    assert any(node.name == "assigned_partitions" for node in assignment)
