"""Public tests of exercise 16-8. Run them with `kafka-edu lab check 16-8`. The learner's class runs
in another process, and the fixture `learner` calls it there.
"""

from collections.abc import Callable, Iterable
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.group import MemberFailed, MemberJoined, MemberLeft

from ...runner.mismatch import Mismatch, Words
from ..incident_answers import (
    Flap,
    Pause,
    right_flaps,
    right_latency,
    right_rebalances,
    rows_of,
    timeline,
)
from ..incidents_made import Incident, made_incident
from .material import incident

INCIDENTS: Final = 8


class Checked:
    """Calls the learner's report about one recording, and checks the answers."""

    def __init__(self, learner: Learner, envelopes: Iterable[Envelope]) -> None:
        self._events = list(envelopes)
        self._incident = learner.make(rows_of(self._events))

    def latency(self, why: str) -> None:
        """Compare the report's times of each API with the right ones. Raises Mismatch."""
        expected = {api: tuple(times) for api, times in right_latency(self._events).items()}
        came = self._incident.call("latency")
        found = came if isinstance(came, dict) else {}
        found = {
            api: tuple(times) if isinstance(times, list) else times for api, times in found.items()
        }  # JSON has no tuples
        if isinstance(came, dict) and found == expected:
            return
        for api in sorted({*expected, *found}) or ["no API"]:
            if found.get(api) != expected.get(api) or not isinstance(came, dict):
                raise Mismatch(
                    f"latency(), {api}: (requests, p50, p99)",
                    expected.get(api, Words("no such API")),
                    found.get(api) if isinstance(came, dict) else came,
                    why,
                    drawing=timeline(self._events, ("ResponseSent",), api),
                    read="latency",
                )

    def flaps(self, why: str) -> None:
        """Compare the report's flaps with the right ones. Raises Mismatch."""
        self._rows("flaps", right_flaps(self._events), why)

    def rebalances(self, why: str) -> None:
        """Compare the report's rebalances with the right ones. Raises Mismatch."""
        self._rows("rebalances", right_rebalances(self._events), why)

    def _rows(self, method: str, right: list[Flap] | list[Pause], why: str) -> None:
        expected = [tuple(one) for one in right]
        came = self._incident.call(method)
        if came == tuple(expected):
            return
        kind = ("ActionAsked", "BecameLeader", "Isr") if method == "flaps" else (
            "Rebalance", "Group", "Member"
        )  # fmt: skip
        drawing = timeline(self._events, kind)
        if not isinstance(came, tuple):
            raise Mismatch(f"{method}()", Words("a list of tuples"), came, why, drawing=drawing)
        for number in range(max(len(expected), len(came))):
            row = expected[number] if number < len(expected) else Words("no more")
            seen = came[number] if number < len(came) else Words("no more")
            if row != seen:
                raise Mismatch(
                    f"{method}(), row {number}", row, seen, why, drawing=drawing, read=method
                )

    def diagnosis(self) -> object:
        """Return the diagnosis that the learner wrote about the learner's own recording."""
        return self._incident.call("diagnosis")


MakeChecked = Callable[[Incident], Checked]


@pytest.fixture
def report(learner: Learner) -> MakeChecked:
    """A function that gives a made-up incident, file after file, to the learner's report."""
    return lambda made: Checked(learner, made.by_file())


def test_percentiles(report: MakeChecked) -> None:
    """the median and the 99th percentile of few and of many requests"""
    for count in (1, 2, 3, 10, 99, 100, 101, 200):
        made = Incident().requests(ApiKey.PRODUCE, range(1_000, 1_000 + count), brokers=1)
        report(made).latency(
            f"the p99 of {count} values is the smallest one that at least 99 % of them do not"
            " exceed, and the p50 the same with 50 %"
        )


def test_all_brokers(report: MakeChecked) -> None:
    """a percentile covers the requests of all three brokers together"""
    made = Incident()
    for broker, times in enumerate(([100] * 90, [200] * 9, [90_000])):
        for total_us in times:
            made.request(broker, ApiKey.METADATA, total_us)
    report(made).latency(
        "a percentile of all requests comes from all of them at once. The mean of three brokers'"
        " percentiles is not a percentile"
    )


def test_followers(report: MakeChecked) -> None:
    """fetches of followers do not count"""
    made = Incident().requests(ApiKey.FETCH, (800, 900, 1_000, 1_100))
    for _ in range(20):
        made.after(20).request(1, ApiKey.FETCH, 500_300, follower=True)
    report(made).latency(
        "a follower's fetch waits up to 500 ms for new records, on purpose, and no client waits for"
        " it: its field `follower` is true"
    )


def test_no_requests(report: MakeChecked) -> None:
    """a recording in which nothing happened"""
    report(Incident()).latency("there is no request, and so no API")
    report(Incident()).flaps("no ISR changed")
    report(Incident()).rebalances("no group rebalanced")


def web(made: Incident, leader: int = 0) -> Incident:
    """Let a broker become the leader of web-0, with all three brokers in the ISR."""
    return made.leads(leader, "web", 0, [leader, *{0, 1, 2} - {leader}])


