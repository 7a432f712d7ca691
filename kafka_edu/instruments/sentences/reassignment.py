"""Sentences for the events of partition reassignments."""

from collections.abc import Sequence

from kafka_edu.common.words import plural
from kafka_edu.instruments.sentence import Sentence
from kafka_edu.instruments.sentences.table import sentence
from kafka_edu.instruments.sentences.words import brokers, quiet
from kafka_edu.trace.events import reassignment


def _in_sync(replicas: Sequence[int]) -> str:
    return f"{brokers(replicas)} {'are' if len(replicas) > 1 else 'is'} in sync"


@sentence.register
def reassignment_refused(e: reassignment.ReassignmentRefused) -> Sentence:
    return Sentence("✗ does not move", f"{e.topic}-{e.partition}", "", e.reason)


@sentence.register
def reassignment_started(e: reassignment.ReassignmentStarted) -> Sentence:
    target = [replica for replica in e.replicas if replica not in e.removing]
    reason = {
        "api": "an admin client ordered it",
        "znode": "the order is in ZooKeeper",
        "cancellation": "the move was cancelled",
        "controller": "the new controller continues it",
    }.get(e.ordered_by, f"{e.ordered_by} ordered it")
    return Sentence(
        "moves",
        f"{e.topic}-{e.partition}",
        f"from {brokers(e.before)} to {brokers(target)}",
        reason,
        "it is moved",
    )


@sentence.register
def leader_epoch_incremented(e: reassignment.LeaderEpochIncremented) -> Sentence:
    return quiet(
        "begins a new epoch of",
        f"{e.topic}-{e.partition}",
        f"under the same leader, broker {e.leader}",
        exact=(
            f"begins epoch {e.leader_epoch} of {e.topic}-{e.partition} under the same leader,"
            f" broker {e.leader}, so that {brokers(e.replicas)} learn the new assignment"
        ),
    )


@sentence.register
def reassignment_waits(e: reassignment.ReassignmentWaits) -> Sentence:
    return Sentence("move of", f"{e.topic}-{e.partition}", f"waits until {_in_sync(e.missing)}")


@sentence.register
def reassignment_caught_up(e: reassignment.ReassignmentCaughtUp) -> Sentence:
    gone = f"; {brokers(e.removing)} may go" if e.removing else ""
    return Sentence(
        "move of",
        f"{e.topic}-{e.partition}",
        f"has caught up: {_in_sync(e.target)}{gone}",
        loud=False,
    )


@sentence.register
def reassignment_replicas_stopped(e: reassignment.ReassignmentReplicasStopped) -> Sentence:
    return Sentence(
        "removes the replicas of",
        f"{e.topic}-{e.partition}",
        f"on {brokers(e.replicas)}",
        e.reason,
        loud=False,
    )


@sentence.register
def reassignment_completed(e: reassignment.ReassignmentCompleted) -> Sentence:
    return Sentence(
        "has moved",
        f"{e.topic}-{e.partition}",
        f"to {brokers(e.replicas)}",
        because="it has moved",
    )


@sentence.register
def reassignment_order_shrunk(e: reassignment.ReassignmentOrderShrunk) -> Sentence:
    left = f"{plural(e.left, 'partition')} left" if e.left else "it was the last"
    return quiet("removes finished moves from the order in ZooKeeper:", after=left)
