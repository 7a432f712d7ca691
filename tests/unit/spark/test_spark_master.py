"""A master that is misspelt or does not answer is named in one line, before a JVM starts."""

import socket

import pytest

from kafka_edu.spark.spark_master import (
    MasterError,
    check_master,
    is_local,
    is_on_loopback,
    is_standalone,
)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]", "local[2, 3]", "local[*,1]"])
def test_local_masters(master: str) -> None:
    assert is_local(master)
    assert not is_standalone(master)
    assert is_on_loopback(master)
    check_master(master)


@pytest.mark.parametrize(
    ("master", "on_loopback"),
    [
        ("spark://127.0.0.1:7077", True),
        ("spark://localhost:7077,127.0.0.2:7077", True),
        ("spark://127.0.0.1:7077,10.0.0.1:7077", False),
        ("spark://spark.example:7077", False),
        ("yarn", False),
        ("k8s://https://10.0.0.1", False),
        ("local-cluster[2,1,1024]", False),
    ],
)
def test_clusters(master: str, on_loopback: bool) -> None:
    assert not is_local(master)
    assert is_standalone(master) == master.startswith("spark:")
    assert is_on_loopback(master) is on_loopback


@pytest.mark.parametrize(
    "master", ["", "lokal", "local[two]", "spark://", "spark://127.0.0.1", "127.0.0.1:7077"]
)
def test_a_misspelt_master_is_refused(master: str) -> None:
    with pytest.raises(MasterError, match=r"is not a Spark master. Examples are local\[2\]"):
        check_master(master)


def test_a_spark_connect_server_is_no_master() -> None:
    with pytest.raises(MasterError, match=r"^sc://127\.0\.0\.1:15002 is a Spark Connect server"):
        check_master("sc://127.0.0.1:15002")


def test_one_answer_is_enough() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # bound and not listening: it refuses
        here, there = (f"127.0.0.1:{one.getsockname()[1]}" for one in (server, other))
        check_master(f"spark://{there},{here}")
        with pytest.raises(MasterError, match=rf"no Spark master answers at spark://{there} \(.*"):
            check_master(f"spark://{there}")