def test_flap(report: MakeChecked) -> None:
    """a follower leaves the ISR and comes back"""
    made = web(Incident()).after(500).pause(2).after(1_500).isr("web", 0, [0, 1])
    made.after(2_300).isr("web", 0, [0, 1, 2])
    report(made).flaps(
        "a flap begins when the ISR shrinks, and ends when the broker is in it again"
    )


def test_still_out(report: MakeChecked) -> None:
    """a broker that does not come back into the ISR"""
    made = web(Incident()).kill(2).after(900).isr("web", 0, [0, 1])
    report(made).flaps("it has not come back by the end of the recording: lasted is None")


def test_two_out(report: MakeChecked) -> None:
    """two brokers leave the ISR at once, and come back one after the other"""
    made = web(Incident()).pause(1).pause(2).after(1_500).isr("web", 0, [0])
    made.after(700).isr("web", 0, [0, 2]).after(400).isr("web", 0, [0, 2, 1])
    report(made).flaps("each broker has a flap of its own: `before` and `after` differ by two")


def test_two_partitions(report: MakeChecked) -> None:
    """the same broker leaves the ISRs of three partitions"""
    made = web(Incident()).leads(1, "web", 1, [1, 0, 2]).leads(1, "pay", 0, [1, 0, 2]).pause(2)
    made.after(900).isr("web", 0, [0, 1]).after(30).isr("web", 1, [1, 0]).isr("pay", 0, [1, 0])
    made.after(300).isr("web", 1, [1, 0, 2]).after(50).isr("web", 0, [0, 1, 2])
    report(made).flaps("each partition has an ISR of its own, and topics share partition numbers")


def test_new_leader(report: MakeChecked) -> None:
    """the leader dies, and the next leader begins with an ISR without it"""
    made = web(Incident(), 2).kill(2).after(1_700).leads(0, "web", 0, [0, 1])
    made.after(2_000).isr("web", 0, [0, 1, 2])
    report(made).flaps(
        "a dead leader cannot shrink the ISR. The controller writes the new one, and the new leader"
        " begins with it: BecameLeader has `isr`"
    )


def test_same_leader_again(report: MakeChecked) -> None:
    """a leader that begins another epoch with the same ISR"""
    made = web(Incident()).after(5).pause(1).leads(0, "web", 0, [0, 2, 1]).after(800)
    made.isr("web", 0, [0, 2]).after(40).leads(0, "web", 0, [0, 2]).after(90)
    made.isr("web", 0, [0, 2, 1])
    report(made).flaps("no replica left the ISR by that: only its members count, not their order")


def test_first_isr(report: MakeChecked) -> None:
    """a partition whose first ISR lacks a broker"""
    made = Incident().kill(2).after(50).leads(0, "web", 0, [0, 1]).after(90)
    made.isr("web", 0, [0, 1, 2]).after(10).isr("web", 0, [0, 2]).after(70)
    made.isr("web", 0, [0, 1, 2])
    report(made).flaps("no event says that broker 2 left: the first ISR of a partition is no flap")


def test_act(report: MakeChecked) -> None:
    """the last act before each flap"""
    made = web(Incident()).after(100).isr("web", 0, [0, 1]).after(100).isr("web", 0, [0, 1, 2])
    made.cut(0, 2).after(1_500).isr("web", 0, [0, 1]).after(10).pause(1)
    made.after(200).isr("web", 0, [0, 1, 2]).after(900).isr("web", 0, [0, 2])
    made.after(60).isr("web", 0, [0, 2, 1])
    report(made).flaps(
        "the act is the last one that was asked for before the flap began; empty if there was none"
    )


def test_order_of_files(report: MakeChecked) -> None:
    """the rows come process after process, not in the order of time"""
    made = web(Incident(), 2).kill(2).after(1_700).leads(1, "web", 0, [1, 0]).after(500)
    made.leads(0, "web", 0, [0, 1]).after(700).isr("web", 0, [0, 1, 2])
    made.pause(1).after(1_500).isr("web", 0, [0, 2])
    why = (
        "the files come one after the other, and in each the events of one process. `monoUs` is the"
        " clock that all processes of a machine share"
    )
    report(made).flaps(why)


def group(made: Incident, kind: type, member: str, *, coordinator: int = 1) -> Incident:
    """Let a member join, leave or fail, and let the group finish its rebalance."""
    made.members(coordinator, "readers", kind, member).after(120).joined(coordinator, "readers")
    if made.members_of("readers"):
        made.after(45).assigned(coordinator, "readers")
    return made.after(1_000)


def test_rebalance(report: MakeChecked) -> None:
    """rebalances because members join, leave and fail"""
    made = group(Incident(), MemberJoined, "ann-1")
    group(made, MemberJoined, "bob-2")
    group(made, MemberLeft, "ann-1")
    group(made, MemberJoined, "cem-3")
    group(made, MemberFailed, "bob-2")
    report(made).rebalances(
        "a group reads nothing from RebalanceStarted until GroupAssigned. The cause of"
        " RebalanceStarted is the event of a member"
    )


