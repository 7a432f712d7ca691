"""The live part of exercise 01-6. The learner's session fetches from a real broker. Later the
broker restarts and loses the session.
"""

import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.learner.learner import Learner, LearnerFailure, LearnerObject
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_response, encode_request
from kafka_edu.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import iter_headers
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .batches import Settings, right_batch
from .fetches import Course
from .live import TOPIC, send

PARTITIONS: Final = 100
FETCH_VERSION: Final = 11
MAX_EPOCH: Final = 2**31 - 1
MOVED: Final = (7, 42)
FORGOTTEN: Final = range(50, 60)
RECORD: Final = Record(0, 1_600_000_000_000, None, b"a record of the lab")


class WrongError(Exception):
    """The learner's session returned a wrong answer. The message says which."""


class Round(NamedTuple):
    """A fetch, and the broker's response to it."""

    request_bytes: int
    named: tuple[str, ...]
    response: FetchResponse
    moved: tuple[str, ...]
    """The partitions for which the response had records."""


class Follower:
    """Compares each fetch of the learner's session with the fetch of a correct session, and sends
    it.
    """

    def __init__(self, session: LearnerObject, port: int, patience_s: float) -> None:
        self._session = session
        self._course = Course(MAX_EPOCH)
        self._port = port
        self.patience_s = patience_s
        """The longest time, in seconds, that the broker may take for a response."""
        self._connection = self._connect()
        self.offsets = {f"{TOPIC}-{partition}": 0 for partition in range(PARTITIONS)}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def connect_again(self) -> None:
        """Replace a lost connection by a new one, and inform both sessions of the loss."""
        self.close()
        self._session.call("on_disconnect")
        self._course.on_disconnect()
        self._connection = self._connect()

    def _connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self._port), self.patience_s)

    def fetch(self) -> Round:
        """Fetch once, and store the new offsets. Raises WrongError and LearnerFailure."""
        wanted = list(self.offsets.items())
        expected = self._course.next_fetch(wanted)
        came = self._session.call("next_fetch", wanted)
        if came != tuple(expected):
            raise WrongError(
                f"a fetch with session id {expected.session_id}, epoch {expected.epoch},"
                f" {len(expected.named)} partitions named and {len(expected.forgotten)} forgotten"
                f" was expected; your code answered {came!r:.200}"
            )
        frame = self._frame(expected.session_id, expected.epoch, expected.named, expected.forgotten)
        response = self._ask(frame)
        results = [one for topic in response.responses for one in topic.partition_responses]
        names = [f"{TOPIC}-{one.partition}" for one in results]
        asked = (response.error_code, response.session_id, names)
        right, used = self._course.on_response(*asked), self._session.call("on_response", *asked)
        if used is not right:
            raise WrongError(f"on_response{asked!r:.200}: {right} was expected, and it was {used}")
        moved = []
        for name, one in zip(names, results, strict=True):
            records = b"" if one.record_set is None else bytes(part_bytes(one.record_set))
            for _, header in iter_headers(records):
                self.offsets[name] = header.next_offset
                moved.append(name)
        named = tuple(name for name, _ in expected.named)
        return Round(len(frame), named, response, tuple(sorted(set(moved))))

    def _frame(
        self,
        session_id: int,
        epoch: int,
        named: Sequence[tuple[str, int]],
        forgotten: Sequence[str],
    ) -> bytes:
        partitions = [
            FetchPartition(
                partition=number_of(name), fetch_offset=offset, partition_max_bytes=1 << 20
            )
            for name, offset in named
        ]
        gone = [number_of(name) for name in forgotten]
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=10 << 20,
            session_id=session_id,
            session_epoch=epoch,
            topics=[FetchTopic(topic=TOPIC, partitions=partitions)] if partitions else [],
            forgotten_topics_data=[ForgottenTopic(topic=TOPIC, partitions=gone)] if gone else [],
        )
        return b"".join(map(part_bytes, encode_request(request, FETCH_VERSION, 1, "lab")))

    def _ask(self, frame: bytes) -> FetchResponse:
        self._connection.sendall(frame)
        with self._connection.makefile("rb") as answers:
            size = int.from_bytes(answers.read(4), "big")
            _, response = decode_response(ApiKey.FETCH, FETCH_VERSION, answers.read(size))
        assert isinstance(response, FetchResponse)
        return response


