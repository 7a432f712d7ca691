"""Public tests of exercise 03-2, run by `kafka-edu lab check 03-2`. The learner's class runs in
another process, and the fixture `learner` sends it the calls.
"""

from collections.abc import Callable, Mapping
from random import Random

import pytest

from kafka_edu.learner.learner import Learner

from ...runner.mismatch import Mismatch
from ..produce_rules import NONE, TIMED_OUT, Appended, End, RightProduce, State, draw

FORM = (
    "look returns (settled, missing): a list of (partition, error), and one of (partition, number)"
)


class CheckedProduce:
    """A DelayedProduce of the learner. Each answer is compared with the right answer."""

    def __init__(self, learner: Learner, *appended: Appended) -> None:
        self.made = learner.make([list(one) for one in appended])
        self.right = RightProduce(appended)
        self.looks = 0
        self._was: dict[str, str] = {}

    def look(self, **named: State | None) -> None:
        """Call `look` with the states of partitions. The argument web_0 is the state of web-0.
        Raises Mismatch if the answer is wrong.
        """
        self.look_at(
            {
                name.replace("_", "-"): state
                for name, state in named.items()
                if state is not None  # unknown
            }
        )

    def look_at(self, states: Mapping[str, State]) -> None:
        """Call `look` with these states. Raises Mismatch if the answer is wrong."""
        self.looks += 1
        before = dict(self.right.settled)
        settled, missing = self.right.look(states)
        expected = (
            tuple((name, str(end.answer)) for name, end in settled.items()),
            tuple((name, int(end.answer)) for name, end in missing.items()),
        )
        came = self.made.call("look", {name: state._asdict() for name, state in states.items()})
        if came == expected and not _has_bool(came):
            return
        asked = f"look number {self.looks}, of {', '.join(one.name for one in self.right.appended)}"
        match came:
            case (tuple(theirs), tuple(waits)) if all(
                isinstance(pair, tuple) and len(pair) == 2 for pair in (*theirs, *waits)
            ):
                pass
            case _:
                raise Mismatch(asked, expected, came, FORM, read="the return of look")
        answers: dict[object, object] = {**dict(theirs), **dict(waits)}
        for one in self.right.appended:
            end = settled.get(one.name) or missing.get(one.name)
            answer = answers.get(one.name)
            in_right_list = one.name in dict(theirs if one.name in settled else waits)
            if end is None and one.name in answers:
                why = (
                    f"{one.name} was settled with {before[one.name]} before. That is final: the"
                    " answer is returned once, and later events of the partition do not change it"
                )
                expected_words = f"nothing, {before[one.name]} was its answer"
            elif end is not None and (answer != end.answer or not in_right_list):
                why, expected_words = end.why, _words(end)
            else:
                continue
            raise Mismatch(
                asked,
                expected,
                came,
                why,
                drawing=draw(one, states.get(one.name), expected_words, _came(answer)),
                read="the conditions, in their order",
            )
        raise Mismatch(
            asked, expected, came, "the partitions have the order of the request", read="look"
        )

    def expire(self) -> None:
        """Call `expire`. Raises Mismatch if it does not settle the right partitions."""
        expected = tuple(self.right.expire())
        came = self.made.call("expire")
        if came != expected:
            raise Mismatch(
                f"expire() after {self.looks} looks",
                expected,
                came,
                f"partitions that still wait end with {TIMED_OUT}; settled partitions are not"
                " returned again",
                read="expire",
            )


def _words(end: End) -> str:
    return str(end.answer) if isinstance(end.answer, str) else f"waits, {end.answer} missing"


def _came(answer: object) -> str:
    if answer is None:
        return "nothing"
    return f"waits, {answer} missing" if isinstance(answer, int) else str(answer)


def _has_bool(value: object) -> bool:
    if isinstance(value, tuple):
        return any(_has_bool(one) for one in value)
    return isinstance(value, bool)


@pytest.fixture
def produce(learner: Learner) -> Callable[..., CheckedProduce]:
    """A function that makes the learner's DelayedProduce from one Appended per partition."""

    def make(*appended: Appended) -> CheckedProduce:
        return CheckedProduce(learner, *appended)

    return make


MakeProduce = Callable[..., CheckedProduce]
WEB = Appended("web-0", NONE, 5, 3)
PAY = Appended("pay-0", NONE, 40, 7)
LOG = Appended("log-0", NONE, 2, 1)


