"""Exercises of the kind *operate*: the check judges the state of a cluster, whatever commands the
learner typed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from click.testing import CliRunner

from exercises import command, lab_cluster
from exercises.ch03_delayed_operations.ex05_operate.facts import Facts, far_link, judge
from exercises.ch03_delayed_operations.ex05_operate.material import make, plan
from exercises.command import lab
from exercises.lab_cluster import LabCluster
from exercises.runner.check import check_public
from exercises.runner.manifest import Exercise, find_exercise, load_manifest
from exercises.runner.trouble import trouble_of
from exercises.runner.verdict import Step
from exercises.runner.workplace import Workplace
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.supervisor.cluster import ClusterError

EXERCISE = find_exercise("03-5")
PLAN = plan(0)
BEFORE = Facts(
    ("running",) * 3,
    (11, 12, 13),
    (far_link(PLAN),),
    77,
    (1, 2, 0),
    (0, 1, 2),
    "topic orders min.insync.replicas=2",
    ("order 0", "order 1"),
)
WELL = BEFORE._replace(records=(*BEFORE.records, "is anybody there?"), acked_ms=90)


def failed(now: Facts) -> dict[str, str]:
    return {step.says: step.seen for step in judge(PLAN, BEFORE, now) if not step.passed}


def test_a_cluster_that_is_well_passes() -> None:
    assert failed(WELL) == {}
    assert len(list(judge(PLAN, BEFORE, WELL))) == 8


@pytest.mark.parametrize(
    ("now", "says", "seen"),
    [
        ({"states": ("running", "paused", "running")}, "all three brokers run", "1 is paused"),
        ({"records": ("order 0", "x")}, "no record was lost", "1 of 2 orders are gone"),
        ({"records": ()}, "no record was lost", "2 of 2"),
        ({"topic": 78}, "is the same as before", "deleted and created again"),
        ({"topic": 0}, "is the same as before", "there is no topic"),
        ({"replicas": (1, 0)}, "is the same as before", "on the brokers 0, 1, and were on 0, 1, 2"),
        ({"settings": ""}, "no setting was changed", "now: none"),
        ({"pids": (11, 99, 13)}, "were left alone", "broker 1 has another process"),
        ({"links": (far_link(PLAN), "1-2 cut")}, "as they should be", "the link 1-2 cut"),
        ({"links": ()}, "as they should be", "was not at fault"),
        ({"isr": (0, 1)}, "the ISR is whole", "broker 2 is not in it"),
        ({"acked_ms": None, "error": "time-out"}, "is acknowledged", "time-out"),
        ({"acked_ms": 3_001}, "is acknowledged", "after 3,001 ms"),
    ],
)
def test_what_is_not_well_is_said(now: dict[str, object], says: str, seen: str) -> None:
    [(name, shown)] = failed(WELL._replace(**now)).items()
    assert says in name
    assert seen in shown


def test_the_broker_in_trouble_may_be_restarted() -> None:
    pids = tuple(99 if number == PLAN.victim else pid for number, pid in enumerate(WELL.pids))
    assert failed(WELL._replace(pids=pids)) == {}


@pytest.mark.parametrize("seed", range(30))
def test_the_ticket_does_not_say_who_it_is(seed: int) -> None:
    made = plan(seed)
    assert sorted((made.leader, made.victim, made.far)) == [0, 1, 2]
    ticket = make(seed)["ticket.md"]
    assert f"Broker {made.leader} leads" in ticket
    assert f"roker {made.victim}" not in ticket
    assert made.cause not in ticket
    assert all(len(line) <= 80 for line in ticket.splitlines())


def test_the_report_of_another_learner_fails() -> None:
    other = next(seed for seed in range(1, 50) if plan(seed).victim != PLAN.victim)
    verdict = check_public(EXERCISE, EXERCISE.solution, 1, material=other)
    assert not verdict.public_passed
    assert not check_public(EXERCISE, EXERCISE.solution, 1).passed, "the cluster was not looked at"


@pytest.mark.parametrize(
    "exercise", [one for one in load_manifest().values() if one.trouble], ids=lambda one: one.id
)
def test_a_cluster_that_is_not_there_is_not_up_and_ends_at_once(
    exercise: Exercise, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`lab reset` and `lab check` ask in the same way: they name no other folder of clusters."""
    monkeypatch.setenv("KAFKA_EDU_HOME", str(tmp_path))
    trouble = trouble_of(exercise)
    assert not trouble.is_running()
    assert not trouble.end()
    with pytest.raises(ClusterError, match=f"'lab-{exercise.id}' is not up"):
        list(trouble.check_state(tmp_path, lambda _: None))


