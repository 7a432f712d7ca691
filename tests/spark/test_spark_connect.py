"""Our source and sink work through a real Spark Connect server, whose Python has no kafka-edu."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_edu.common.ports import LOOPBACK, free_ports, is_free
from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.external_programs import missing
from tests.spark.own_process import without_the_gateway_of_this_process
from tests.waiting import wait_for

pytestmark = pytest.mark.long
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
LINES = 30

#: It runs in a process of its own, because a process has either Spark Connect or a JVM.
SCRIPT = """
import sys
from kafka_edu.spark.connect_session import connect_session
from kafka_edu.spark.source_errors import user_error
cluster = {"kafka.bootstrap.servers": sys.argv[2]}
with connect_session(sys.argv[1]) as spark:
    def read():
        return spark.read.format("kafka-edu").options(**cluster, subscribe="web").load()

    web = read()
    print("rows", web.count())
    copy = web.selectExpr("key", "value").write.format("kafka-edu").mode("append")
    copy.options(**cluster, topic="web").save()
    print("rows", read().count())
    options = {**cluster, "subscribe": "web", "startingOffsets": "earliest"}
    stream = spark.readStream.format("kafka-edu").options(**options).load()
    try:
        query = stream.writeStream.format("noop").trigger(availableNow=True).start()
        query.awaitTermination()
        print("stream", query.lastProgress)
    except Exception as error:
        print("stream", user_error(error))
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a Spark Connect server."""
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio and grpcio-status")
    from kafka_edu.spark.bare_python import make_bare_python
    from kafka_edu.spark.java_gateway import SparkStartError, find_spark_home
    from kafka_edu.spark.standalone_cluster import environment, find_full_java

    try:
        java = find_full_java()
    except SparkStartError as error:
        missing(str(error))
    folder = tmp_path_factory.mktemp("server")
    port = next(free_ports(LOOPBACK))
    settings = {
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": LOOPBACK,
        "spark.connect.grpc.binding.port": str(port),
    }
    options = [word for name, text in settings.items() for word in ("--conf", f"{name}={text}")]
    submit = [str(find_spark_home() / "bin" / "spark-submit"), "--class", SERVER, *options]
    python = make_bare_python(folder / "python")
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*submit, "--master", "local[2]", "spark-internal"],
            env=environment(java, folder)
            | {"PYSPARK_PYTHON": str(python), "SPARK_DAEMON_MEMORY": "1g"},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait_for(lambda: process.poll() is not None or not is_free(LOOPBACK, port), "a server")
        assert process.poll() is None, (folder / "log").read_text("utf-8")
        yield f"sc://{LOOPBACK}:{port}"
    finally:
        process.terminate()
        process.wait()


def test_batches_and_the_sink_work_and_a_stream_says_what_it_needs(
    server: str, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    with running_cluster("connect", brokers=1) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(LINES):
            producer.produce("web", b"line %d" % number)
        assert producer.flush(60) == 0
        done = subprocess.run(
            [sys.executable, "-P", str(script), server, cluster.bootstrap_servers],
            env=without_the_gateway_of_this_process(),
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    *rows, stream = done.stdout.splitlines()
    assert rows == [f"rows {LINES}", f"rows {2 * LINES}"], done.stdout
    assert stream.startswith("stream A Python process of Spark has no kafka-edu.")
