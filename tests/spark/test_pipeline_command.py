"""`kafka-edu spark pipeline` on a live cluster: its answers equal the log generator's truth. It
shows them in the terminal, in JSON, in HTML and as PNG files.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from kafka_edu.supervisor.cluster import Cluster, running_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster("spark") as cluster:
        yield cluster


@pytest.fixture
def session(spark: "SparkSession") -> "Iterator[SparkSession]":
    """Return the Spark session of all tests, with as few shuffle partitions as the command has."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", before)


def run(cluster: Cluster, topic: str, folder: Path, *options: str) -> Result:
    from kafka_edu.cli.pipeline.command import pipeline

    return CliRunner().invoke(
        pipeline,
        [
            "--bootstrap-server",
            cluster.bootstrap_servers,
            "--topic",
            topic,
            "--out",
            str(folder / "out"),
            "--json",
            str(folder / "figures.json"),
            *options,
        ],
    )


def check(result: Result, folder: Path) -> dict[str, Any]:
    """Check what a run wrote, and return its figures."""
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.output
    assert "What to look at next: " in result.output
    written = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    assert [one["name"] for one in written["targets"] if not one["holds"]] == []
    figures: dict[str, Any] = written["figures"]
    html = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert "answers equal the truth" in html
    assert f"{figures['lines']:,}" in html
    assert html.count("<svg") == len(list((folder / "out" / "plots").iterdir())) > 0
    for plot in (folder / "out" / "plots").iterdir():
        assert plot.read_bytes().startswith(PNG)
    return figures


@pytest.mark.spark
def test_the_answers_equal_the_truth(
    cluster: Cluster, session: "SparkSession", tmp_path: Path
) -> None:
    result = run(cluster, "web", tmp_path, "--lines", "3000", "--available-now")
    figures = check(result, tmp_path)
    assert figures["lines in windows"] + figures["bad lines"] + figures["too late lines"] == 3000
    assert figures["too late lines"] > 0, "a small first run shows this quarantine too"
    assert figures["mode"] == "available-now"
    assert figures["records in the result topic"] == figures["windows"]
    folder = tmp_path / "other-seed"
    folder.mkdir()
    other = run(cluster, "web", folder, "--lines", "3000", "--seed", "2", "--batch")
    assert other.exit_code == 1
    assert "holds 3,001 records that are not the log of these options" in other.output


@pytest.mark.long
@pytest.mark.parametrize("connector", ["python", "official"])
def test_both_connectors_in_every_mode(
    cluster: Cluster,
    session: "SparkSession",
    request: pytest.FixtureRequest,
    tmp_path: Path,
    connector: str,
) -> None:
    if connector == "official":
        request.getfixturevalue("official")
    topic = f"web-{connector}"
    for mode in (("--rate", "10000"), ("--available-now",), ("--batch",)):
        folder = tmp_path / mode[0]
        folder.mkdir()
        result = run(
            cluster,
            topic,
            folder,
            *("--result-topic", f"{topic}{mode[0]}"),
            # several batches
            *("--lines", "50000", "--batch-lines", "12500", "--connector", connector, *mode),
        )
        figures = check(result, folder)
        assert figures["too late lines"] > 0
        assert figures["connector"] == connector


@pytest.mark.long
def test_a_run_that_is_called_again_goes_on_from_its_checkpoint(
    cluster: Cluster, session: "SparkSession", tmp_path: Path
) -> None:
    options = ("--lines", "3000", "--available-now")
    check(run(cluster, "again", tmp_path, *options), tmp_path)
    figures = check(run(cluster, "again", tmp_path, *options), tmp_path)
    assert figures["batches"] == 0
