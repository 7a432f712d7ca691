"""Each rule of the checker holds for a right run, and names what is wrong with a wrong one."""

import json
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.scenario import checker
from kafka_edu.sim.scenario.checker import RULES, Evidence, check
from kafka_edu.sim.scenario.history import (
    Acked,
    Assigned,
    Commit,
    History,
    Known,
    Outcome,
    Read,
    SentRecord,
)
from kafka_edu.sim.scenario.language import Scenario, parse
from kafka_edu.sim.scenario.stored import Marker, StoredLog, StoredRecord
from kafka_edu.sim.scenario.watch import Promise

T0 = TopicPartition("t", 0)
SCENARIO = parse(
    """\
> cluster brokers=2
> topic t partitions=1 rf=2
> producer p topic=t
> producer o topic=t acks=1
> transactions x topic=t
> consumer c topic=t
> group g topic=t
> run 8s
> settle 8s
""",
    "test",
)
COMPACTED = SCENARIO._replace(
    topics=tuple(
        topic._replace(configs=(("cleanup.policy", "compact"),)) for topic in SCENARIO.topics
    )
)


class Parts(NamedTuple):
    """A run in which everything is right: two records, and a committed transaction of two."""

    history: History
    entries: list[StoredRecord | Marker]
    promises: dict[TopicPartition, Promise]
    went_back: list[str]
    leaders: dict[tuple[TopicPartition, int], set[int]]
    controllers: dict[int, set[int]]
    state: dict[str, Any]
    follower: list[StoredRecord | Marker] | None = None
    """What the follower has, if it is not the same."""
    absence_ms: int = 0
    """For how long the leader was out of sync."""
    left_out: frozenset[int] = frozenset()
    """The transactions that are not checked."""


def right() -> Parts:
    history = History()
    names = [
        ("p-0-0", "p", 0, -1),
        ("p-0-1", "p", 1, -1),
        ("x-0-0", "x", 0, 0),
        ("x-0-1", "x", 1, 0),
    ]
    entries: list[StoredRecord | Marker] = []
    for offset, (name, producer, number, transaction) in enumerate(names):
        key = f"k{number}"
        history.sent[name] = SentRecord(name, producer, T0, number, 0, key, transaction)
        history.acked[name] = Acked(offset, 1_000 + offset)
        pid = 7 if producer == "p" else 8
        entries.append(StoredRecord(offset, name, key, pid, 0, transaction >= 0))
        for reader in ("c", "g-1"):
            history.reads.append(Read(reader, T0, offset, name, 2_000))
    entries.append(Marker(4, 8, is_commit=True))
    history.transactions.append(Outcome.COMMITTED)
    history.transaction_began_ms.append(1_000)
    history.transaction_asked_ms.append(1_200)
    history.commits.append(Commit("g", "g-1", T0, 2, 2_000, 2_010))
    history.commits.append(Commit("g", "g-2", T0, 5, 2_020, 2_030))
    history.assigned.append(Assigned("g", "g-1", T0, 1_500))
    return Parts(
        history,
        entries,
        {T0: Promise(5, 1, 0, 3_000)},
        [],
        {(T0, 0): {1}},
        {1: {1}},
        {"leader": 1, "leader_epoch": 0, "isr": [1, 2]},
    )


