"""The live part of 08-1: a proxy answers with the learner's code. Each answer must equal a broker's
answer, even when one broker is dead.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.protocol.messages.metadata import MetadataResponse
from kafka_edu.protocol.types import ProtocolError

from ..learner_proxy import LearnerProxy, learner_proxy, metadata, send_by_proxy
from ..runner.manifest import Exercise
from ..runner.verdict import Step

TOPIC: Final = "lab-081"
MISSING: Final = "nobody-has-this"
VERSIONS: Final = (0, 1, 5, 8)
RECORDS: Final = 30
DIES: Final = 1


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in a proxy, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_proxy(exercise, file, say, patience_s, options=("--target-versions",)) as proxy:
        yield send_by_proxy(proxy, TOPIC, RECORDS)
        yield _same_answers(proxy, "both brokers live")
        say(f"broker {DIES} is killed")
        proxy.cluster.kill(DIES)
        if not proxy.wait_for_brokers((1 - DIES,)):
            yield Step("the proxy's copy has one broker", False, "it still has two", late=True)
            return
        yield _same_answers(proxy, f"broker {DIES} is dead")
        if file is not None:
            yield proxy.judge_calls("each answer was the broker's own")


def _same_answers(proxy: LearnerProxy, when: str) -> Step:
    """Check that the proxy and a broker give the same answers in each version."""
    says = f"the answers are those of a broker, and {when}"
    broker = f"127.0.0.1:{proxy.cluster.port(1 - DIES)}"
    difference = ""

    def is_same() -> bool:
        nonlocal difference
        for version in VERSIONS:
            theirs = metadata(broker, [MISSING, TOPIC], version)
            try:
                came = metadata(proxy.address, [MISSING, TOPIC], version)
            except (OSError, ProtocolError) as error:
                difference = f"version {version}: {error}"
                return False
            if _shown(came) != _shown(theirs):
                difference = (
                    f"version {version}: the broker answers {_shown(theirs)}, the proxy"
                    f" {_shown(came)}"
                )
                return False
        return True

    same = proxy.wait_for(is_same)
    seen = f"versions {', '.join(map(str, VERSIONS))}" if same else difference
    return Step(says, same, seen, late=not same)


def _shown(answer: MetadataResponse) -> str:
    """Return the topics of an answer in one line, in a form that can be compared."""
    rows = []
    for topic in sorted(answer.topics, key=lambda one: one.name):
        partitions = [
            (
                int(one.error_code),
                one.partition_index,
                one.leader_id,
                one.replica_nodes,
                one.isr_nodes,
                one.offline_replicas,
            )
            for one in sorted(topic.partitions, key=lambda one: one.partition_index)
        ]
        rows.append((int(topic.error_code), topic.name, topic.is_internal, partitions))
    return str(rows)
