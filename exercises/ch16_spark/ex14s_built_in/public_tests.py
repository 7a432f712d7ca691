"""Public tests of exercise 16-14s. Run them with `kafka-edu lab check 16-14s`. The learner's job
runs in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections.abc import Sequence
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Rows, SparkLearner
from ..jobs import check_columns, check_no_python, closest, shown
from ..page_views import RECORDS, Request, random_requests

COLUMNS: Final = dict.fromkeys(("client", "page", "family", "kind"), "string")
ASKED: Final = "build(spark, records)"
GIVEN: Final = "Exchange RoundRobin"
"""A part of the plan of `records`. It is missing if the job took the rows out of Spark."""


class Checked:
    """Runs the learner's job, and compares its rows with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, *requests: Request) -> Rows:
        """Raise Mismatch unless the job makes the right rows. Return them."""
        came = self._learner.batch(RECORDS, requests)
        check_columns(ASKED, came, COLUMNS)
        expected = sorted((one.answer() for one in requests), key=repr)
        if came.rows != expected:
            raise self._mismatch(requests, came)
        return came

    def _mismatch(self, requests: Sequence[Request], came: Rows) -> Mismatch:
        left, missing = list(came.rows), []
        for one in requests:
            if one.answer() in left:
                left.remove(one.answer())
            else:
                missing.append(one)
        if not missing or not left:
            what = f"{len(came.rows)} rows"
            return Mismatch(
                ASKED, f"{len(requests)} rows", what, "each record has one row", read="build"
            )
        row, wrong = closest([one.answer() for one in missing], left)
        request = next(one for one in missing if one.answer() == row)
        name = next(n for n, a, b in zip(COLUMNS, row, wrong, strict=True) if a != b)
        return Mismatch(
            ASKED,
            shown(came.columns, row),
            shown(came.columns, wrong),
            f"{name} is not what the function gave for this record",
            drawing=(f"    record: {request}",),
            read="build",
        )


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's job, with a check of its rows."""
    return Checked(learner)


def test_clients(job: Checked) -> None:
    """the last number of an address is hidden; a text that is no address is hidden completely"""
    clients = ("10.0.3.77", "1.2.3.4", "255.255.255.255", "::1", "host", "1.2.3", "1.2.3.4567", "")
    job.agrees(*(Request(client=one) for one in clients), Request(client=None))


def test_pages(job: Checked) -> None:
    """the query, doubled slashes, and the slash at the end"""
    urls = ("/", "//", "/a", "/a/", "/a//b///", "/a?b=/c/", "/a/?", "?x", "", "/a?b?c", "/a.b/")
    job.agrees(*(Request(url=one) for one in urls), Request(url=None))


def test_families(job: Checked) -> None:
    """families: the first word of the job's list that is in the agent, in capitals or not"""
    agents = ("Chrome/67 Safari/5", "Firefox/61", "EDG/1 Chrome/2", "Safari/6", "a Robot Firefox")
    job.agrees(*(Request(agent=one) for one in (*agents, "curl", "", "bo t")), Request(agent=None))


def test_kinds(job: Checked) -> None:
    """ok, theirs, ours and unknown"""
    job.agrees(*(Request(status=one) for one in (100, 399, 400, 499, 500, 999, None)))


def test_plan(job: Checked) -> None:
    """the plan has no Python, and reads `records`"""
    came = job.agrees(Request(), Request(None, None, None, None))
    check_no_python(ASKED, came)
    if GIVEN not in came.plan:
        raise Mismatch(
            ASKED,
            "a plan that reads `records`",
            "a plan that does not",
            "the rows have left Spark's expressions, and came back as other rows",
            read="build",
        )


def test_many(job: Checked, seed: int) -> None:
    """random records"""
    check_no_python(ASKED, job.agrees(*random_requests(Random(seed), 200)))
