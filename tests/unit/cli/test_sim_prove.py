"""`kafka-edu sim prove`: planted bugs are searched for, found and made short."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kafka_edu.cli.sim import prove_command
from kafka_edu.cli.sim.command import sim

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
