"""The live part of 07-2: the learner's rules keep the ISR of broker 2, which leads. Meanwhile a
follower is paused and continues again.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from kafka_edu.trace.events.replication import IsrExpanded, IsrShrunk

from ..lab_cluster import properties_of, zookeeper_of
from ..learner_broker import BROKER, LearnerBroker, live_check
from ..learner_controller import send_to_all
from ..runner.verdict import Step

TOPIC: Final = "lab-072"
RECORDS: Final = 20
MANY: Final = 300
LAG_MS: Final = 3_000
PROPS: Final[Mapping[str, str]] = {
    "replica.lag.time.max.ms": str(LAG_MS),
    "zookeeper.session.timeout.ms": "60000",
}
_CAUGHT_UP: Final = re.compile(r"LEO (\d+), HW (\d+)")


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check.

    A follower is paused, and later it continues.
    """
    cluster = broker.cluster
    yield send_to_all(broker, "records are acked by all three", RECORDS)
    sleeper = _follower(broker)
    say(f"broker {sleeper} stands still")
    cluster.pause(sleeper)
    yield _leaves(broker, sleeper)
    yield _send_many(broker)
    say(f"broker {sleeper} continues, {MANY} records behind")
    cluster.resume(sleeper)
    yield _joins(broker)
    yield send_to_all(broker, "records are acked by all three again", RECORDS)


def _follower(broker: LearnerBroker) -> int:
    """Return the id of a follower that is not the controller, so that it can be paused."""
    with zookeeper_of(broker.cluster) as zookeeper:
        chief = int(json.loads(zookeeper.get("/controller")[0])["brokerid"])
    return next(one for one in broker.cluster.broker_ids if one not in (BROKER, chief))


def _of_topic(broker: LearnerBroker, kind: type) -> list[tuple[float, IsrShrunk | IsrExpanded]]:
    """Return the topic's ISR changes of this kind, each with its time in ms."""
    return [
        (envelope.mono_us / 1_000, envelope.event)
        for envelope in list(broker.listener.envelopes)
        if isinstance(envelope.event, IsrShrunk | IsrExpanded)
        and isinstance(envelope.event, kind)
        and envelope.event.topic == broker.topic
    ]


def _leaves(broker: LearnerBroker, sleeper: int) -> Step:
    """Check that only the paused follower leaves the ISR, and not before its lag is too large."""
    limit_ms = int(properties_of(broker.cluster, BROKER)["replica.lag.time.max.ms"])
    says = f"broker {sleeper} leaves the ISR, {limit_ms:,} ms after it had caught up, or later"
    began_ms = max(one.mono_us for one in list(broker.listener.envelopes)) / 1_000
    came = broker.listener.wait_for(lambda: bool(_of_topic(broker, IsrShrunk)), broker.patience_s)
    if not came:
        return Step(says, False, "it is still a member", late=True)
    at_ms, shrunk = _of_topic(broker, IsrShrunk)[0]
    left = {*shrunk.before} - {*shrunk.after}
    if left != {sleeper}:
        return Step(says, False, f"{', '.join(map(str, sorted(left)))} left")
    # the follower had caught up at most half a second before it was paused
    lag_ms = at_ms - began_ms + 500
    return Step(says, lag_ms > limit_ms, f"{at_ms - began_ms:,.0f} ms after it was paused")


def _send_many(broker: LearnerBroker) -> Step:
    """Write many records while the follower is paused. The producer only uses broker 2, so that it
    does not wait for the paused broker.
    """
    producer = broker.producer()
    sent = [producer.send(broker.topic, b"x" * 2_000, partition=0) for _ in range(MANY)]
    producer.flush(broker.patience_s + 30)
    acked = sum(one.succeeded() for one in sent)
    return Step("records are acked without it", acked == MANY, f"{acked} of {MANY}")


def _joins(broker: LearnerBroker) -> Step:
    """Check that the follower joins the ISR only when its log has reached the high watermark."""
    says = "the follower joins when it has all that is committed"
    came = broker.listener.wait_for(lambda: bool(_of_topic(broker, IsrExpanded)), broker.patience_s)
    if not came:
        return Step(says, False, "it is still no member", late=True)
    _, grown = _of_topic(broker, IsrExpanded)[0]
    found = _CAUGHT_UP.search(grown.reason)
    if found is None:
        return Step(says, False, f"it joined because {grown.reason}")
    leo, hw = map(int, found.groups())
    return Step(says, leo >= hw, f"its log ended at {leo}, and the high watermark was {hw}")


check_live: Final = live_check(TOPIC, moment, "the ISR shrank and grew", props=PROPS)
