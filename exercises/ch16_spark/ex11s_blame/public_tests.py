"""Public tests of exercise 16-11s. Run them with `kafka-edu lab check 16-11s`. The learner's job
runs in another process with its own Spark, and the fixture `learner` calls it there.
"""

from collections import Counter
from random import Random
from typing import Final

import pytest

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import Row, SparkLearner
from ..blame import (
    ENDS,
    SCHEMAS,
    TABLES,
    TEAMS,
    Deployment,
    Events,
    Request,
    RightBlame,
    random_events,
)
from ..jobs import check_columns
from ..minutes import clock

COLUMNS: Final = {
    "service": "string",
    "time": "timestamp",
    "version": "string",
    "team": "string",
}
MOST_STATE: Final = 12


class Checked:
    """Runs the learner's stream, and compares its rows with the right ones."""

    def __init__(self, learner: SparkLearner) -> None:
        self._learner = learner

    def agrees(self, *batches: Events, most_state: int | None = None) -> None:
        """Raise Mismatch unless the micro-batches, together, write the right rows. With
        `most_state`, the state must never have more than `most_state` rows.
        """
        steps = [
            (
                "requests" if isinstance(batch[0], Request) else "deployments",
                [one.row() for one in batch],
            )
            for batch in batches
        ]
        came = self._learner.streams(SCHEMAS, steps, tables=TABLES)
        asked = "build(spark, requests, deployments, teams)"
        check_columns(asked, came, COLUMNS)
        right = RightBlame()
        for batch in batches:
            right.batch(batch)
        expected = right.rows()
        if came.rows != expected:
            raise Mismatch(
                asked,
                expected,
                came.rows,
                why_other(expected, came.rows, right),
                drawing=drawn(batches),
                read="build",
            )
        most = max(came.state_rows, default=0)
        if most_state is not None and most > most_state:
            raise Mismatch(
                asked,
                f"at most {most_state} rows in the state",
                f"{most} rows",
                "a request and a deployment leave the state when nothing can match them any more",
                read="build",
            )


def drawn(batches: tuple[Events, ...]) -> tuple[str, ...]:
    """Return a line of text for each micro-batch, except the last two."""
    return tuple(
        f"    {number}: " + ", ".join(shown(one) for one in batch[:4])
        for number, batch in enumerate(batches[: -len(ENDS)][:8], start=1)
    )


def shown(one: Request | Deployment) -> str:
    """Return a short text for a request or a deployment."""
    at = clock(one.time_s)[11:]
    if isinstance(one, Request):
        return f"{one.service} {one.status} at {at}"
    return f"{one.service} gets {one.version} at {at}"


def why_other(expected: list[Row], came: list[Row], right: RightBlame) -> str:
    """Return why the first row that differs should be as expected."""
    missing = sorted((Counter(expected) - Counter(came)).elements(), key=repr)
    surplus = sorted((Counter(came) - Counter(expected)).elements(), key=repr)
    requests = {(one.service, clock(one.time_s)): one for one in right.failed}
    for service, time, version, team in surplus:
        request = requests.get((str(service), str(time)))
        at = f"the request to {service} at {str(time)[11:]}"
        if request is None:
            late = any(isinstance(one, Request) for one in right.too_late)
            return f"{at} did not fail" + (", or came too late" if late else "")
        if team != TEAMS.get(request.service):
            return f"the team of {service} is {TEAMS.get(request.service)!r}"
        names = [one.version for one in right.suspects(request)]
        if version is None and names:
            return f"{at} has a suspect: {names[0]}, also if the row of it came late"
        if version not in names and version is not None:
            return f"{version} is not a suspect of {at}: less than 10 minutes before, same service"
        return f"{at} is there too often"
    service, time, version, _ = missing[0]
    if version is None:
        return f"the request to {service} at {str(time)[11:]} has no suspect, and is still a row"
    return f"{version} is a suspect of the request to {service} at {str(time)[11:]}"


@pytest.fixture
def job(learner: SparkLearner) -> Checked:
    """The learner's stream, with a check of its rows."""
    return Checked(learner)


def test_suspects(job: Checked) -> None:
    """the suspects are the deployments of the service in the ten minutes before the request"""
    job.agrees(
        [Deployment("cart", 0, "c1"), Deployment("pay", 10, "p1"), Deployment("cart", 90, "c2")],
        [
            *(Request("cart", at) for at in (0, 89, 90, 599, 600)),
            *(Request("pay", at, status) for at, status in ((9, 503), (11, 499), (12, 500))),
        ],
        *ENDS,
    )


def test_nobody_to_blame(job: Checked) -> None:
    """failed requests without a suspect have a row, and those of a service without a team too"""
    job.agrees(
        [Request("cart", 5), Request("mail", 6), Request("mail", 700)],
        [Deployment("mail", 650, "m1"), Deployment("pay", 1, "p1")],
        *ENDS,
    )


def test_late(job: Checked) -> None:
    """on both sides, a row that is 2 minutes late is joined, and a later row is dropped"""
    job.agrees(
        [Request("cart", 1_000)],
        [Deployment("pay", 1_000, "p1"), Deployment("cart", 990, "c1")],
        [Deployment("cart", 881, "c0"), Deployment("cart", 880, "lost")],
        [Request("cart", 882), Request("pay", 880)],
        *ENDS,
    )


def test_state(job: Checked) -> None:
    """rows leave the state when nothing can match them any more"""
    steps: list[Events] = []
    for at in range(0, 5_000, 1_000):
        steps.append([Request("cart", at + one) for one in range(3)])
        steps.append([Deployment("cart", at, f"v{at}")])
    job.agrees(*steps, *ENDS, most_state=MOST_STATE)


def test_many(job: Checked, seed: int) -> None:
    """random requests and deployments, some of them late"""
    job.agrees(*random_events(Random(seed), 6))