class PlayedTrouble:
    """Stands in for the module that owns a real cluster."""

    def __init__(self) -> None:
        self.up = False
        self.steps = [Step("the ISR is whole", True, "")]
        self.done: list[str] = []

    def begin(self, seed: int, folder: object, say: object) -> None:
        if self.up:
            raise ClusterError("cluster 'lab-03-5' is up already and in the way")
        self.done.append(f"begin {seed}")
        self.up = True

    def is_running(self) -> bool:
        return self.up

    def check_state(self, folder: object, say: object) -> list[Step]:
        if not self.up:
            raise ClusterError("cluster 'lab-03-5' is not up")
        return self.steps

    def end(self) -> bool:
        was, self.up = self.up, False
        return was


def test_start_check_and_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    played = PlayedTrouble()

    def trouble_of(_: Exercise) -> PlayedTrouble:
        return played

    monkeypatch.setattr(command, "trouble_of", trouble_of)
    run, where = CliRunner(env={"COLUMNS": "200"}), ["--dir", str(tmp_path)]
    played.up = True
    other = run.invoke(lab, ["start", "03-5", *where])
    assert other.exit_code == 1
    assert "in the way" in other.output
    assert "lab start 03-5 makes new trouble" in run.invoke(lab, ["reset", "03-5", *where]).output
    assert not played.up

    assert "is up, and in trouble" in run.invoke(lab, ["start", "03-5", *where]).output
    work = Workplace(EXERCISE, tmp_path)
    assert played.done == [f"begin {work.record.seed}"]
    (work.folder / "before.json").write_text("{}")
    assert "still has the trouble" in run.invoke(lab, ["start", "03-5", *where]).output

    made = plan(work.record.seed)
    answer = {"broker": made.victim, "cause": made.cause}
    work.file.write_text(f"def report():\n    return {answer!r}\n", encoding="utf-8")
    check = ["check", "03-5", *where]
    played.steps = [Step("the ISR is whole", False, "broker 2 is not in it")]
    result = run.invoke(lab, check)
    assert result.exit_code == 1
    assert "broker 2 is not in it" in result.output
    played.steps = [Step("the ISR is whole", True, "")]
    result = run.invoke(lab, check)
    assert result.exit_code == 0
    assert work.record.passed

    said = run.invoke(lab, ["reset", "03-5", *where]).output
    assert "Its cluster is ended." in said
    assert not played.up
    result = run.invoke(lab, check)
    assert result.exit_code == 1, "the starter again"


def test_a_topic_that_nobody_deletes_is_a_fault_of_the_cluster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: object) -> None:
        raise TimeoutException("delete_topics took too long")

    cluster: Any = SimpleNamespace(bootstrap_servers="b:9092")
    monkeypatch.setattr(lab_cluster, "Admin", refuse)
    with pytest.raises(ClusterError, match="topic 'orders' cannot be deleted"):
        LabCluster("03-5", "orders").create_again(cluster, (0, 1, 2), {})


@pytest.mark.parametrize("order", list(permutations(lab_cluster.TOPIC_PARENTS)))
def test_a_topic_is_created_again_when_all_its_znodes_are_gone(
    monkeypatch: pytest.MonkeyPatch, order: tuple[str, ...]
) -> None:
    """The controller removes the topic's znodes one after the other. Until all are gone, no new
    topic can have the name.
    """
    left = [f"{parent}/orders" for parent in order]
    seen: list[tuple[str, ...]] = []

    class ZooKeeper:
        def exists(self, path: str) -> bool:
            return path in left

    @contextmanager
    def zookeeper_of(_: object) -> Iterator[ZooKeeper]:
        yield ZooKeeper()

    monkeypatch.setattr(lab_cluster, "Admin", MagicMock())
    monkeypatch.setattr(lab_cluster, "zookeeper_of", zookeeper_of)
    monkeypatch.setattr(lab_cluster.time, "sleep", lambda _: left.pop(0))
    monkeypatch.setattr(LabCluster, "create_topic", lambda *_: seen.append(tuple(left)))
    LabCluster("03-5", "orders").create_again(MagicMock(), (0, 1, 2), {})
    assert seen == [()]