def evidence(parts: Parts, scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> Evidence:
    monkeypatch.setattr(checker, "partitions_of", lambda cluster, broker: ["t-0"])
    follower = parts.entries if parts.follower is None else parts.follower
    end = parts.entries[-1].offset + 1
    logs = [
        StoredLog(broker, T0, broker == 1, 0, (1, 2), 0, end, end, tuple(entries))
        for broker, entries in ((1, parts.entries), (2, follower))
    ]
    node = SimpleNamespace(data=json.dumps(parts.state).encode())
    tree = SimpleNamespace(nodes={"/brokers/topics/t/partitions/0/state": node})
    cluster: Any = SimpleNamespace(
        brokers=[1, 2], zookeeper=SimpleNamespace(server=SimpleNamespace(tree=tree))
    )
    watch: Any = SimpleNamespace(
        promises=parts.promises,
        went_back=parts.went_back,
        leaders=parts.leaders,
        controllers=parts.controllers,
        longest_absence_ms=lambda tp, broker: parts.absence_ms,
    )
    return Evidence(scenario, cluster, parts.history, watch, {T0: logs}, parts.left_out)


def test_every_rule_holds_in_a_right_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(evidence(right(), SCENARIO, monkeypatch)) == []
    assert check(evidence(right(), COMPACTED, monkeypatch)) == []


def lose_an_acked_record(parts: Parts) -> None:
    del parts.entries[1]


def move_an_acked_record(parts: Parts) -> None:
    parts.history.acked["p-0-1"] = Acked(3, 1_000)


def invent(parts: Parts) -> None:
    parts.entries.append(StoredRecord(5, "nobody's", "", 7, 0, is_transactional=False))


def swap(parts: Parts) -> None:
    first, second = parts.entries[:2]
    assert isinstance(first, StoredRecord)
    assert isinstance(second, StoredRecord)
    parts.entries[:2] = [second._replace(offset=0), first._replace(offset=1)]


def store_twice(parts: Parts) -> None:
    first = parts.entries[0]
    assert isinstance(first, StoredRecord)
    parts.entries.append(first._replace(offset=5))


def leave_open(parts: Parts) -> None:
    del parts.entries[4]


def abort_a_committed_one(parts: Parts) -> None:
    parts.entries[4] = Marker(4, 8, is_commit=False)


def show_an_aborted_one(parts: Parts) -> None:
    parts.history.transactions[0] = Outcome.ABORTED


def half_of_one_in_doubt(parts: Parts) -> None:
    parts.history.transactions[0] = Outcome.UNKNOWN
    del parts.entries[3]


def go_back(parts: Parts) -> None:
    parts.went_back.append("t-0 on leader 1: 5 -> 3")


def lose_what_was_below_a_mark(parts: Parts) -> None:
    parts.promises[T0] = Promise(9, 2, 0, 3_000)


def change_what_was_read(parts: Parts) -> None:
    parts.history.reads[0] = parts.history.reads[0]._replace(name="p-0-1")


def read_twice(parts: Parts) -> None:
    parts.history.reads.append(parts.history.reads[0])


def commit_less(parts: Parts) -> None:
    parts.history.commits.append(Commit("g", "g-1", T0, 3, 2_040, 2_050))


def forget_a_commit(parts: Parts) -> None:
    parts.history.known.append(Known("g", "g-1", T0, 1, 2_050))


def begin_too_early(parts: Parts) -> None:
    parts.history.assigned.append(Assigned("g", "g-2", T0, 2_025))
    parts.history.reads.append(Read("g-2", T0, 1, "p-0-1", 2_050))


def miss_one(parts: Parts) -> None:
    parts.history.reads[:] = [
        read for read in parts.history.reads if (read.reader, read.offset) != ("g-1", 1)
    ]


def lead_twice(parts: Parts) -> None:
    parts.leaders[T0, 0].add(2)


def control_twice(parts: Parts) -> None:
    parts.controllers[1].add(2)


def stay_behind(parts: Parts) -> None:
    parts.state["isr"] = [1]


def lead_elsewhere(parts: Parts) -> None:
    parts.state["leader"] = 2


def have_another_epoch(parts: Parts) -> None:
    parts.state["leader_epoch"] = 3


@pytest.mark.parametrize(
    ("break_it", "rule", "said"),
    [
        (lose_an_acked_record, "acked records are there", "1 acked records of t-0 are lost: p-0-1"),
        (move_an_acked_record, "acked records are there", "p-0-1"),
        (invent, "nothing is invented", '5: "nobody\'s"'),
        (swap, "order of each producer", "p-0-0 behind p-0-1"),
        (store_twice, "no duplicates", "stored twice: p-0-0"),
        (leave_open, "transactions are whole", "still open at the end: x-0-0, x-0-1"),
        (abort_a_committed_one, "transactions are whole", "0 is committed, and misses x-0-0"),
        (show_an_aborted_one, "transactions are whole", "0 is aborted, and shows x-0-0"),
        (half_of_one_in_doubt, "transactions are whole", "shows x-0-0 and not x-0-0, x-0-1"),
        (go_back, "high watermarks go on", "5 -> 3"),
        (lose_what_was_below_a_mark, "nothing below a high watermark is lost", "watermark 9"),
        (change_what_was_read, "nothing below a high watermark is lost", "where p-0-0 is"),
        (read_twice, "readers get each record once", "c read t-0 0 after 3"),
        (commit_less, "commits go on", "g-2 committed 5, and g-1 later 3"),
        (forget_a_commit, "commits are not forgotten", "g-1 had committed 2 of t-0"),
        (begin_too_early, "members begin at the committed offset", "read 1, where 2 was committed"),
        (miss_one, "groups read everything", "g has not read t-0 1: p-0-1"),
        (lead_twice, "one leader and one controller", r"leaders \[1, 2\] in leader epoch 0"),
        (control_twice, "one leader and one controller", "were controller in epoch 1"),
        (stay_behind, "everybody agrees", r"only \[1\] are in sync"),
        (lead_elsewhere, "everybody agrees", "ZooKeeper says leader 2"),
        (have_another_epoch, "everybody agrees", "leader epoch 3"),
    ],
)
def test_what_is_wrong_is_found_by_its_rule(
    break_it: Callable[[Parts], None],
    rule: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = right()
    break_it(parts)
    found = check(evidence(parts, SCENARIO, monkeypatch))
    texts = [violation.text for violation in found if violation.rule == rule]
    assert any(re.search(said, text) for text in texts), found


def in_two_epochs(parts: Parts, *names: str) -> None:
    """Store these records again, with the producer's next epoch."""
    stored = {one.name: one for one in parts.entries if isinstance(one, StoredRecord)}
    end = parts.entries[-1].offset + 1
    for offset, name in enumerate(names, end):
        parts.entries.append(stored[name]._replace(offset=offset, producer_epoch=1))


def test_what_a_broker_has_forgotten_may_be_stored_again_in_the_next_epoch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = right()
    in_two_epochs(parts, "p-0-0", "p-0-1")
    rule = "order of each producer"
    found = check(evidence(parts, SCENARIO, monkeypatch))
    assert not {rule, "no duplicates"} & {violation.rule for violation in found}
    parts = right()
    in_two_epochs(parts, "p-0-1", "p-0-0")
    found = check(evidence(parts, SCENARIO, monkeypatch))
    assert [violation.text for violation in found if violation.rule == rule] == [
        "t-0: records of p are out of order: p-0-0 behind p-0-1"
    ]


def test_a_record_that_is_first_stored_in_a_later_epoch_may_not_be_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = right()
    parts.history.sent["p-0-x"] = SentRecord("p-0-x", "p", T0, 0, 0, "", -1)
    parts.entries.append(StoredRecord(5, "p-0-x", "", 7, 1, is_transactional=False))
    found = check(evidence(parts, SCENARIO, monkeypatch))
    assert ("order of each producer", "t-0: records of p are out of order: p-0-x behind p-0-1") in (
        found
    )


def test_replicas_that_differ_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = right()
    other = list(parts.entries)
    first = other[0]
    assert isinstance(first, StoredRecord)
    other[0] = first._replace(name="p-0-1")
    found = check(evidence(parts._replace(follower=other), SCENARIO, monkeypatch))
    assert [violation.rule for violation in found] == ["replicas agree"]
    assert "0: p-0-0 and p-0-1" in found[0].text


def test_a_compacted_log_may_lose_old_values_but_not_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = right()
    del parts.entries[0]  # x-0-0 has the same key, and a higher offset
    assert check(evidence(parts, COMPACTED, monkeypatch)) == []
    parts = right()
    parts.history.transactions[0] = Outcome.ABORTED
    parts.entries[:] = [entry for entry in parts.entries if entry.offset not in (1, 2, 3)]
    found = check(evidence(parts, COMPACTED, monkeypatch))
    assert ("last values stay", "t-0: k1 had the last value p-0-1 at 1, and has -1 now") in found


def deleted(*, gone: bool = False, absence_ms: int = 0) -> Parts:
    """Return a run that ends with a delete of key k1. Offset 5 holds the tombstone, or it is
    gone.
    """
    parts = right()._replace(absence_ms=absence_ms)
    parts.history.sent["p-0-2"] = SentRecord("p-0-2", "p", T0, 2, 0, "k1", -1, is_tombstone=True)
    parts.history.acked["p-0-2"] = Acked(5, 1_010)
    parts.history.reads.append(Read("g-1", T0, 5, "p-0-2", 2_000))
    tombstone = StoredRecord(5, "p-0-2", "k1", 7, 0, is_transactional=False, is_tombstone=True)
    parts.entries.append(Marker(5, 9, is_commit=True) if gone else tombstone)
    return parts


def without(parts: Parts, *offsets: int) -> Parts:
    parts.entries[:] = [entry for entry in parts.entries if entry.offset not in offsets]
    return parts


def test_a_deleted_key_may_go_with_its_tombstone_and_not_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def found(parts: Parts) -> list[str]:
        return [
            violation.text
            for violation in check(evidence(parts, COMPACTED, monkeypatch))
            if violation.rule == "last values stay"
        ]

    assert found(deleted()) == []
    assert found(without(deleted(gone=True), 1, 3)) == [], "the key has gone with its tombstone"
    back = "t-0: k1 was deleted by p-0-2 at 5, and has 3 now"
    assert found(deleted(gone=True)) == [back], "the tombstone went before what it deletes"
    assert found(deleted(gone=True, absence_ms=86_400_000)) == [], "so it is in Kafka too"


def test_records_with_acks_1_may_be_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    parts = right()
    parts.history.sent["o-0-0"] = SentRecord("o-0-0", "o", T0, 0, 0, "", -1)
    parts.history.acked["o-0-0"] = Acked(5, 1_000)
    assert check(evidence(parts, SCENARIO, monkeypatch)) == []


def test_a_duplicate_of_a_producer_with_a_new_epoch_is_not_a_fault(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = right()
    first = parts.entries[0]
    assert isinstance(first, StoredRecord)
    parts.entries.append(first._replace(offset=5, producer_epoch=1))
    parts.history.reads += [Read(reader, T0, 5, "p-0-0", 2_000) for reader in ("c", "g-1")]
    rules = {violation.rule for violation in check(evidence(parts, SCENARIO, monkeypatch))}
    assert "no duplicates" not in rules


def test_each_rule_says_what_must_hold() -> None:
    assert all(rule.__doc__ for rule in RULES.values())


@pytest.mark.parametrize("break_it", [leave_open, abort_a_committed_one, half_of_one_in_doubt])
@pytest.mark.parametrize("left_out", [frozenset[int](), frozenset({0})])
def test_a_transaction_that_kafka_breaks_too_is_not_checked(
    break_it: Callable[[Parts], None], left_out: frozenset[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = right()._replace(left_out=left_out)
    break_it(parts)
    broken = list(checker.transactions_are_whole(evidence(parts, SCENARIO, monkeypatch)))
    assert (broken == []) is (left_out != frozenset())


@pytest.mark.parametrize(
    ("late_ms", "decided_ms", "is_late"),
    [
        ({"x": [1_550]}, {"x": [1_060]}, True),
        ({"x": [1_550]}, {"x": [1_040]}, False),  # the decision came before the late request
        ({"x": [1_550]}, {"x": [1_200]}, False),  # the program had asked for the end by then
        ({"x": [1_499]}, {"x": [1_060]}, False),  # it was late for the transaction before
        ({"x": [1_550]}, {"z": [1_060]}, False),
        ({"p": [1_550]}, {"x": [1_060]}, False),
    ],
)
def test_a_late_end_is_a_decision_that_nobody_asked_for_and_late_data_before_it(
    late_ms: dict[str, list[int]], decided_ms: dict[str, list[int]], is_late: bool
) -> None:
    """In the cluster's time, the run began at 0.5 s and the transaction 1.0 s later."""
    watch: Any = SimpleNamespace(begun_ms=500, decided_ms=decided_ms)
    found = checker.late_ends(SCENARIO, right().history, watch, late_ms)
    assert found == ({0} if is_late else set())


STORED: Final = {"x": [(1_045, frozenset({"t-0"}))]}


@pytest.mark.parametrize(
    ("loaded", "cut", "stored", "is_forgotten"),
    [
        ({(1, 2): [1_050]}, {(1, 2): [1_060]}, {}, True),
        ({(1, 2): [1_050]}, {(1, 2): [1_060]}, STORED, False),  # all replicas in sync have it
        ({(1, 2): [1_040]}, {(1, 2): [1_060]}, STORED, True),  # stored after the broker has read
        ({(1, 2): [1_050]}, {(1, 2): [1_040]}, {}, False),  # the states were cut off before
        ({(1, 2): [999]}, {(1, 2): [1_060]}, {}, False),  # read before the transaction began
        ({(1, 3): [1_050]}, {(1, 2): [1_060]}, {}, False),  # a different broker has read them
        ({(0, 2): [1_050]}, {(0, 2): [1_060]}, {}, False),  # states of other transactional ids
        ({(1, 2): [1_050]}, {}, {}, False),
    ],
)
def test_a_beginning_may_be_forgotten_if_its_coordinator_read_it_and_lost_the_end_of_its_log(
    loaded: dict[tuple[int, int], list[int]],
    cut: dict[tuple[int, int], list[int]],
    stored: dict[str, list[tuple[int, frozenset[str]]]],
    is_forgotten: bool,
) -> None:
    watch: Any = SimpleNamespace(
        state_partitions={"x": 1}, loaded_ms=loaded, cut_ms=cut, stored_ms=stored
    )
    found = checker.forgotten_beginnings(SCENARIO, right().history, watch)
    assert found == ({0} if is_forgotten else set())
