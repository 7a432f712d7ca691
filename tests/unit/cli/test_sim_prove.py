"""`kafka-edu sim prove`: it searches for planted bugs, finds them, and shortens the runs that show
them.
"""

import json
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import islice
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from kafka_edu.cli.sim import prove_command
from kafka_edu.cli.sim.command import sim
from kafka_edu.cli.sim.prove_command import Search
from kafka_edu.cli.soak.progress import Progress
from kafka_edu.sim.scenario.explore import Tried, what_of
from kafka_edu.sim.scenario.language import Scenario, parse

SMALL = """\
> cluster brokers=1
> topic t partitions=1 rf=1
> transactions x topic=t rate=60
> consumer c topic=t
> faults kill every=400ms..600ms
> run 1s
> settle 4s
"""


def prove(*arguments: object) -> Result:
    return CliRunner().invoke(sim, ["prove", *(str(one) for one in arguments)])


@pytest.fixture(autouse=True)
def one_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "small.sim"
    path.write_text(SMALL, encoding="utf-8")
    monkeypatch.setattr(prove_command, "SHIPPED", (str(path),))


def test_a_bug_is_found_made_short_and_not_played_again(tmp_path: Path) -> None:
    state, figures, folder = tmp_path / "s.jsonl", tmp_path / "f.json", tmp_path / "short"
    arguments = ("aborted-unknown", "--seeds", 9, "--state", state, "--json", figures)
    result = prove(*arguments, "--folder", folder)
    assert result.exit_code == 0, result.output
    assert "✓ aborted-unknown: found by" in result.output
    report = json.loads(figures.read_text(encoding="utf-8"))
    figure = report["figures"]["aborted-unknown"]
    assert figure["rules"] == ["transactions are whole"]
    assert figure["runs"] == figure["seeds"] == figure["seed"]
    text = (folder / "aborted-unknown.sim").read_text(encoding="utf-8")
    assert figure["lines"] == len(text.splitlines()) <= prove_command.MOST_LINES
    assert all(target["holds"] for target in report["targets"])
    kept = state.read_text(encoding="utf-8")
    assert prove(*arguments).exit_code == 0
    assert state.read_text(encoding="utf-8") == kept, "nothing was played again"


def test_a_bug_that_is_not_found_is_said(tmp_path: Path) -> None:
    figures = tmp_path / "f.json"
    result = prove("unclean-election", "--seeds", 1, "--json", figures)
    assert result.exit_code == 1
    assert "✕ unclean-election: not found in 1 runs" in result.output
    targets = json.loads(figures.read_text(encoding="utf-8"))["targets"]
    assert [target["holds"] for target in targets] == [False, False]


def test_results_of_another_version_of_the_code_are_refused(tmp_path: Path) -> None:
    state = tmp_path / "s.jsonl"
    assert prove("unclean-election", "--seeds", 1, "--state", state).exit_code == 1
    fields = json.loads(state.read_text(encoding="utf-8"))
    state.write_text(json.dumps({**fields, "code": "old"}) + "\n", encoding="utf-8")
    result = prove("unclean-election", "--seeds", 1, "--state", state)
    assert result.exit_code == 1
    assert "is from another version of the code" in result.output


def test_an_unknown_bug_is_named() -> None:
    result = prove("rust")
    assert result.exit_code == 2
    assert "there is no fault 'rust'" in result.output


@pytest.mark.parametrize("at_once", [1, 4, 100])
def test_the_first_failing_run_by_order_counts_however_many_are_played_at_once(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    failing = {("b", 3), ("a", 4), ("b", 6)}
    played: list[tuple[str, int]] = []

    def in_any_order(
        work: Iterable[tuple[Scenario, int]], jobs: int, plant: str
    ) -> Iterator[Tried]:
        runs = iter(work)
        while some := list(islice(runs, at_once)):
            for scenario, seed in reversed(some):
                played.append((scenario.name, seed))
                broken = (("a rule", ""),) if played[-1] in failing else ()
                what = what_of(scenario, plant)
                yield Tried(scenario.name, what, seed, "", 1_000, 0.1, broken, "")

    monkeypatch.setattr(prove_command, "try_seeds", in_any_order)
    scenarios = [parse(SMALL, "a"), parse(SMALL.replace("rate=60", "rate=50"), "b")]
    search = Search(scenarios, 10, at_once, None)
    with Progress(Console(file=StringIO())) as progress:
        proof = search.find("rust", progress)
    assert proof.found is not None
    assert (proof.found.scenario, proof.found.seed) == ("b", 3)
    assert (proof.runs, proof.virtual_s) == (6, 6.0)
    assert len(played) <= 6 + at_once, "no run after the first find is begun"
