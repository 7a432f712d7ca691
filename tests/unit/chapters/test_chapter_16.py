"""Chapter 16's pictures show what our Spark data source plans, and the chapter has the jobs that
its script names.
"""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from chapters.ch16_spark.jobs import JOBS, committed_offsets, newest
from chapters.ch16_spark.pictures import DRAWINGS, SINKS, figures, shares, visits
from chapters.ch16_spark.plan import FILLED, MOST_COPIED, planned
from chapters.chapter import find_chapters
from chapters.command import chapter

CHAPTER = find_chapters()["16"]


def test_shares_are_in_proportion_and_nothing_is_left_out() -> None:
    records = [[end - start for start, end in each.ranges] for each in shares()]
    assert records == [[180, 119, 1], [180, 119, 1], [180, 120, 0], [60, 40, 0]]
    assert [sum(column) for column in zip(*records, strict=True)] == list(FILLED)


def test_the_copies_are_two_micro_batches() -> None:
    assert len(list(planned(MOST_COPIED))) == 2


def test_only_the_last_late_visit_is_dropped() -> None:
    assert [visit.dropped for visit in visits()] == [False, False, False, False, False, True]


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("plan", {"planned_batches": "4"}),
        ("checkpoint", {"unfinished": "2"}),
        ("watermark", {"visits": "6", "late_planned": "1"}),
        ("slot", {"slot_requests": "7"}),
    ],
)
def test_a_picture_binds_what_the_page_says(name: str, names: dict[str, str]) -> None:
    assert DRAWINGS[name]().names == names


def test_each_figure_stands_in_the_page() -> None:
    for name in figures():
        assert f"(figures/{name}.svg)" in CHAPTER.text()
    assert len(SINKS) == 3


def test_the_script_runs_every_job() -> None:
    script = tomllib.loads(CHAPTER.script_file.read_text(encoding="utf-8"))
    assert {step["job"] for step in script["step"] if "job" in step} == set(JOBS)


def test_the_offsets_of_the_last_finished_batch_count(tmp_path: Path) -> None:
    for log, last in (("offsets", 3), ("commits", 2)):
        (tmp_path / log).mkdir()
        for number in range(last + 1):
            text = f'v1\n{{}}\n{{"web": {{"0": {number * 10}, "1": {number}}}}}'
            (tmp_path / log / str(number)).write_text(text)
            (tmp_path / log / f".{number}.crc").write_bytes(b"")
    assert newest(tmp_path / "offsets") == 3
    assert committed_offsets(tmp_path, "web") == {"0": 20, "1": 2}
    assert committed_offsets(tmp_path / "none", "web") == {}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["16", "--job", "plane"], "chapter 16 has no job 'plane'; there are: plan, follow"),
        (["02", "--job", "plan"], "chapter 02 has no job 'plan'; there are: none"),
        (["16", "--cluster", "mine"], "--cluster needs --job"),
    ],
)
def test_a_job_that_cannot_be_is_refused_in_one_line(words: list[str], said: str) -> None:
    result = CliRunner().invoke(chapter, words)
    assert result.exit_code == 2
    assert said in result.output


def test_without_spark_the_message_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    from kafka_edu.common.package_group import PackageGroupError

    def missing(*needs: str) -> None:
        raise PackageGroupError(f"{needs[1]} is not installed. Run this.")

    monkeypatch.setattr("chapters.command.ensure_group", missing)
    result = CliRunner().invoke(chapter, ["16", "--fast"])
    assert result.exit_code == 1
    assert "pyspark is not installed. Run this. Or see the chapter's recording" in result.output
    assert "chapter 16 --replay" in result.output
