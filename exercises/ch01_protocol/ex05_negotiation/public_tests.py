"""Public tests of exercise 01-5, run by `kafka-edu lab check 01-5`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.api_keys import ApiKey

from ...runner.mismatch import Mismatch
from ..hexadecimal import point
from ..versions import (
    KAFKA_20,
    KAFKA_28,
    Broker,
    Known,
    body_of,
    draw,
    highest_common,
    right_course,
)

API_VERSIONS: Final = int(ApiKey.API_VERSIONS)
PRODUCE, FETCH, METADATA = int(ApiKey.PRODUCE), int(ApiKey.FETCH), int(ApiKey.METADATA)
BASIC: Final[Known] = {
    PRODUCE: range(8),
    FETCH: range(4, 12),
    METADATA: range(10),
    API_VERSIONS: range(4),
}


class Checked:
    """The learner's Negotiator, connected to a simulated broker."""

    def __init__(self, learner: Learner, known: Known, broker: Broker) -> None:
        self._known = known
        self._broker = broker
        self._made = learner.make([(key, list(versions)) for key, versions in known.items()])

    def negotiates(self) -> None:
        """Negotiate. Raises Mismatch if the client asks with a wrong version or ends too early."""
        course, _ = right_course(self._known, self._broker)
        came = self._made.call("start")
        mine = list(self._known[API_VERSIONS])
        if came != course[0]:
            raise Mismatch(
                "start()",
                course[0],
                came,
                f"the client knows the versions {mine} of ApiVersions, and hopes for the best",
            )
        for number, version in enumerate(course):
            body = self._broker.answer(version)
            expected = course[number + 1] if number + 1 < len(course) else None
            came = self._made.call("on_response", version, body)
            if came != expected:
                why = self._why(number, version, body, expected)
                raise Mismatch(
                    f"on_response({version}, <{body[:12].hex(' ')}{' …' * (len(body) > 12)}>)",
                    expected,
                    came,
                    why,
                    drawing=point(body, 0, _error(body)),
                )
            if expected is not None:
                self._picks_nothing("before there is a table, nothing can be picked")

    def _why(self, number: int, version: int, body: bytes, expected: int | None) -> str:
        if int.from_bytes(body[:2], "big") != 35:
            return "the broker has answered with its table, so there is nothing more to ask"
        if number == 1 or version == 0:
            return "the broker refuses again, so the client gives up: it asks twice at most"
        low, high = self._broker.served[API_VERSIONS]
        mine = list(self._known[API_VERSIONS])
        if not self._broker.tells:
            why = "the broker refuses and names no version: an old one, which may know version 0"
            return why if expected == 0 else f"{why}; but the client does not, it knows {mine}"
        why = (
            f"the broker refuses, and says that it serves {low} to {high}; the client knows {mine}"
        )
        return why if expected is not None else f"{why}: they have nothing in common"

    def picks(self, keys: Iterable[int] = (PRODUCE, FETCH, METADATA)) -> None:
        """Call `pick`. Raises Mismatch unless it returns the highest version that client and broker
        know.
        """
        _, agreed = right_course(self._known, self._broker)
        if not agreed:
            self._picks_nothing("the negotiation has failed, so there is no version for anything")
            return
        for key in keys:
            expected = highest_common(self._known, self._broker.served, key)
            came = self._made.call("pick", key)
            if came == expected and not isinstance(came, bool):
                continue
            raise Mismatch(
                f"pick({key})",
                expected,
                came,
                self._why_pick(key, expected, came),
                drawing=draw(self._known, self._broker.served, key, came),
            )

    def _why_pick(self, key: int, expected: int | None, came: object) -> str:
        mine, served = self._known.get(key), self._broker.served.get(key)
        if mine is None:
            return f"the client does not know the api key {key} at all"
        if served is None:
            return f"the api key {key} is not in the broker's table"
        if isinstance(came, int) and came not in mine:
            gap = ": its versions have a gap there" if min(mine) < came < max(mine) else ""
            return f"the client does not know version {came}{gap}"
        if isinstance(came, int) and not served[0] <= came <= served[1]:
            return f"the broker does not serve version {came}, only {served[0]} to {served[1]}"
        if expected is None:
            return "no version is known to both"
        return f"{expected} is the highest version that both know"

    def _picks_nothing(self, why: str) -> None:
        for key in (FETCH, API_VERSIONS):
            came = self._made.call("pick", key)
            if came is not None:
                raise Mismatch(f"pick({key})", None, came, why)


def _error(body: bytes) -> str:
    code = int.from_bytes(body[:2], "big")
    return f"error code {code}{': UNSUPPORTED_VERSION' if code == 35 else ''}"


