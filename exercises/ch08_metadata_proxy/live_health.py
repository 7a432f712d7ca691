"""The live part of 08-3: the learner's rule decides whether a target of a proxy is Up or Down.
Meanwhile the target's broker dies and comes back.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.events.proxy import MetadataCopied, MetadataCopyFailed, TargetStateChanged

from ..learner_proxy import LearnerProxy, learner_proxy, metadata
from ..runner.manifest import Exercise
from ..runner.verdict import Step
from .health_rules import right_states

DOWN_AFTER, UP_AFTER = 4, 3
OPTIONS: Final = (
    *("--refresh-ms", "100", "--target-versions"),
    *("--down-after", str(DOWN_AFTER), "--up-after", str(UP_AFTER)),
)


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Run the learner's `file` in a proxy, and yield the result of each check. If `file` is None,
    run the course's own code.
    """
    with learner_proxy(exercise, file, say, patience_s, brokers=1, options=OPTIONS) as proxy:
        yield _client(proxy, served=True)
        say("the broker is killed")
        proxy.cluster.kill(0)
        yield _reached(proxy, "Down")
        yield _client(proxy, served=False)
        say("the broker comes back")
        proxy.cluster.start(0)
        yield _reached(proxy, "Up")
        yield _client(proxy, served=True)
        proxy.proxy.stop()
        yield _follows(proxy)
        if file is not None:
            yield proxy.judge_calls("each state followed from what was seen")


def _client(proxy: LearnerProxy, *, served: bool) -> Step:
    """Check that the proxy serves a client. If `served` is False, check that the proxy refuses the
    client.
    """
    try:
        metadata(proxy.address, [], 5)
    except (OSError, ProtocolError):
        came = False
    else:
        came = True
    says = f"a client is {'served' if served else 'refused'} now"
    return Step(says, came is served, "" if came is served else "it is not")


def _reached(proxy: LearnerProxy, state: str) -> Step:
    """Check that the target enters this state."""

    def is_there() -> bool:
        changes = proxy.events_of(TargetStateChanged)
        return bool(changes) and changes[-1].after == state

    reached = proxy.wait_for(is_there)
    changes = proxy.events_of(TargetStateChanged)
    seen = f"{len(changes)} changes so far, the last to {changes[-1].after}" if changes else "none"
    return Step(f"the target becomes {state}", reached, seen, late=not reached)


def _follows(proxy: LearnerProxy) -> Step:
    """Check that each state of the target follows from the health checks before it."""
    says = f"Down after {DOWN_AFTER} failures in a row, Up after {UP_AFTER} answers"
    looks: list[bool] = []
    came: list[str] = []
    state = "Unknown"
    for one in proxy.proxy.events():
        match one.event:
            case MetadataCopied() | MetadataCopyFailed():
                if looks:
                    came.append(state)
                looks.append(isinstance(one.event, MetadataCopied))
            case TargetStateChanged(after=after):
                state = str(after)
    came.append(state)
    expected = right_states(DOWN_AFTER, UP_AFTER, looks)
    for number, (right, got) in enumerate(zip(expected, came, strict=True), 1):
        if right != got:
            return Step(says, False, f"after look {number} it was {got}, and had to be {right}")
    failed = looks.count(False)
    return Step(says, True, f"{len(looks)} looks, {failed} of them failed")
