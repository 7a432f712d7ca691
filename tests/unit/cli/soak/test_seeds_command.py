"""`soak seeds`: tried seeds are kept and not tried again, and a failing seed names the command that
replays it.
"""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kafka_edu.cli.soak import seeds_command
from kafka_edu.sim.seed_search import SeedResult


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Record the seeds in a list instead of playing them, and return the list.

    Seed 3 fails, and Ctrl-C stops the first run of seed 5.
    """
    numbers: list[int] = []

    def play(seed: int) -> SeedResult:
        numbers.append(seed)
        if seed == 5 and numbers.count(5) == 1:
            raise KeyboardInterrupt
        failures = ("stuck: Produce to broker 1",) if seed == 3 else ()
        return SeedResult(
            seed,
            failures,
            requests=10,
            answered=9,
            closed=1,
            acked=4,
            longest_wait_ms=1200,
            virtual_s=100.0,
            acts=("0 ms  burst",),
        )

    monkeypatch.setattr(seeds_command, "play", play)
    return numbers


def test_seeds_are_kept_and_the_search_goes_on_where_it_was_stopped(
    played: list[int], tmp_path: Path
) -> None:
    state, figures = tmp_path / "seeds.jsonl", tmp_path / "figures.json"
    options = ["--seeds", "6", "--state", str(state), "--json", str(figures)]
    first = CliRunner().invoke(seeds_command.seeds, options)
    assert first.exit_code == 130
    assert "stopped after 4 of 6 seeds" in first.output
    assert "./kafka-edu soak seeds --seed 3" in first.output
    second = CliRunner().invoke(seeds_command.seeds, options)
    assert second.exit_code == 1, "a seed has failed"
    assert played == [1, 2, 3, 4, 5, 5, 6]
    report = json.loads(figures.read_text())
    assert report["figures"]["seeds tried"] == 6
    assert report["figures"]["seeds that failed"] == [3]
    assert [target["holds"] for target in report["targets"]] == [False, True]


def test_half_a_line_at_the_end_is_a_seed_that_was_not_tried(
    played: list[int], tmp_path: Path
) -> None:
    state = tmp_path / "seeds.jsonl"
    CliRunner().invoke(seeds_command.seeds, ["--seeds", "2", "--state", str(state)])
    state.write_text(state.read_text()[:-30])
    assert (
        CliRunner().invoke(seeds_command.seeds, ["--seeds", "2", "--state", str(state)]).exit_code
        == 0
    )
    assert played == [1, 2, 2]


def test_one_seed_is_told_as_a_story(played: list[int]) -> None:
    said = CliRunner().invoke(seeds_command.seeds, ["--seed", "3"])
    assert said.exit_code == 1
    assert "0 ms  burst" in said.output
    assert "stuck: Produce to broker 1" in said.output
