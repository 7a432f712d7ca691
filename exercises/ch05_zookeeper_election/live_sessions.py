"""The live part of 05-2: the learner's buckets decide when the sessions of three real brokers end.

While all brokers run, no session may end. When a broker is killed with -9, its session must end,
neither before its time-out nor much later than the tick after it. The other brokers must keep their
sessions.
"""

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.learner import LearnerFailed, LearnerSampled
from kafka_edu.trace.events.zk import SessionDisconnected, SessionExpired

from ..learner_broker import Listener
from ..learner_zookeeper import learner_zookeeper
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-052"
SESSION_MS: Final = 4_000
LONG_MS: Final = 10_000
"""How long all brokers are watched, in ms. This is more than two time-outs of a session."""
PING_MS: Final = SESSION_MS // 3
"""The longest time in ms for which a client of ZooKeeper is silent."""
TICK_MS: Final = 500
SLACK_MS: Final = 1_500
DIES: Final = 2


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in ZooKeeper, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    whose = "your" if file is not None else "our"
    say(f"starting three brokers at a ZooKeeper with {whose} session tracker")
    props = {"zookeeper.session.timeout.ms": str(SESSION_MS)}
    with (
        learner_zookeeper(exercise.id, file) as (address, events),
        closing(Listener(events)) as zookeeper,
        running_cluster(f"lab-{exercise.id}", props=props, zookeeper=address) as cluster,
    ):
        make_topic(cluster, TOPIC, [0, 1])
        say(f"{LONG_MS // 1000} s in which all brokers are well")
        yield _all_live(zookeeper)

        say(f"kill -9 of broker {DIES}: its session ends after {SESSION_MS:,} ms")
        yield _one_dies(cluster, zookeeper, patience_s)
        if file is not None:
            yield _judge_calls(zookeeper)


def _all_live(zookeeper: Listener) -> Step:
    zookeeper.wait_for(lambda: zookeeper.count(SessionExpired) > 0, LONG_MS / 1000)
    expired = zookeeper.count(SessionExpired)
    says = "no session ends while its client is heard"
    if expired:
        return Step(says, False, f"{expired} ended while all brokers were well", late=True)
    return Step(says, True, f"none ended in {LONG_MS:,} ms, with a time-out of {SESSION_MS:,}")


def _one_dies(cluster: Cluster, zookeeper: Listener, patience_s: float) -> Step:
    says = f"the session of broker {DIES} ends in its tick"
    seen_before = len(zookeeper.envelopes)
    cluster.kill(DIES)

    def at_us(kind: type) -> list[int]:
        """Return the times in µs of all events of this kind since the broker was killed."""
        since = zookeeper.envelopes[seen_before:]
        return [envelope.mono_us for envelope in since if isinstance(envelope.event, kind)]

    def ended() -> bool:
        return bool(at_us(SessionDisconnected)) and bool(at_us(SessionExpired))

    if not zookeeper.wait_for(ended, patience_s):
        return Step(says, False, f"it never ended, in {patience_s:.0f} s", late=True)
    after_ms = (at_us(SessionExpired)[0] - at_us(SessionDisconnected)[0]) // 1000
    seen = f"{after_ms:,} ms after its connection was lost"
    if after_ms < SESSION_MS - PING_MS - TICK_MS:
        return Step(says, False, f"{seen}: that is before its time-out")
    if after_ms > SESSION_MS + TICK_MS + SLACK_MS:
        return Step(says, False, f"{seen}: that is ticks too late", late=True)
    others = len(at_us(SessionExpired)) - 1
    return Step(says, not others, seen + (f", and {others} others ended" if others else ""))


def _judge_calls(zookeeper: Listener) -> Step:
    says = "your code did it, without an error"
    failed = [event for event in zookeeper.events() if isinstance(event, LearnerFailed)]
    if failed:
        first = failed[0]
        where = f"line {first.line}: " if first.line else ""
        return Step(says, False, f"{where}{first.message}")
    totals = [e.total for e in zookeeper.events() if isinstance(e, LearnerSampled)]
    if not totals or not totals[-1].calls:
        return Step(says, False, "ZooKeeper did not ask your class once")
    if totals[-1].failures:
        return Step(says, False, f"it failed {totals[-1].failures} times at the start")
    return Step(says, True, f"asked {totals[-1].calls:,} times")
