"""The live part of 15-3: the learner's table decides in the transaction coordinators of all three
brokers. Real producers commit, abort, and are replaced. Then hand-made requests are repeated, or
come too late.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.protocol.headers import decode_response
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kafka_edu.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.schema import Message

from ..ch01_protocol.live_versions import frame_of, read_frame
from ..learner_broker import ALL, BROKER, LearnerBroker, learner_broker
from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .readers import COMMITTED, read_values
from .transactional_job import begin_job, write_committed, write_open

TOPIC: Final = "lab-153"
TIMEOUT_MS: Final = 600_000
TRANSACTIONS: Final = 1
"""The key type of FindCoordinator for a transactional id."""
BY_HAND: Final = "by-hand"
FIND_VERSION: Final = 2
VERSION: Final = 1
"""The version of the other requests."""
STORY: Final = (
    ("init", Errors.NONE),
    ("commit", Errors.INVALID_TXN_STATE),
    ("abort", Errors.INVALID_TXN_STATE),
    ("add", Errors.NONE),
    ("add", Errors.NONE),
    ("commit", Errors.NONE),
    ("commit", Errors.NONE),
    ("abort", Errors.INVALID_TXN_STATE),
    ("add", Errors.NONE),
    ("abort", Errors.NONE),
    ("abort", Errors.NONE),
    ("commit", Errors.INVALID_TXN_STATE),
    ("add", Errors.NONE),
    ("init", Errors.NONE),
    ("commit", Errors.INVALID_TXN_STATE),
)
"""The requests made by hand, and the error of each. A request that gets CONCURRENT_TRANSACTIONS is
sent again.
"""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers (the shipped code if it is None), and yield the
    result of each check.
    """
    with learner_broker(exercise, file, TOPIC, say, patience_s, brokers=ALL) as broker:
        yield from moment(broker, say)
        if file is not None:
            yield broker.judge_calls("each request had its answer")


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check."""
    servers, patience_s = broker.cluster.bootstrap_servers, broker.patience_s
    say("a producer commits, and aborts")
    one = begin_job(servers, f"{broker.topic}-one", TIMEOUT_MS, patience_s)
    write_committed(one, broker.topic, ["a1", "a2"], patience_s)
    write_open(one, broker.topic, ["a3"], patience_s)
    one.abort_transaction(patience_s)
    write_committed(one, broker.topic, ["a4"], patience_s)
    say("a producer is replaced, with a transaction open")
    old = begin_job(servers, f"{broker.topic}-two", TIMEOUT_MS, patience_s)
    write_open(old, broker.topic, ["b1"], patience_s)
    new = begin_job(servers, f"{broker.topic}-two", TIMEOUT_MS, patience_s)
    write_committed(new, broker.topic, ["b2"], patience_s)
    yield _reads(broker, ["a1", "a2", "a4", "b2"])
    say("requests made by hand come again, or too late")
    yield _by_hand(broker)


def _reads(broker: LearnerBroker, wanted: list[str]) -> Step:
    """Check what a reader of committed records gets, as soon as the last marker is replicated."""
    says = "a reader sees what was committed, and nothing of the others"
    servers, values = broker.cluster.bootstrap_servers, list[str]()

    def all_there() -> bool:
        values[:] = read_values(servers, broker.topic, COMMITTED, broker.patience_s)
        return len(values) >= len(wanted)

    came = broker.listener.wait_for(all_there, broker.patience_s)
    return Step(says, values == wanted, f"it read {', '.join(values) or 'nothing'}", late=not came)


def _by_hand(broker: LearnerBroker) -> Step:
    """Send a fixed list of requests to the coordinator, and check the error in each answer."""
    says = "requests that come again or too late get the right answers"
    hand = ByHand(broker)
    try:
        for number, (event, wanted) in enumerate(STORY, 1):
            came = Errors.CONCURRENT_TRANSACTIONS

            def decided(event: str = event) -> bool:
                nonlocal came
                came = hand.send(event)
                return came is not Errors.CONCURRENT_TRANSACTIONS

            in_time = broker.listener.wait_for(decided, broker.patience_s)
            if came is not wanted:
                before = ", ".join(one for one, _ in STORY[: number - 1])
                seen = f"{event} got {came.name}, not {wanted.name}; before it came {before}"
                return Step(says, False, seen, late=not in_time)
    finally:
        hand.close()
    return Step(says, True, f"{len(STORY)} requests")


class ByHand:
    """A producer made by hand: it sends single requests to its coordinator."""

    def __init__(self, broker: LearnerBroker) -> None:
        """Find the coordinator, and connect to it."""
        self._topic = broker.topic
        self._producer, self._epoch = -1, -1
        port = broker.cluster.port(BROKER)
        found: list[int] = []
        with socket.create_connection(("127.0.0.1", port), broker.patience_s) as connection:

            def is_found() -> bool:
                request = FindCoordinatorRequest(key=BY_HAND, key_type=TRANSACTIONS)
                answer = _ask(connection, request, FIND_VERSION)
                assert isinstance(answer, FindCoordinatorResponse)
                found[:] = [answer.port] if answer.error_code == 0 else []
                return bool(found)

            if not broker.listener.wait_for(is_found, broker.patience_s):
                raise TimeoutError("no coordinator was found for a transactional id")
        self._connection = socket.create_connection(("127.0.0.1", found[0]), broker.patience_s)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def send(self, event: str) -> Errors:
        """Send one request, and return its error."""
        match event:
            case "init":
                request: Message = InitProducerIdRequest(
                    transactional_id=BY_HAND, transaction_timeout_ms=TIMEOUT_MS
                )
            case "add":
                topic = AddPartitionsToTxnTopic(name=self._topic, partitions=[0])
                request = AddPartitionsToTxnRequest(
                    transactional_id=BY_HAND,
                    producer_id=self._producer,
                    producer_epoch=self._epoch,
                    topics=[topic],
                )
            case _:
                request = EndTxnRequest(
                    transactional_id=BY_HAND,
                    producer_id=self._producer,
                    producer_epoch=self._epoch,
                    committed=event == "commit",
                )
        match _ask(self._connection, request, VERSION):
            case InitProducerIdResponse() as answer:
                if answer.error_code == 0:
                    self._producer, self._epoch = answer.producer_id, answer.producer_epoch
                return Errors(answer.error_code)
            case AddPartitionsToTxnResponse() as answer:
                return Errors(answer.results[0].results[0].error_code)
            case EndTxnResponse() as answer:
                return Errors(answer.error_code)
            case other:
                raise TypeError(f"{other!r} is no answer to {event}")


def _ask(connection: socket.socket, request: Message, version: int) -> object:
    """Send a request, and return the response."""
    assert request.KEY is not None
    connection.sendall(frame_of(request, version))
    _, response = decode_response(request.KEY, version, read_frame(connection))
    return response
