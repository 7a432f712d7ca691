"""The live part of 12-1: the learner's class decides when our producer sends which batches.

One producer has a long linger.ms: it sends each batch for a different reason. The other producer
sends one batch in each request, and has one request in flight. The leader is paused while the
deques fill. Later a follower is stopped, and the leader refuses all batches, because one replica is
missing.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster import Cluster, running_cluster
from kafka_edu.trace.events.producer import BatchDrained, BatchRetried

from ..learner_broker import PATIENT_ISR
from ..learner_client import LearnerClient, NoAnswerError, Record, Stored, learner_client
from ..runner.manifest import Exercise
from ..runner.topics import make_topic
from ..runner.verdict import Step

TOPIC: Final = "lab-121"
LEADER: Final = 2
PARTITIONS: Final = 6
BATCH_BYTES: Final = 2_000
LARGE: Final = "x" * 1_500
"""A value so large that a batch has room for only one."""
EACH: Final = 5
"""How many large records each partition gets."""
LINGER_MS: Final = 300
BACKOFF_MS: Final = 400
LONG_MS: Final = 600_000
ROUNDING_MS: Final = 2
"""The learner's code and the events count in whole ms."""
FOLLOWER: Final = 0
REFUSALS: Final = 4


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` (the shipped code if it is None) in two producers, and yield the
    result of each check.
    """
    say(f"starting three brokers, and a producer with {'yours' if file is not None else 'ours'}")
    with running_cluster(f"lab-{exercise.id}", props=PATIENT_ISR) as cluster:
        configs = {"min.insync.replicas": "3"}
        make_topic(cluster, TOPIC, [LEADER, FOLLOWER, 1], PARTITIONS, configs)
        config: dict[str, object] = {
            "bootstrap.servers": cluster.bootstrap_servers,
            "acks": "all",
            "batch.size": BATCH_BYTES,
            "delivery.timeout.ms": 3 * LONG_MS,
            "request.timeout.ms": LONG_MS,
        }
        try:
            with learner_client(
                exercise.id, file, config | {"linger.ms": LONG_MS}, patience_s
            ) as client:
                yield _full_ones_go(client, say)
            one_by_one = {
                "linger.ms": LINGER_MS,
                "retry.backoff.ms": BACKOFF_MS,
                "max.request.size": BATCH_BYTES,
                "max.in.flight.requests.per.connection": 1,
            }
            with learner_client(exercise.id, file, config | one_by_one, patience_s) as client:
                yield _one_lingers(client, say)
                yield _all_get_their_turn(client, cluster, say)
                yield _those_that_failed_wait(client, cluster, say)
                if file is not None:
                    yield client.judge_calls("batches were chosen")
        except NoAnswerError as error:
            yield Step("each record is sent", False, str(error), late=True)


def _drained(client: LearnerClient) -> list[BatchDrained]:
    return [event for event in client.listener.events() if isinstance(event, BatchDrained)]


def _full_ones_go(client: LearnerClient, say: Callable[[str], None]) -> Step:
    """Send four batches to a partition. Three of them are full."""
    says = "full batches go at once, and flush() sends the rest"
    say("linger.ms is ten minutes, and three batches of four are full")
    client.send([Record(TOPIC, 0, None, LARGE) for _ in range(4)])
    if not client.listener.wait_for(lambda: len(_drained(client)) >= 3, client.patience_s):
        return Step(says, False, f"{len(_drained(client))} of 3 full batches went", late=True)
    early = len(_drained(client)) - 3
    outcomes = client.flush()
    stored = sum(isinstance(one, Stored) for one in outcomes)
    if early:
        return Step(says, False, "the batch that is not full went too, before flush()")
    return Step(says, stored == 4, f"{stored} of 4 records are stored")


def _one_lingers(client: LearnerClient, say: Callable[[str], None]) -> Step:
    """Send one record, which has to wait for linger.ms."""
    says = f"a batch that is not full waits for linger.ms, {LINGER_MS} ms"
    say("one record is sent")
    client.send([Record(TOPIC, 0, None, "alone")])
    if not client.listener.wait_for(lambda: bool(_drained(client)), client.patience_s):
        return Step(says, False, "it was not sent", late=True)
    client.flush()
    waited_ms = _drained(client)[0].waited_ms
    return Step(says, waited_ms >= LINGER_MS - ROUNDING_MS, f"it has waited {waited_ms} ms")


def _all_get_their_turn(
    client: LearnerClient, cluster: Cluster, say: Callable[[str], None]
) -> Step:
    """Fill the deques of all partitions while their leader is paused. Then resume the leader."""
    says = "each of the six partitions gets its turn"
    say(f"broker {LEADER} is paused while the deques fill")
    before = len(_drained(client))
    cluster.pause(LEADER)
    try:
        client.send(_large())
    finally:
        cluster.resume(LEADER)
    stored = sum(isinstance(one, Stored) for one in client.flush())
    count = EACH * PARTITIONS
    if stored < count:
        return Step(says, False, f"{stored} of {count} records are stored", late=True)
    if not client.listener.wait_for(
        lambda: len(_drained(client)) >= before + count, client.patience_s
    ):
        return Step(says, False, "the events of the producer do not come", late=True)
    # The first batch went alone, before the deques were full.
    order = [one.partition for one in _drained(client)[before + 1 :]]
    for start in range(PARTITIONS * (EACH - 2)):
        turn = order[start : start + PARTITIONS]
        if len({*turn}) < PARTITIONS:
            missing = min({*range(PARTITIONS)} - {*turn})
            shown = ", ".join(map(str, turn))
            return Step(says, False, f"the order was {shown}, and {missing} had batches too")
    return Step(says, True, f"{count} requests of one batch, in turn")


def _large() -> Sequence[Record]:
    return [Record(TOPIC, n, None, LARGE) for _ in range(EACH) for n in range(PARTITIONS)]


def _those_that_failed_wait(
    client: LearnerClient, cluster: Cluster, say: Callable[[str], None]
) -> Step:
    """Stop a follower, so that the leader refuses batches. They have to wait for the back-off."""
    says = f"a batch that failed waits for the back-off, {BACKOFF_MS} ms"
    say(f"broker {FOLLOWER} is stopped: the leader refuses batches that not all three can get")
    cluster.stop(FOLLOWER)
    client.send([Record(TOPIC, n, None, LARGE) for n in range(PARTITIONS)])
    refused = client.listener.wait_for(
        lambda: len(_waits_ms(client)) >= REFUSALS, client.patience_s
    )
    waits = _waits_ms(client)
    say(f"broker {FOLLOWER} comes back")
    cluster.start(FOLLOWER)
    if not refused:
        return Step(says, False, f"{len(waits)} batches were sent again", late=True)
    stored = sum(isinstance(one, Stored) for one in client.flush())
    if stored < PARTITIONS:
        return Step(says, False, f"{stored} of {PARTITIONS} records are stored", late=True)
    least = min(waits)
    return Step(
        says,
        least >= BACKOFF_MS - ROUNDING_MS,
        f"{len(waits)} batches were sent again, after {least} ms or more",
    )


def _waits_ms(client: LearnerClient) -> list[int]:
    """Return how long each batch that failed waited until it was sent again."""
    failed: dict[int, int] = {}
    waits: list[int] = []
    for envelope in list(client.listener.envelopes):
        match envelope.event:
            case BatchRetried(batch=number):
                failed[number] = envelope.mono_us
            case BatchDrained(batch=number) if number in failed:
                waits.append((envelope.mono_us - failed.pop(number)) // 1_000)
    return waits
