"""One fetch session on the side of the follower."""

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.messages.fetch import (
    FetchResponse,
)
from kafka_edu.replication.fetch_session_handler import (
    MAX_EPOCH,
    FetchSessionHandler,
    next_epoch,
)
from tests.unit.replication.test_fetch_manager import WANTED, A, B, C, Client, told


def test_epochs_skip_zero_and_minus_one() -> None:
    assert [next_epoch(e) for e in (0, 1, MAX_EPOCH, -1)] == [1, 2, 1, -1]


def test_the_two_ends_of_a_session_agree_through_changes_and_losses() -> None:
    client = Client()
    handler = FetchSessionHandler()

    def round_trip() -> FetchResponse:
        data = handler.build()
        response = client.fetch(
            data.session_id, data.session_epoch, dict(data.to_send), tuple(data.to_forget)
        )
        handler.handle_response(Errors.of(response.error_code), response.session_id)
        return response

    handler.put(A, WANTED)
    handler.put(B, WANTED)
    assert told(round_trip()) == [A, B]
    handler.remove(A)
    assert handler.requested(A) is None
    handler.put(C, WANTED)
    assert handler.requested(C) is None  # not asked yet
    assert told(round_trip()) == [C]
    assert handler.requested(C) == WANTED
    session = client.manager.cache.get(handler.session_id)
    assert session is not None
    assert list(session.partitions) == [B, C]
    data = handler.build()  # lost on the wire
    handler.handle_error()
    assert handler.full
    assert told(round_trip()) == [B, C]
    assert len(client.manager.cache) == 1
    client.manager.cache.remove(handler.session_id, "evicted")
    assert round_trip().error_code == Errors.FETCH_SESSION_ID_NOT_FOUND
    assert told(round_trip()) == [B, C]
    assert data.to_send == []
