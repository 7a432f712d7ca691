"""`kafka-edu sim`: what it prints, its exit codes, and its errors."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from exercises.runner.manifest import find_exercise
from kafka_edu.cli.sim.command import sim
from kafka_edu.cli.sim.scenario_files import SHIPPED
from kafka_edu.sim.planted_faults import PLANTED

SMALL = """\
# A small run.
> cluster brokers=1
> topic t partitions=1 rf=1
> producer p topic=t rate=20
> consumer c topic=t
> faults kill every=400ms..600ms
> run 1s
> settle 4s
"""


def call(*arguments: object) -> Result:
    return CliRunner().invoke(sim, [str(one) for one in arguments])


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.sim"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_it_lists_scenarios_and_faults() -> None:
    listed = call("list").output
    assert all(name in listed for name in SHIPPED)
    plants = call("plants").output
    assert all(name in plants for name in PLANTED)


def test_a_run_tells_what_happens_and_gives_a_digest(small: Path, tmp_path: Path) -> None:
    figures = tmp_path / "run.json"
    result = call("run", small, "--seed", 3, "--json", figures)
    assert result.exit_code == 0, result.output
    assert "kill 1 for" in result.output
    assert "✓ every rule holds" in result.output
    told = json.loads(figures.read_text(encoding="utf-8"))
    assert told["figures"]["digest"] in result.output
    assert told["targets"][0]["holds"]


def test_explore_goes_on_where_it_was_stopped(small: Path, tmp_path: Path) -> None:
    state, figures = tmp_path / "state.jsonl", tmp_path / "explore.json"
    first = call("explore", small, "--seeds", 1, "--state", state)
    assert first.exit_code == 0, first.output
    [line] = state.read_text(encoding="utf-8").splitlines()
    cut = line[:30]
    state.write_text(f"{line}\n{cut}", encoding="utf-8")  # killed while it wrote
    result = call("explore", small, "--seeds", 2, "--state", state, "--json", figures)
    assert result.exit_code == 0, result.output
    kept = state.read_text(encoding="utf-8").splitlines()
    assert [json.loads(one)["seed"] for one in kept] == [1, 2]
    assert kept[0] == line
    assert json.loads(figures.read_text(encoding="utf-8"))["figures"]["runs"] == 2


def test_results_of_another_run_do_not_count(small: Path, tmp_path: Path) -> None:
    """If the scenario file was changed or a fault is planted, the results in the state file belong
    to different runs. So the seeds are played again.
    """
    state = tmp_path / "state.jsonl"
    assert call("explore", small, "--seeds", 1, "--state", state).exit_code == 0
    call("explore", small, "--seeds", 1, "--state", state, "--plant", "acked-too-early")
    small.write_text(SMALL.replace("rate=20", "rate=10"), encoding="utf-8")
    assert call("explore", small, "--seeds", 1, "--state", state).exit_code == 0
    kept = [json.loads(one) for one in state.read_text(encoding="utf-8").splitlines()]
    assert [one["seed"] for one in kept] == [1, 1, 1]
    assert len({one["what"] for one in kept}) == 3


def test_seed_0_is_a_seed(small: Path) -> None:
    assert "seed 0:" in call("run", small, "--seed", 0).output


def test_a_state_file_that_is_something_else_is_refused(small: Path, tmp_path: Path) -> None:
    state = tmp_path / "state.jsonl"
    state.write_text("hello\nthere\n", encoding="utf-8")
    result = call("explore", small, "--state", state)
    assert result.exit_code == 1
    assert "line 1 of" in result.output
    assert "choose another file" in result.output


def test_a_planted_fault_is_found_shrunk_and_replayed(small: Path, tmp_path: Path) -> None:
    plant = ("--plant", "aborted-unknown")
    with_transactions = SMALL.replace(
        "producer p topic=t rate=20", "transactions x topic=t rate=60"
    )
    small.write_text(with_transactions, encoding="utf-8")
    found = call("explore", small, "--seeds", 9, "--until-found", *plant)
    assert found.exit_code == 1, found.output
    assert "make it short with" in found.output
    seed = found.output.partition("seed ")[2].partition(";")[0]
    output = tmp_path / "short.sim"
    shrunk = call("shrink", small, "--seed", seed, "--output", output, *plant)
    assert shrunk.exit_code == 0, shrunk.output
    text = output.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 40
    assert f"> seed {seed}\n" in text
    assert "> at " not in text, "no fault is needed for this bug"
    assert "# Planted: aborted-unknown" in text
    replayed = call("replay", output, *plant)
    assert "✓ the same facts, byte for byte" in replayed.output
    text = text.replace(text.split("> digest 3.")[1].split()[1], "4f1a")
    output.write_text(text, encoding="utf-8")
    other = call("replay", output, *plant)
    assert other.exit_code == 1
    assert "Expected 4f1a; it was written with another planted fault" in other.output
    assert "another version of the code" not in other.output
    output.write_text(re.sub("> code .*", "> code 27b1", text), encoding="utf-8")
    older = call("replay", output, *plant)
    assert older.exit_code == 1
    assert "short.sim was written by another version of the code (27b1, and this" in older.output
    assert "Expected 4f1a; another version of the code wrote it" in older.output


def test_nothing_to_shrink_is_said(small: Path) -> None:
    result = call("shrink", small, "--seed", 3)
    assert result.exit_code == 1
    assert "breaks no rule: there is nothing to shrink" in result.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "nowhere.sim"), "cannot read nowhere.sim: there is no such file"),
        (("run", "replicaton"), "these are replication, controller"),
        (("run", "replication", "--plant", "rust"), "there is no fault 'rust'"),
        (("replay", "replication"), "names no seed"),
        (("shrink", "replication", "--output", "nowhere/x.sim"), "there is no folder nowhere"),
    ],
)
def test_a_mistake_gets_one_clear_line(arguments: tuple[str, ...], said: str) -> None:
    result = call(*arguments)
    assert result.exit_code != 0
    assert said in result.output


def test_a_wrong_line_is_named(small: Path) -> None:
    small.write_text(SMALL.replace("rf=1", "rf=2"), encoding="utf-8")
    result = call("run", small)
    assert result.exit_code == 1
    assert "small.sim, line 3" in result.output
    assert "rf=2 is not a whole number from 1 to 1" in result.output


def test_two_futures_are_compared(small: Path, tmp_path: Path) -> None:
    text = small.read_text(encoding="utf-8").replace("> faults kill every=400ms..600ms\n", "")
    quiet, killed = tmp_path / "quiet.sim", tmp_path / "killed.sim"
    quiet.write_text(text, encoding="utf-8")
    killed.write_text(
        text.replace("> run 1s", "> at 500ms kill 1 for 200ms\n> run 1s"), encoding="utf-8"
    )
    figures = tmp_path / "compare.json"
    compared = call("compare", quiet, killed, "--json", figures)
    assert compared.exit_code == 0, compared.output
    said = compared.output
    assert "facts are the same. Then the futures part:" in said
    assert "killed.sim, at 0.500" in said
    assert "asked to kill broker 1" in said
    told = json.loads(figures.read_text(encoding="utf-8"))["figures"]
    assert told[f"{killed}: parts with"] == "ActionAsked"
    assert told[f"{quiet}: digest"] != told[f"{killed}: digest"]

    same = call("compare", quiet, quiet)
    assert same.exit_code == 0
    assert "one future" in same.output


FIRST_LINE = "        if expiration_ms < self.current_time_ms + self.tick_ms:\n"
"""The first line of `add` in the reference solution of 02-1, after its docstring."""


def call_with_wheel(small: Path, first: str, *options: str) -> Result:
    """Play with the reference solution of exercise 02-1, into whose method `add` the line `first`
    is inserted.
    """
    wheel, source = small.with_name("wheel.py"), find_exercise("02-1").solution.read_text()
    assert FIRST_LINE in source
    wheel.write_text(source.replace(FIRST_LINE, f"        {first}\n{FIRST_LINE}"), encoding="utf-8")
    return call("run", small, "--learner", f"02-1={wheel}", *options)


def test_a_learners_part_serves_and_its_prints_and_lines_are_told(small: Path) -> None:
    result = call_with_wheel(small, "print('add', self)", "--steps")
    assert result.exit_code == 0, result.output
    assert "broker 1, 02-1 prints: add <learner.TimingWheel object at 0x…>" in result.output
    assert "line 31: return self.level, tick % self.slots[0], left_over_ms" in result.output
    assert "✓ played again: the same facts" in result.output


def test_a_learners_part_that_is_not_deterministic_is_named(small: Path) -> None:
    result = call_with_wheel(small, "print(__import__('random').random())")
    assert result.exit_code == 1
    assert "✕ 02-1 is not deterministic: the same seed has given two runs. They part at 1." in (
        result.output
    )
    assert "First it printed '0." in result.output


def test_a_learners_error_has_his_file_and_line_and_no_frame_of_ours(small: Path) -> None:
    result = call_with_wheel(small, "return 1 / 0")
    assert result.exit_code == 1
    assert " times, first in " in result.output
    assert "wheel.py:26: ZeroDivisionError: division by zero" in result.output
    assert "from now on our code serves" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--learner", "02-1"), "'02-1' is not EXERCISE=FILE, such as 02-1=wheel.py"),
        (("--learner", "02-1=none.py"), "there is no file"),
        (("--learner", "2:02-1=none.py"), "there is no broker 2; they are 1 to 1"),
        (("--learner", "99-1=none.py"), "no part of a simulated broker belongs to exercise"),
        (("--steps",), "--steps prints the answers of a learner's part: name one"),
    ],
)
def test_a_learners_part_that_is_not_there_is_said(
    small: Path, options: tuple[str, ...], said: str
) -> None:
    result = call("run", small, *options)
    assert result.exit_code != 0
    assert said in result.output


def test_a_learners_file_with_a_wrong_line_is_one_line(small: Path) -> None:
    result = call_with_wheel(small, "return (")
    assert result.exit_code == 1
    assert result.output.strip().count("\n") == 0
    assert "wheel.py:26: SyntaxError" in result.output