def test_last_member(report: MakeChecked) -> None:
    """the last member leaves the group"""
    made = group(group(Incident(), MemberJoined, "ann-1"), MemberLeft, "ann-1")
    group(made, MemberJoined, "bob-2")
    report(made).rebalances(
        "nothing is assigned to a group without members: RebalanceCompleted with no members ends it"
    )


def test_not_over(report: MakeChecked) -> None:
    """a rebalance that is not over at the end of the recording"""
    made = group(Incident(), MemberJoined, "ann-1")
    made.members(1, "readers", MemberJoined, "bob-2").after(90).joined(1, "readers")
    report(made).rebalances(
        "the members are there, but they have no partitions yet: generation and lasted are None"
    )


def test_begun_again(report: MakeChecked) -> None:
    """one more member joins before the assignment: this is still the same rebalance"""
    made = group(Incident(), MemberJoined, "ann-1")
    made.members(1, "readers", MemberLeft, "ann-1").members(1, "readers", MemberJoined, "bob-2")
    made.after(800).joined(1, "readers").after(20).members(1, "readers", MemberJoined, "cem-3")
    made.after(300).joined(1, "readers").after(40).assigned(1, "readers")
    report(made).rebalances(
        "the group read nothing all the time: a rebalance that begins again is the same one, with"
        " the cause of its first beginning"
    )


def test_two_groups(report: MakeChecked) -> None:
    """two groups rebalance at the same time"""
    made = Incident().members(1, "readers", MemberJoined, "ann-1").after(30)
    made.members(2, "writers", MemberJoined, "bob-1").after(70).joined(1, "readers")
    made.joined(2, "writers").after(15).assigned(2, "writers").after(60).assigned(1, "readers")
    report(made).rebalances("each group has rebalances of its own")


def test_same_moment(report: MakeChecked) -> None:
    """two groups begin to rebalance at the same moment"""
    made = group(Incident(), MemberJoined, "ann-1", coordinator=2)
    made.members(1, "writers", MemberJoined, "bob-1").members(2, "readers", MemberJoined, "cem-2")
    made.after(10).joined(1, "writers").joined(2, "readers").after(10)
    made.assigned(1, "writers").assigned(2, "readers")
    report(made).rebalances("rows that begin at the same moment are in the order of their groups")


def test_no_cause(report: MakeChecked) -> None:
    """a rebalance whose cause was not recorded"""
    made = Incident().rebalance(1, "readers").after(40).joined(1, "readers")
    report(made).rebalances('the event that caused it is not among the rows: the cause is ""')


def test_same_numbers(report: MakeChecked) -> None:
    """two brokers have events with the same number"""
    made = Incident().requests(ApiKey.HEARTBEAT, [300] * 8, brokers=2)

    def between() -> None:
        made.after(1).request(0, ApiKey.HEARTBEAT, 300).after(1)

    made.members(1, "readers", MemberJoined, "ann-1", between).joined(1, "readers").after(30)
    made.assigned(1, "readers").after(500).requests(ApiKey.HEARTBEAT, [300] * 3, brokers=1)
    made.members(1, "readers", MemberLeft, "ann-1", between).joined(1, "readers")
    report(made).rebalances(
        "each process numbers its own events from 1, so `cause` is a number of the same `source`"
    )


def test_started_again(report: MakeChecked) -> None:
    """a coordinator that was started again numbers its events from 1 again"""
    made = group(Incident(), MemberJoined, "ann-1")
    made.restarted(1).requests(ApiKey.HEARTBEAT, [300], brokers=1)
    group(made, MemberFailed, "ann-1")
    group(made, MemberJoined, "bob-2")
    report(made).rebalances(
        "a broker that is started again numbers its events from 1 again, so the cause is the last"
        " event with this number before it"
    )


def test_many(report: MakeChecked, seed: int) -> None:
    """random incidents"""
    random = Random(seed)
    for _ in range(INCIDENTS):
        one = report(made_incident(random.randrange(10**9)))
        one.latency("all of README.md's rules together")
        one.flaps("all of README.md's rules together")
        one.rebalances("all of README.md's rules together")


def test_diagnosis(learner: Learner, material: int) -> None:
    """your diagnosis of your own recording"""
    made, found = incident(material)
    came = Checked(learner, made.by_file()).diagnosis()
    if not isinstance(came, tuple) or len(came) != 3:
        raise Mismatch(
            "diagnosis()", Words("(act, µs, name of an event)"), came, "README.md says which"
        )
    for name, right, said, why in (
        (
            "the act with the longest flap",
            found.act,
            came[0],
            "your recording.jsonl has a longer flap of another act. flaps() of its rows shows all",
        ),
        (
            "how long it was",
            found.lasted_us,
            came[1],
            "the time from the event that began it to the one that ended it, by monoUs",
        ),
        (
            "what caused the longest rebalance",
            found.cause,
            came[2],
            "rebalances() of your rows shows a longer one with another cause",
        ),
    ):
        if said != right:
            raise Mismatch(f"diagnosis(), {name}", Words("another answer"), said, why)
