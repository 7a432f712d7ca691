"""Public tests of exercise 04-7. `kafka-edu lab check 04-7` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch, Words
from ..deletion_rules import Call, RightDeletion, answer, quiet, something, started
from .material import Run, run

TOPICS = (("pay", (0, 1)), ("web", (0, 1, 2)))
BROKERS = (0, 1, 2)
ORDER_WEB = Call("order", ("web",), "the deletion of web is ordered")
ORDER_PAY = Call("order", ("pay",), "the deletion of pay is ordered")


def dies(broker: int) -> Call:
    """Return the call that reports the death of a broker."""
    return Call("broker_failed", (broker,), f"broker {broker} dies")


class Checked:
    """An object of the learner's class. Each of its answers is compared with the right answer."""

    def __init__(
        self,
        learner: Learner,
        topics: Sequence[tuple[str, Sequence[int]]] = TOPICS,
        brokers: Sequence[int] = BROKERS,
    ) -> None:
        self._made = learner.make([(name, list(ids)) for name, ids in topics], list(brokers))
        self._events: list[str] = []
        self.right = RightDeletion(topics, brokers)

    def do(self, *calls: Call) -> None:
        """Make these calls. Compare the answer to each call, and the states after the call. Raises
        Mismatch.
        """
        for call in calls:
            expected = self.right.do(call)
            came = self._made.call(call.method, *call.arguments)
            self._events.append(call.text)
            shown = f"{call.method}({', '.join(map(repr, call.arguments))}), after the events below"
            drawing = tuple(self._events[-9:])
            if came != expected:
                raise Mismatch(
                    shown,
                    expected,
                    came,
                    "a StopReplica goes to each replica that is tried now, and whose broker lives",
                    drawing=drawing,
                    read=call.method,
                )
            expected_states, states = self.right.states(), self._made.call("states")
            if states != expected_states:
                raise Mismatch(
                    f"states() after {shown}",
                    expected_states,
                    states,
                    "a broker that dies while it deletes will never answer; and a topic is gone"
                    " when all of its replicas are",
                    drawing=drawing,
                    read=call.method,
                )


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the topic, and the event after which nothing continues its deletion"""
    made = run(material)
    came = learner.make([], []).call("diagnosis")
    asked, expected = "diagnosis()", Words("(topic, number of an event, name of the method)")
    match came:
        case (str(topic), int(event), str()):
            pass
        case _:
            raise Mismatch(asked, expected, came, "the answer has three values")
    if topic != made.found.topic:
        raise Mismatch(asked, expected, came, _why_not_topic(made, topic), read="events.txt")
    if event != made.found.event:
        raise Mismatch(asked, expected, came, _why_not_event(made, event), read="events.txt")


def _why_not_topic(made: Run, topic: str) -> str:
    if topic not in dict(made.topics):
        return f"events.txt has the topics {', '.join(name for name, _ in made.topics)}"
    if any(name == topic for name, _, _ in made.states):
        return f"no order to delete {topic} was given"
    return f"{topic} is gone at the end"


def _why_not_event(made: Run, event: int) -> str:
    if not 1 <= event <= len(made.calls):
        return f"events.txt has the events 1 to {len(made.calls)}"
    if event < made.found.event:
        return f"after event {event}, an answer could still come for each replica that was started"
    return f"before event {event} already, a broker was dead whose answer is waited for"


def test_method(learner: Learner) -> None:
    """diagnosis names the method that is wrong"""
    came = learner.make([], []).call("diagnosis")
    method = came[2] if isinstance(came, tuple) and len(came) == 3 else came
    reasons = {
        "broker_started": (
            "this method is right: it tries each topic again that waits for the broker. Did the"
            " topic wait?"
        ),
        "resume": (
            "this method is right: it does nothing while an answer may still come. Which method"
            " should have noted that no answer will come?"
        ),
        "states": "states is the tests' own",
    }
    if method != "broker_failed":
        why = reasons.get(str(method), "it does what README.md says")
        raise Mismatch("diagnosis()", Words("the method that is wrong"), method, why)


def test_all_is_well(learner: Learner) -> None:
    """all brokers are alive and answer"""
    one = Checked(learner)
    one.do(ORDER_WEB, *(answer("web", broker, ok=True) for broker in (2, 0, 1)), ORDER_WEB)


def test_dead_before(learner: Learner) -> None:
    """a broker is dead when the deletion is ordered, and starts later"""
    one = Checked(learner)
    one.do(dies(1), ORDER_WEB, answer("web", 0, ok=True), answer("web", 2, ok=True))
    one.do(started(1), answer("web", 1, ok=True))


def test_dies_while_it_deletes(learner: Learner) -> None:
    """a broker dies while it deletes, and starts before or after the others have answered"""
    for early in (True, False):
        one = Checked(learner)
        one.do(ORDER_WEB, dies(1))
        if early:
            one.do(started(1))
        one.do(answer("web", 0, ok=True), answer("web", 2, ok=True))
        one.do(dies(2), started(2), started(1), answer("web", 1, ok=True))


def test_dies_when_it_has_deleted(learner: Learner) -> None:
    """a broker dies after it has deleted its replica: it has nothing left to delete"""
    one = Checked(learner)
    one.do(ORDER_PAY, answer("pay", 1, ok=True), dies(1), answer("pay", 0, ok=True))


def test_cannot(learner: Learner) -> None:
    """a broker fails to delete its replica, and succeeds after its next start"""
    one = Checked(learner)
    one.do(ORDER_PAY, answer("pay", 1, ok=False), answer("pay", 0, ok=True))
    one.do(dies(1), started(1), answer("pay", 1, ok=True))


def test_moves(learner: Learner) -> None:
    """a topic whose replicas move is deleted only after the move has ended"""
    one = Checked(learner)
    one.do(Call("move_begins", ("web",), "the replicas of web begin to move"), ORDER_WEB)
    one.do(dies(0), started(0), Call("move_ended", ("web",), "the move of web has ended"))
    one.do(*(answer("web", broker, ok=True) for broker in (0, 1, 2)))


def test_others_are_not_touched(learner: Learner) -> None:
    """a topic without a deletion goes offline and online together with its broker"""
    one = Checked(learner)
    one.do(dies(0), ORDER_PAY, dies(1), started(0), started(1), answer("pay", 0, ok=True))


def test_many(learner: Learner, seed: int) -> None:
    """many random events, until all is quiet: then every deletion has ended"""
    random = Random(seed)
    for _ in range(4):
        play(Checked(learner), random, events=40)


def play(
    one: Checked,
    random: Random,
    *,
    events: int,
    late: bool = False,
    brokers: Sequence[int] = BROKERS,
) -> None:
    """Let random events happen, and then lead the cluster to the end of all deletions."""
    for _ in range(events):
        one.do(something(random, one.right, brokers, late=late))
    while (call := quiet(one.right, brokers)) is not None:
        one.do(call)
