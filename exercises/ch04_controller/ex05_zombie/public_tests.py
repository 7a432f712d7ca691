"""Public tests of exercise 04-5. `kafka-edu lab check 04-5` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Sequence
from random import Random

import pytest

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.api_keys import ApiKey

from ...runner.mismatch import Mismatch, Words
from ..orders_rules import METHODS, NAMES, Order, RightOrders, State
from .material import Run, run

PARTITIONS = ("web-0", "web-1", "web-2", "pay-0")
BOTH = "each request has to refuse a lower controller epoch, and to remember a higher one"


class Checked:
    """A broker of the learner's class. Each of its answers is compared with the right answer."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self._right = RightOrders()
        self._orders: list[str] = []

    def do(self, api: ApiKey, controller: int, epoch: int, *states: State) -> None:
        """Send one request. Compare the answer, and the broker's state after the request. Raises
        Mismatch.
        """
        order = Order(api, controller, epoch, states)
        highest = self._right.controller_epoch
        expected = self._right.do(order)
        came = self._made.call(METHODS[api], *order.arguments)
        self._orders.append(order.text)
        drawing = tuple(self._orders[-8:])
        if came != expected:
            raise Mismatch(
                f"{METHODS[api]}, after the orders below",
                expected,
                came,
                self._why(order, highest),
                drawing=drawing,
                read=METHODS[api],
            )
        expected_state, state = self._right.state(), self._made.call("state")
        if state != expected_state:
            raise Mismatch(
                "state(), after the orders below",
                expected_state,
                state,
                "a refused order changes nothing, and an obeyed order changes only the"
                " partitions that it names",
                drawing=drawing,
                read=METHODS[api],
            )

    def _why(self, order: Order, highest: int) -> str:
        if order.controller_epoch < highest:
            return (
                f"an order with epoch {highest} has come before, so one with epoch"
                f" {order.controller_epoch} comes from an old controller. {BOTH}"
            )
        return (
            f"no higher epoch than {order.controller_epoch} has come, so the request is obeyed; in"
            " a LeaderAndIsr each partition is judged alone, by its leader epoch"
        )


@pytest.fixture
def broker(learner: Learner) -> Checked:
    """A broker that has not got any request yet."""
    return Checked(learner)


def test_diagnosis(learner: Learner, material: int) -> None:
    """diagnosis names the request to refuse, and the event from which the broker could know it"""
    made = run(material)
    came = learner.make().call("diagnosis")
    asked = "diagnosis()"
    expected = Words("(number of an event, number of an event, name of the method)")
    match came:
        case (int(obeyed), int(known), str()):
            pass
        case _:
            raise Mismatch(asked, expected, came, "the answer has three values")
    for number, why in (
        (obeyed, _why_not_obeyed(made, obeyed)),
        (known, _why_not_known(made, known)),
    ):
        if not 1 <= number <= len(made.lines):
            why = f"events.txt has the events 1 to {len(made.lines)}"
        if why:
            raise Mismatch(asked, expected, came, why, read="events.txt")


def _why_not_obeyed(made: Run, event: int) -> str:
    if event == made.found.obeyed or not 1 <= event <= len(made.lines):
        return ""
    line = made.lines[event - 1]
    if line.order is None:
        return f"event {event} is an election, and no order"
    if not line.obeyed:
        return f"event {event} was refused, and that is right"
    return (
        f"before event {event}, no order with a higher epoch than {line.order.controller_epoch} had"
        " reached the broker"
    )


def _why_not_known(made: Run, event: int) -> str:
    if event == made.found.known or not 1 <= event <= len(made.lines):
        return ""
    line, obeyed = made.lines[event - 1], made.lines[made.found.obeyed - 1].order
    if line.order is None:
        return f"event {event} is an election: a broker sees only the requests that it gets"
    if obeyed is not None and line.order.controller_epoch <= obeyed.controller_epoch:
        return f"event {event} has no higher epoch than the order that should have been refused"
    return f"before event {event}, this broker already had an order of a newer controller"


def test_method(learner: Learner) -> None:
    """diagnosis names the method that is wrong"""
    came = learner.make().call("diagnosis")
    method = came[2] if isinstance(came, tuple) and len(came) == 3 else came
    reasons = {
        "leader_and_isr": (
            "this method is right: it compares the epoch with the highest known one. Which method"
            " fails to store a higher epoch?"
        ),
        "stop_replica": (
            "this method is right: it refuses a lower epoch and stores a higher one. Which method"
            " does not?"
        ),
        "state": "state is the tests' own",
    }
    if method != "update_metadata":
        why = reasons.get(str(method), "the class has no method of that name")
        raise Mismatch("diagnosis()", Words("the method that is wrong"), method, why)


@pytest.mark.parametrize("old", METHODS, ids=NAMES.get)
@pytest.mark.parametrize("new", METHODS, ids=NAMES.get)
def test_old_after_new(broker: Checked, new: ApiKey, old: ApiKey) -> None:
    """requests of an old controller, after a request of a newer controller"""
    broker.do(ApiKey.LEADER_AND_ISR, 1, 7, State("web-0", 1, 3))
    broker.do(new, 2, 8, State("web-1", 2, 1))
    for leader_epoch in (9, 10):
        broker.do(old, 1, 7, State("web-0", 3, leader_epoch), State("web-1", 3, leader_epoch))


@pytest.mark.parametrize("api", METHODS, ids=NAMES.get)
def test_nothing_newer_was_heard(broker: Checked, api: ApiKey) -> None:
    """several requests of one controller are obeyed, and so are those of the next controller"""
    for epoch in (7, 7, 9, 9):
        broker.do(api, epoch, epoch, State("web-0", 1, epoch), State("pay-0", 2, epoch))


def test_leader_epochs(broker: Checked) -> None:
    """each partition of a LeaderAndIsr is judged by its own leader epoch"""
    broker.do(ApiKey.LEADER_AND_ISR, 1, 7, State("web-0", 1, 3), State("web-1", 1, 5))
    broker.do(ApiKey.LEADER_AND_ISR, 1, 7, State("web-0", 2, 4), State("web-1", 2, 5))
    broker.do(ApiKey.LEADER_AND_ISR, 2, 8, State("web-0", 3, 4), State("web-1", 3, 6))
    broker.do(ApiKey.STOP_REPLICA, 2, 8, State("web-0", 3, 4))
    broker.do(ApiKey.LEADER_AND_ISR, 2, 8, State("web-0", 1, 0))


def test_an_empty_order_counts(broker: Checked) -> None:
    """a request without partitions also informs the broker of its controller's epoch"""
    broker.do(ApiKey.UPDATE_METADATA, 2, 8)
    broker.do(ApiKey.STOP_REPLICA, 1, 7, State("web-0", 1, 1))


def test_many(broker: Checked, seed: int) -> None:
    """hundreds of random requests, some of them late"""
    random = Random(seed)
    for reign in range(1, 60):
        for _ in range(4):
            epoch = max(1, reign - random.choice((0, 0, 0, 1, 2)))
            broker.do(random.choice(list(METHODS)), epoch, epoch, *some_states(random, reign))


def some_states(random: Random, highest: int) -> Sequence[State]:
    """Return random states of one to three partitions. No leader epoch is above `highest`."""
    return [
        State(name, random.randrange(4), random.randint(0, highest))
        for name in random.sample(PARTITIONS, random.randint(1, 3))
    ]
