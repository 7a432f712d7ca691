"""The run of exercise 04-5: the starter's broker gets the requests of three controllers in turn."""

from itertools import count
from random import Random
from typing import Final, NamedTuple

from kafka_edu.protocol.api_keys import ApiKey

from ..orders_rules import ANSWERS, METHODS, NONE, Order, RightOrders, State
from .starter import ControllerOrders

PARTITIONS: Final = ("web-0", "web-1", "pay-0")
BROKERS: Final = (0, 1, 2, 3)
REIGNS: Final = 3
ORDERS: Final = 5
"""The number of requests that each controller sends."""
REIGN_MS: Final = 20_000
KINDS: Final = (
    ApiKey.UPDATE_METADATA,
    ApiKey.UPDATE_METADATA,
    ApiKey.LEADER_AND_ISR,
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
)


HEADER: Final = "no.       time  answer   from  epoch  request"


class Line(NamedTuple):
    """One event of the run."""

    time_ms: int
    answer: str
    """"obeyed" or "refused" for a request, "elected" for the election of a controller."""
    controller: int
    epoch: int
    text: str
    order: Order | None

    @property
    def obeyed(self) -> bool:
        """Whether this event is a request that the broker obeyed."""
        return self.answer == ANSWERS[NONE]


class Found(NamedTuple):
    """The events that the learner has to find. The first event has the number 1."""

    obeyed: int
    """The number of the request that was obeyed, but should have been refused."""
    known: int
    """The number of the first event that informed the broker of a newer controller."""


class Run(NamedTuple):
    """One complete run: all its events, and what the learner has to find in them."""

    lines: tuple[Line, ...]
    found: Found


def make(seed: int) -> dict[str, str]:
    """Return the learner's file events.txt, as a dict from its name to its text."""
    shown = [
        f"{number:>3}  {line.time_ms:>6,} ms  {line.answer:<7}  {line.controller:>4}"
        f"  {line.epoch:>5}  {line.text}"
        for number, line in enumerate(run(seed).lines, 1)
    ]
    return {"events.txt": "\n".join((HEADER, *shown)) + "\n"}


def run(seed: int) -> Run:
    """Return the first run for this seed in which exactly one request is obeyed wrongly. A second
    old request is refused. A third old request is obeyed rightly, because the broker knows no newer
    controller.
    """
    for number in count():
        made = run_once(Random(f"zombie/{seed}/{number}"))
        if made is not None:
            return made
    raise AssertionError("count() has no end")


def run_once(random: Random) -> Run | None:
    """Make a run with these random choices. Return None if it does not have the requests that `run`
    describes.
    """
    epoch = random.randint(3, 40)
    controllers = random.sample(BROKERS, REIGNS)
    leader_epochs = dict.fromkeys(PARTITIONS, random.randint(1, 9))
    arrivals: list[tuple[int, int, int, Order | None]] = []
    for reign, controller in enumerate(controllers):
        begin_ms = 1_000 + reign * REIGN_MS + random.randint(0, 2_000)
        arrivals.append((begin_ms, controller, epoch + reign, None))
        sent_ms = begin_ms
        for _ in range(ORDERS):
            sent_ms += random.randint(100, 6_000)
            late_ms = random.choice((3, 5, 8, 11_000, REIGN_MS))  # a pause of it or of its link
            kind, name = random.choice(KINDS), random.choice(PARTITIONS)
            leader_epochs[name] += kind is ApiKey.LEADER_AND_ISR
            state = State(name, random.choice(BROKERS), leader_epochs[name])
            sent = Order(kind, controller, epoch + reign, (state,))
            arrivals.append((sent_ms + late_ms, controller, epoch + reign, sent))
    arrivals.sort(key=lambda one: one[0])
    broker, right = ControllerOrders(), RightOrders()
    lines: list[Line] = []
    wrong: list[int] = []
    refused = innocent = 0
    elected = heard = 0
    for time_ms, controller, of_epoch, order in arrivals:
        if order is None:
            elected += 1
            text = f"broker {controller} is the controller now"
            lines.append(Line(time_ms, "elected", controller, of_epoch, text, None))
            continue
        answer = getattr(broker, METHODS[order.api])(*order.arguments)
        expected = right.do(order)
        came = answer if isinstance(answer, str) else answer[0]
        wanted = expected if isinstance(expected, str) else expected[0]
        whole = isinstance(answer, str) or all(error == NONE for _, error in answer[1])
        lines.append(Line(time_ms, ANSWERS[came], controller, of_epoch, order.request, order))
        if came != wanted:
            wrong.append(len(lines))
        if came == NONE and not whole:
            return None  # a request that is obeyed only in part would confuse the learner
        refused += came != NONE
        heard = max(heard, order.controller_epoch)
        innocent += heard == order.controller_epoch < epoch + elected - 1
    if len(wrong) != 1 or not refused or not innocent:
        return None
    obeyed = lines[wrong[0] - 1]
    if obeyed.order is None or obeyed.order.api is ApiKey.UPDATE_METADATA:
        return None  # the request that is obeyed must change a replica
    known = next(
        number
        for number, line in enumerate(lines, 1)
        if line.order is not None and line.epoch > obeyed.epoch
    )
    return Run(tuple(lines), Found(wrong[0], known))