def test_waits(produce: MakeProduce) -> None:
    """not all followers have messages 3 and 4 yet, so the produce waits (图 6-9)"""
    produce(WEB).look(web_0=State(hw=3))
    produce(WEB).look(web_0=State(hw=4))


def test_reached(produce: MakeProduce) -> None:
    """the HW has reached offset 5, or a later one (图 6-11)"""
    produce(WEB).look(web_0=State(hw=5))
    produce(WEB).look(web_0=State(hw=6))


@pytest.mark.parametrize(
    "state",
    [None, State(online=False), State(leader=False, hw=3), State(online=False, leader=False)],
    ids=["deleted", "disk failed", "leader moved", "disk failed and leader moved"],
)
def test_errors(produce: MakeProduce, state: State | None) -> None:
    """an error that more waiting cannot repair ends the wait"""
    produce(WEB).look(web_0=state)


def test_too_few_replicas(produce: MakeProduce) -> None:
    """the ISR has fewer members than min.insync.replicas"""
    produce(WEB).look(web_0=State(isr=(1,)))
    produce(WEB).look(web_0=State(isr=(1, 2)))
    produce(WEB).look(web_0=State(hw=4, isr=(1,)))


def test_another_epoch(produce: MakeProduce) -> None:
    """this broker lost the leadership and then became leader again, with a new epoch"""
    produce(WEB).look(web_0=State(leader_epoch=5, hw=9))
    produce(WEB).look(web_0=State(leader_epoch=5, hw=1))


def test_three_partitions(produce: MakeProduce) -> None:
    """each partition is settled separately, and reported only once"""
    made = produce(WEB, PAY, LOG)
    pay, log = State(leader_epoch=7, hw=38), State(leader_epoch=1, hw=1)
    made.look(web_0=State(hw=4), pay_0=pay, log_0=log)
    made.look(web_0=State(hw=4), pay_0=pay._replace(hw=40), log_0=log)
    made.look(web_0=State(hw=5), pay_0=pay._replace(hw=44), log_0=log._replace(leader=False))
    made.look(web_0=State(hw=6), pay_0=pay._replace(hw=44), log_0=log)


def test_final(produce: MakeProduce) -> None:
    """the answer for a partition never changes, whatever happens later"""
    made = produce(WEB, PAY)
    pay = State(leader_epoch=7, hw=38)
    made.look(web_0=State(), pay_0=pay)
    made.look(web_0=State(leader=False), pay_0=pay)
    made.look(pay_0=pay._replace(hw=40))


def test_failed_append(produce: MakeProduce) -> None:
    """a failed append is settled by the first look, with its own error"""
    made = produce(Appended("web-0", "MESSAGE_TOO_LARGE", 0, 3), PAY)
    made.look(web_0=State(hw=3), pay_0=State(leader_epoch=7, hw=39))
    made.look(web_0=State(hw=3), pay_0=State(leader_epoch=7, hw=40))


def test_time_out(produce: MakeProduce) -> None:
    """the time-out settles the partitions that still wait, and no others (图 6-12)"""
    made = produce(WEB, PAY)
    made.look(web_0=State(), pay_0=State(leader_epoch=7, hw=39))
    made.expire()
    made.look(web_0=State(), pay_0=State(leader_epoch=7, hw=40))
    made.expire()


def test_two_produces(produce: MakeProduce) -> None:
    """two produces do not share their settled partitions"""
    one, other = produce(WEB), produce(WEB)
    one.look(web_0=State())
    other.look(web_0=State())


def test_many(produce: MakeProduce, seed: int) -> None:
    """hundreds of looks at random states"""
    random = Random(seed)
    for _ in range(40):
        names = random.sample(["web-0", "web-1", "pay-0", "log-7", "geo-2"], random.randint(1, 4))
        appended = [
            Appended(
                name,
                random.choice([NONE] * 6 + ["CORRUPT_MESSAGE", "NOT_ENOUGH_REPLICAS"]),
                random.randint(1, 60),
                random.randint(0, 9),
            )
            for name in names
        ]
        made = produce(*appended)
        for _ in range(random.randint(1, 5)):
            states = {}
            for one in appended:
                if random.random() < 0.95:
                    states[one.name] = State(
                        random.random() > 0.05,
                        random.random() > 0.05,
                        one.leader_epoch + (random.random() < 0.05),
                        max(0, one.required_offset + random.randint(-6, 2)),
                        tuple(range(random.randint(1, 3))),
                        random.randint(1, 3),
                    )
            made.look_at(states)
        if random.random() < 0.7:
            made.expire()
