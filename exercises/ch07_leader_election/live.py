"""The live part of 07-1: the learner's rule elects leaders in all three brokers.

Broker 2, the leader, stops. Then it starts, leads again as the preferred replica, and is killed.
The result of each election is compared with the right result.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.events.controller import LeaderElected

from ..learner_broker import BROKER, LearnerBroker
from ..learner_controller import learner_controllers, of_topic, send_to_all
from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .election_rules import Case, in_words, right

TOPIC: Final = "lab-071"
RECORDS: Final = 20


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in all brokers, and yield the result of each check. If `file` is
    None, run the course's own code.
    """
    with learner_controllers(exercise, file, TOPIC, say, patience_s) as broker:
        yield from moment(broker, say)
        if file is not None:
            yield broker.judge_calls("leaders of the topic and of others were elected")


def moment(broker: LearnerBroker, say: Callable[[str], None]) -> Iterator[Step]:
    """Run the scenario of this live part, and yield the result of each check.

    Three strategies elect a leader, one after another.
    """
    cluster = broker.cluster
    yield send_to_all(broker, "records are acked by broker 2", RECORDS)
    says = f"broker {BROKER} is stopped, and hands over"
    say(says)
    yield _elects(broker, says, "ControlledShutdown", lambda: cluster.stop(BROKER))
    yield send_to_all(broker, "records are acked by the next leader", RECORDS)
    says = f"broker {BROKER} is back, and leads again as the preferred replica"
    say(says)
    cluster.start(BROKER)
    yield _elects(broker, says, "PreferredReplica", lambda: _prefer(broker))
    says = f"broker {BROKER} is killed, and another one leads"
    say(says)
    yield _elects(broker, says, "OfflinePartition", lambda: cluster.kill(BROKER))
    yield send_to_all(broker, "records are acked by the last leader", RECORDS)
    yield _as_asked(broker)


def _elects(broker: LearnerBroker, says: str, strategy: str, act: Callable[[], object]) -> Step:
    """Call `act`, and check that it causes an election by this strategy."""
    before = len(of_topic(broker, LeaderElected))
    act()

    def elected() -> list[LeaderElected]:
        return [e for e in of_topic(broker, LeaderElected)[before:] if e.strategy == strategy]

    if not broker.listener.wait_for(lambda: bool(elected()), broker.patience_s):
        return Step(says, False, f"nobody was elected by {strategy}", late=True)
    last = elected()[-1]
    return Step(says, True, f"broker {last.new_leader} leads, ISR {in_words(last.isr)}")


def _prefer(broker: LearnerBroker) -> None:
    """Order a preferred election again and again, until broker 2 is in sync and leads."""

    def in_sync() -> bool:
        try:
            broker.cluster.perform("elect-preferred", {"partition": f"{broker.topic}-0"})
        except ClusterError:
            return False
        return True

    broker.listener.wait_for(in_sync, broker.patience_s)


def _as_asked(broker: LearnerBroker) -> Step:
    """Check that each election of the topic had the right result. The election of the new
    partition's first leader does not count, because there was no ISR before it.
    """
    elections = [event for event in of_topic(broker, LeaderElected) if event.isr_before]
    says = "each leader is the one whom the sets of that moment ask for"
    for event in elections:
        going = (event.old_leader,) if event.strategy == "ControlledShutdown" else ()
        case = Case(
            event.strategy, event.replicas, event.isr_before, event.live, going, event.unclean
        )
        expected = right(case)
        if expected != (event.new_leader, tuple(event.isr)):
            wanted = "nobody" if expected is None else f"{expected[0]}, ISR {in_words(expected[1])}"
            return Step(
                says,
                False,
                f"{event.strategy} of AR {in_words(event.replicas)}, ISR"
                f" {in_words(event.isr_before)}, live {in_words(event.live)}: it is {wanted}, and"
                f" came {event.new_leader}, ISR {in_words(event.isr)}",
            )
    return Step(says, True, f"{len(elections)} elections")