def number_of(name: str) -> int:
    """Return the partition number from a name such as lab-01-7."""
    return int(name.rpartition("-")[2])


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run a fetch session of the learner's `file` with a broker, and yield each step's result."""
    if file is None:
        return  # the course has no code of its own for this part
    says = "a session of your code"
    learner = Learner(file, exercise.wanted)
    try:
        say("starting a broker")
        with running_cluster(f"lab-{exercise.id}", brokers=1) as cluster:
            make_topic(cluster, TOPIC, [0], PARTITIONS)
            give_records(cluster, (0,), patience_s)
            follower = Follower(learner.make(MAX_EPOCH), cluster.port(0), patience_s)
            try:
                for says, action in (
                    ("a full fetch opens a session", open_session),
                    ("when nothing has changed, nothing is named", change_nothing),
                    ("only partitions that have moved are listed", move),
                    ("what is forgotten does not come any more", forget),
                    ("a broker that was started again gets a full fetch", start_again),
                ):
                    say(says)
                    passed, seen = action(cluster, follower)
                    yield Step(says, passed, seen)
                    if not passed:
                        return
            finally:
                follower.close()
    except (WrongError, LearnerFailure) as error:
        yield Step(says, False, str(error))
    finally:
        learner.close()


def give_records(cluster: Cluster, partitions: Sequence[int], patience_s: float) -> None:
    """Append one record to each of these partitions. Raises RuntimeError if the broker refuses."""
    for partition in partitions:
        error = send(cluster, right_batch(Settings(), [RECORD]), patience_s, partition)
        if error is not Errors.NONE:
            raise RuntimeError(f"partition {partition} of {TOPIC} refuses a record: {error.name}")


def open_session(_: Cluster, follower: Follower) -> tuple[bool, str]:
    """Send the first fetch. Return whether the broker has opened a session, and a description."""
    first = follower.fetch()
    session_id = first.response.session_id
    return session_id != 0, (
        f"{first.request_bytes:,} bytes for {PARTITIONS} partitions; the broker opened session"
        f" {session_id}"
    )


def change_nothing(_: Cluster, follower: Follower) -> tuple[bool, str]:
    """Fetch without changes. Return whether no partition was named, and a description."""
    follower.fetch()
    rounds = [follower.fetch() for _ in range(3)]
    named = [name for one in rounds for name in one.named]
    return not named, f"{rounds[-1].request_bytes} bytes for {PARTITIONS} partitions"


def move(cluster: Cluster, follower: Follower) -> tuple[bool, str]:
    """Append to two partitions. Return whether later fetches named exactly these two."""
    give_records(cluster, MOVED, follower.patience_s)
    wanted = {f"{TOPIC}-{partition}" for partition in MOVED}
    moved: set[str] = set()
    announced: set[str] = set()
    for _ in range(5):  # one response may come before the second record
        one = follower.fetch()
        announced.update(one.named)
        moved.update(one.moved)
    return moved == announced == wanted, (
        f"records came for {', '.join(sorted(moved))}, and these were named in the fetches after"
    )


def forget(cluster: Cluster, follower: Follower) -> tuple[bool, str]:
    """Forget ten partitions. Return whether the broker does not send a new record of one of the
    ten.
    """
    for partition in FORGOTTEN:
        del follower.offsets[f"{TOPIC}-{partition}"]
    one = follower.fetch()
    give_records(cluster, FORGOTTEN[:1], follower.patience_s)
    after = [follower.fetch() for _ in range(2)]
    strange = [name for one in after for name in one.moved]
    return not strange, (
        f"{one.request_bytes} bytes, and a record for {TOPIC}-{FORGOTTEN[0]} did not come"
    )


def start_again(cluster: Cluster, follower: Follower) -> tuple[bool, str]:
    """Restart the broker, which loses its sessions. Return whether a new session was opened."""
    cluster.stop(0)
    cluster.start(0)
    follower.connect_again()
    one = follower.fetch()
    again = follower.fetch()
    good = one.response.session_id != 0 and again.response.error_code == 0
    return good, f"{one.request_bytes:,} bytes; the broker opened session {one.response.session_id}"