Connect = Callable[..., Checked]


@pytest.fixture
def connect(learner: Learner) -> Connect:
    """A function that connects the learner's client: connect(known, broker)."""
    return lambda known, broker: Checked(learner, known, broker)


def test_start(connect: Connect) -> None:
    """the client first asks with the highest version of ApiVersions that it knows"""
    for highest in (0, 2, 3):
        connect({**BASIC, API_VERSIONS: range(highest + 1)}, Broker(KAFKA_28)).negotiates()


def test_kafka_20_and_28(connect: Connect) -> None:
    """the client picks Fetch version 8 for Kafka 2.0, and version 11 for Kafka 2.8"""
    for served in (KAFKA_20, KAFKA_28):
        client = connect({**BASIC, API_VERSIONS: range(3)}, Broker(served))
        client.negotiates()
        client.picks()


def test_nothing_in_common(connect: Connect) -> None:
    """no version in common, or an api key that only one side knows"""
    served = {**KAFKA_28, FETCH: (0, 3), METADATA: (10, 11)}
    client = connect({**BASIC, 99: range(3)}, Broker(served))
    client.negotiates()
    client.picks((FETCH, METADATA, 99, int(ApiKey.JOIN_GROUP), 12_345))


def test_gaps(connect: Connect) -> None:
    """versions with gaps: this client leaves some of them out"""
    client = connect({**BASIC, FETCH: (4, 5, 6, 10), PRODUCE: (3, 7)}, Broker(KAFKA_20))
    client.negotiates()
    client.picks()


def test_version_0_is_a_version(connect: Connect) -> None:
    """version 0 is a version too"""
    client = connect({**BASIC, FETCH: (0, 12), PRODUCE: (0,)}, Broker({**KAFKA_20, FETCH: (0, 5)}))
    client.negotiates()
    client.picks()


def test_a_client_of_the_future(connect: Connect) -> None:
    """the broker refuses, and names the versions of ApiVersions that it serves (KIP-511)"""
    for served in (KAFKA_28, KAFKA_20):
        client = connect({**BASIC, API_VERSIONS: (0, 1, 2, 3, 7)}, Broker(served))
        client.negotiates()
        client.picks()


def test_an_old_broker(connect: Connect) -> None:
    """the broker refuses, and names no versions (before Kafka 2.4)"""
    client = connect(BASIC, Broker(KAFKA_20, tells=False))
    client.negotiates()
    client.picks()


def test_giving_up(connect: Connect) -> None:
    """the client gives up if no version is common, or the broker refuses all"""
    for known, broker in (
        ((2, 3), Broker({**KAFKA_20, API_VERSIONS: (0, 1)}, tells=False)),
        ((2, 3), Broker({**KAFKA_20, API_VERSIONS: (0, 1)})),
        (range(4), Broker(KAFKA_28, refuses=True)),
        (range(4), Broker(KAFKA_28, tells=False, refuses=True)),
        ((0,), Broker(KAFKA_28, refuses=True)),
    ):
        client = connect({**BASIC, API_VERSIONS: known}, broker)
        client.negotiates()
        client.picks()


def test_another_error(learner: Learner) -> None:
    """any other error ends the negotiation, even if the response has a table"""
    for version in range(4):
        client = learner.make([(key, list(versions)) for key, versions in BASIC.items()])
        client.call("start")
        body = body_of(version, 42, KAFKA_28)
        again = client.call("on_response", version, body)
        picked = client.call("pick", FETCH)
        if (again, picked) != (None, None):
            raise Mismatch(
                f"on_response({version}, <{body[:8].hex(' ')} …>), then pick({FETCH})",
                (None, None),
                (again, picked),
                "the error code is 42 (INVALID_REQUEST), and a table that comes with an error is"
                " no answer",
                drawing=point(body, 0, _error(body)),
            )


def test_any(connect: Connect, seed: int) -> None:
    """clients and brokers with random versions"""
    random = Random(seed)
    for _ in range(40):
        served = {}
        for key in KAFKA_28:
            low = random.choice((0, 0, 0, random.randrange(6)))
            served[int(key)] = (low, low + random.randrange(8))
        served[API_VERSIONS] = (0, random.randrange(4))
        known: dict[int, list[int]] = {
            key: sorted(random.sample(range(13), random.randint(1, 12)))
            for key in random.sample(sorted(served), 6)
        }
        known[API_VERSIONS] = sorted(
            {random.choice((0, 0, 1)), *random.sample(range(4), 2), random.choice((0, 9))}
        )
        broker = Broker(served, random.random() < 0.6, random.random() < 0.1)
        client = connect(known, broker)
        client.negotiates()
        client.picks([*known, random.randrange(60)])
