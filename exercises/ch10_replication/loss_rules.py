"""The fate of records in the cases of exercise 10-3, played with the broker's own classes.

Broker 0 leads three replicas. Some followers have left the ISR, and some members of the ISR do not
fetch. Records are written, the other followers fetch them, and broker 0 dies. The controller's own
rule elects a new leader. Then broker 0 comes back, and follows this leader.
"""

from functools import cache
from typing import Final, NamedTuple

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.errors import Errors
from kafka_edu.controller.leader_election import ElectionStrategy, elect
from kafka_edu.sim.stepped_cluster import SteppedCluster

LEADER: Final = 0
FOLLOWERS: Final = (1, 2)
BEFORE: Final = 3
"""How many records all three replicas have at the beginning. They are acknowledged."""
NOBODY: Final = -1
PROTOCOL: Final = (2, 8)


class Case(NamedTuple):
    """One case: the settings, and what happens."""

    acks: int
    """The producer's acks; -1 means all."""
    min_isr: int
    unclean: bool
    replicas: tuple[int, ...]
    """The brokers of the AR. Broker 0, the leader, is the first."""
    away: tuple[int, ...]
    """The followers that have left the ISR before the records are written."""
    still: tuple[int, ...]
    """The followers that are in the ISR, but fetch no more."""
    records: int


class Ended(NamedTuple):
    """The fate of the records of one case."""

    acked: int
    refused: int
    """How many records were refused with NOT_ENOUGH_REPLICAS."""
    leader: int
    """The broker that leads when broker 0 is dead; -1 if nobody does."""
    lost: int
    """How many acknowledged records are missing in the leader's log in the end."""
    surprise: int
    """How many records are in the leader's log in the end, but were never acknowledged."""


@cache
def play(case: Case) -> Ended:
    """Play the case, and return the fate of the records."""
    cluster = SteppedCluster(3, min_isr=case.min_isr, protocol=PROTOCOL)
    cluster.elect(LEADER, case.replicas)
    early = [f"before {number}" for number in range(BEFORE)]
    for value in early:
        cluster.produce(value, acks=1)
    for _ in range(3):
        cluster.fetch(*FOLLOWERS)
    isr = tuple(one for one in case.replicas if one not in case.away)
    if case.away:
        cluster.elect(LEADER, isr)
        cluster.step(31_000)  # who is away has not caught up for that long
    fetching = [one for one in FOLLOWERS if one not in case.away + case.still]
    for _ in range(3):
        cluster.fetch(*fetching)
    values = [f"record {number}" for number in range(case.records)]
    answers = {value: cluster.produce(value, acks=case.acks) for value in values}
    for _ in range(2):
        cluster.fetch(*fetching)
    errors = {value: answer.error() for value, answer in answers.items()}
    acked = [value for value, error in errors.items() if error is Errors.NONE]
    refused = sum(error is Errors.NOT_ENOUGH_REPLICAS for error in errors.values())
    dead = cluster.brokers[LEADER]
    dead.alive = False
    elected = elect(
        ElectionStrategy.OFFLINE_PARTITION,
        LeaderAndIsr(LEADER, 0, isr, 0),
        case.replicas,
        FOLLOWERS,
        (),
        case.unclean,
    )
    leader = NOBODY if elected is None else elected.leader
    if elected is not None:
        cluster.elect(elected.leader, elected.isr)
    dead.restart(high_watermark=dead.hw)
    if elected is None:
        cluster.elect(LEADER, isr)
    else:
        cluster.tell(LEADER)
        for _ in range(3):
            cluster.fetch(LEADER)
    there = {*cluster.leader.values()}
    lost = sum(value not in there for value in (*early, *acked))
    surprise = sum(value in there and value not in acked for value in values)
    return Ended(len(acked), refused, leader, lost, surprise)
