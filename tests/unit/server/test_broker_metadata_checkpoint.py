import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from kafka_edu.common.files import OsFileSystem
from kafka_edu.server.broker_metadata_checkpoint import (
    BrokerMetadata,
    BrokerMetadataCheckpoint,
    BrokerMetadataError,
    IdSource,
    InconsistentBrokerIdError,
    InconsistentClusterIdError,
    check_cluster_id,
    read_broker_metadata,
    settle_broker_id,
)


async def generated() -> int:
    return 1001


def settle(
    stored: dict[str, BrokerMetadata],
    configured: int,
    generate: Callable[[], Awaitable[int]] | None = generated,
) -> tuple[int, IdSource]:
    return asyncio.run(settle_broker_id(stored, configured, generate))


def test_written_in_kafkas_format_and_read_back(tmp_path: Path) -> None:
    checkpoint = BrokerMetadataCheckpoint(str(tmp_path), OsFileSystem())
    assert checkpoint.read() is None
    checkpoint.write(BrokerMetadata(7, "abc"), 1_535_423_465_000)
    assert (tmp_path / "meta.properties").read_text().splitlines() == [
        "#",
        "#Tue Aug 28 02:31:05 UTC 2018",
        "version=0",
        "broker.id=7",
        "cluster.id=abc",
    ]
    assert checkpoint.read() == BrokerMetadata(7, "abc")


def test_reads_what_kafka_2_0_wrote(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text(
        "#\n#Tue Aug 28 10:31:05 CST 2018\nversion=0\nbroker.id=3\n"
    )
    assert read_broker_metadata([str(tmp_path), str(tmp_path / "new")], OsFileSystem()) == {
        str(tmp_path): BrokerMetadata(3)
    }


@pytest.mark.parametrize(
    "text",
    [
        "version=1\nbroker.id=3\n",
        "broker.id=3\n",
        "version=0\nbroker.id=three\n",
        "version=0\nbroker.id=\\u12\n",
    ],
)
def test_what_cannot_be_understood_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "meta.properties").write_text(text)
    with pytest.raises(BrokerMetadataError, match=r"meta\.properties"):
        BrokerMetadataCheckpoint(str(tmp_path), OsFileSystem()).read()


def test_where_the_id_comes_from() -> None:
    assert settle({}, 5) == (5, IdSource.CONFIGURED)
    assert settle({}, -1) == (1001, IdSource.GENERATED)
    assert settle({"/a": BrokerMetadata(2), "/b": BrokerMetadata(2)}, -1) == (2, IdSource.STORED)
    assert settle({"/a": BrokerMetadata(2)}, 2) == (2, IdSource.CONFIGURED)


def test_the_books_two_cases_of_inconsistency() -> None:
    with pytest.raises(
        InconsistentBrokerIdError,
        match=r"^InconsistentBrokerIdException: broker\.id is configured as 1, but",
    ):
        settle({"/a": BrokerMetadata(2)}, 1)
    with pytest.raises(InconsistentBrokerIdError, match="/a names broker 1, /b names broker 2"):
        settle({"/a": BrokerMetadata(1), "/b": BrokerMetadata(2)}, 1)


def test_no_id_anywhere() -> None:
    with pytest.raises(InconsistentBrokerIdError, match=r"broker\.id\.generation\.enable is false"):
        settle({}, -1, None)


def test_a_log_dir_of_another_cluster() -> None:
    check_cluster_id({"/a": BrokerMetadata(1), "/b": BrokerMetadata(1, "x")}, "x")
    with pytest.raises(InconsistentClusterIdError, match="/b belongs to the cluster y"):
        check_cluster_id({"/b": BrokerMetadata(1, "y")}, "x")
