"""The live part of 08-5: a proxy writes its Metadata answers by the learner's table. Old and new
clients read these answers.

The newest of the clients is confluent-kafka, because a proxy is for unmodified clients.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from confluent_kafka import Producer

from kafka_edu.protocol.types import ProtocolError

from ..learner_proxy import LearnerProxy, learner_proxy, metadata, send_by_proxy
from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .layout_rules import VERSIONS

TOPIC: Final = "lab-085"
RECORDS: Final = 20
#: With these settings librdkafka acts as an old client: it does not ask brokers for versions.
OLD: Final = {"api.version.request": "false", "broker.version.fallback": "0.9.0"}


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in a proxy, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_proxy(exercise, file, say, patience_s, options=("--target-versions",)) as proxy:
        yield send_by_proxy(proxy, TOPIC, RECORDS)
        for version in VERSIONS:
            yield _read(proxy, version)
        say("a client boots that knows old versions only")
        yield _old_client(proxy)
        if file is not None:
            yield proxy.judge_calls("clients of all ages read it")


def _read(proxy: LearnerProxy, version: int) -> Step:
    """Check that a client of this version reads the same from the proxy as from a broker."""
    says = f"a client of version {version} reads the answer"
    theirs = metadata(f"127.0.0.1:{proxy.cluster.port(0)}", [TOPIC], version)
    try:
        came = metadata(proxy.address, [TOPIC], version)
    except (OSError, ProtocolError) as error:
        return Step(says, False, str(error))
    same = (came.topics, came.brokers) == (theirs.topics, theirs.brokers)
    seen = "" if same else f"it reads {came.topics}, and the broker's is {theirs.topics}"
    return Step(says, same, seen[:400])


def _old_client(proxy: LearnerProxy) -> Step:
    """Check that an ordinary client that uses old versions can produce through the proxy."""
    says = "a client of 2015 boots on the proxy, and its records are acked"
    acked = 0

    def done(error: object, _message: object) -> None:
        nonlocal acked
        acked += error is None

    producer = Producer(
        {
            "bootstrap.servers": proxy.address,
            "acks": "all",
            "log_level": "3",  # it warns that it will forget these versions
            "message.timeout.ms": str(round(proxy.patience_s * 1_000)),
            **OLD,
        }
    )
    for number in range(RECORDS):
        producer.produce(TOPIC, b"from 2015", partition=number % 3, on_delivery=done)
    producer.flush(proxy.patience_s + 10)
    return Step(says, acked == RECORDS, f"{acked} of {RECORDS} acked", late=acked < RECORDS)
