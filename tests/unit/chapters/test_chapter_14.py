"""Chapter 14's pictures agree with the chapter's page. The consumer's own classes compute them. The
chapter's jobs kill real processes: each process gets a complete plan, and ends at the place that
the plan says.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chapters.ch14_offsets import worker
from chapters.ch14_offsets.jobs import JOBS, LAST, NEEDS
from chapters.ch14_offsets.killed_worker import WorkerFailed, run_until_here
from chapters.ch14_offsets.pictures import (
    DRAWINGS,
    figures,
    kills,
    orders,
    paces,
    resets,
    stored_commits,
)
from chapters.ch14_offsets.worker import (
    HERE,
    POINTS,
    THOUSAND,
    WORKED,
    Loop,
    Plan,
    Point,
    read_plan,
)

SAID = {
    "partition": {"home": "28"},
    "records": {"commits": "6", "kept": "3"},
    "commit-first": {},
    "work-first": {},
    "resets": {
        "latest_new": "10",
        "earliest_valid": "5",
        "latest_beyond": "10",
        "earliest_beyond": "0",
    },
    "pull": {"fast": "50", "slow": "10"},
    "order": {"after": "a1-a2-a3-b1-b2-b3"},
}
PLAN = Plan("127.0.0.1:1", "t", "g", Loop.WORK_FIRST, Point.HALF)


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_picture_binds_what_the_page_says(name: str) -> None:
    assert DRAWINGS[name]().names == SAID[name]


def test_compaction_keeps_the_last_commit_of_each_group_and_partition() -> None:
    kept = {one.key: one.value for one in stored_commits() if one.kept}
    assert kept == {"readers, web-0": "8", "readers, web-1": "3", "audit, web-0": "null"}


def test_a_loop_that_commits_first_loses_and_one_that_works_first_repeats() -> None:
    first = {one.point: (one.twice, one.never) for one in kills(Loop.COMMIT_FIRST)}
    assert first == {
        Point.POLLED: (0, 0),
        Point.COMMITTED: (0, 10),
        Point.HALF: (0, 5),
        Point.WORKED: (0, 0),
    }
    last = {one.point: (one.twice, one.never) for one in kills(Loop.WORK_FIRST)}
    assert last == {
        Point.POLLED: (0, 0),
        Point.HALF: (5, 0),
        Point.WORKED: (10, 0),
        Point.COMMITTED: (0, 0),
    }


def test_both_loops_have_the_same_points() -> None:
    assert all(sorted(points) == sorted(Point) for points in POINTS.values())


def test_a_policy_counts_only_without_a_commit_that_the_log_has() -> None:
    begins = {(one.committed, one.policy): one.begins for one in resets()}
    for committed, expected in (
        ("nothing", ("0", "10", "NoOffsetForPartitionException")),
        ("5", ("5", "5", "5")),
        ("20", ("0", "10", "OffsetOutOfRangeException")),
    ):
        policies = ("earliest", "latest", "none")
        assert tuple(begins[committed, policy] for policy in policies) == expected


def test_each_consumer_reads_at_its_own_pace_and_may_go_elsewhere() -> None:
    *before, last = paces()
    assert [one.fast for one in before] == [10, 20, 30, 40, 50]
    assert [one.slow for one in before] == [2, 4, 6, 8, 10]
    assert (last.fast, last.slow) == (0, 50)


def test_within_a_partition_each_consumer_gets_the_order_of_the_log() -> None:
    written, *read = orders()
    assert {one.values for one in read} != {written.values}
    for one in read:
        for partition in "ab":
            mine = [value for value in one.values if value.startswith(partition)]
            assert mine == sorted(mine)
        assert sorted(one.values) == sorted(written.values)


def test_figures_are_not_empty() -> None:
    assert all(len(figure.source) > 300 for figure in figures().values())


def test_its_jobs_need_nothing_more() -> None:
    assert NEEDS == ()
    assert {str(loop) for loop in Loop} - JOBS.keys() == set()
    assert LAST % THOUSAND == 988, "the book's number"


def test_a_plan_arrives_as_it_was_sent() -> None:
    assert read_plan(PLAN.to_json()) == PLAN


STANDS_STILL = f"""
import os, signal
print("{WORKED}", os.getpid())
print("{HERE}", flush=True)
signal.pause()
"""


def test_a_process_is_killed_where_it_stands_still() -> None:
    [pid] = asyncio.run(run_until_here(sys.executable, "-c", STANDS_STILL))
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_process_that_ends_before_its_point_is_an_error() -> None:
    with pytest.raises(WorkerFailed, match="ended before its point"):
        asyncio.run(run_until_here(sys.executable, "-c", f"print('{WORKED}', 1)"))


def test_the_worker_ends_with_its_parent() -> None:
    """The worker cannot reach a broker, so it would poll for ever. When its parent ends, its
    standard input is closed, and the worker must end.
    """
    root = Path(worker.__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", worker.__name__, PLAN.to_json()],
        stdin=subprocess.PIPE,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait() == 1
