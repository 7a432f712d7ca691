"""A user's script reads a topic with the installed wheel, outside of the checkout. It runs with
plain Python and with spark-submit.
"""

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
from confluent_kafka import Producer

from kafka_edu.common.java import NoJavaError, find_java
from kafka_edu.spark.java_gateway import OLDEST_JAVA, find_spark_home
from kafka_edu.supervisor.cluster import running_cluster
from tests.interop.external_programs import missing

pytestmark = pytest.mark.long
ROOT = Path(__file__).resolve().parents[2]
VECTOR = "jdk.incubator.vector"
"""The module that spark-submit asks of Java, and a JRE lacks."""
LINES = 30

READ = """
from pyspark.sql.functions import col
rows = (
    spark.read.format("kafka-edu")
    .option("kafka.bootstrap.servers", sys.argv[1])
    .option("subscribe", "web")
    .load()
)
print("lines:", rows.where(col("value").cast("string").startswith("line")).count())
"""
BY_PYTHON = """
import sys
from kafka_edu.spark.connectors import start_session
with start_session("script", "local[1]") as spark:
""" + "".join(f"    {line}\n" for line in READ.splitlines() if line)
BY_SUBMIT = (
    """
import sys
from pyspark.sql import SparkSession
from kafka_edu.spark.data_source import register
spark = SparkSession.builder.getOrCreate()
register(spark)
"""
    + READ
)


def test_the_wheel_serves_a_script_and_spark_submit(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="./kafka-edu setup dev")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    [wheel] = (tmp_path / "dist").glob("*.whl")
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = tmp_path / "env" / "bin" / "python"
    base = str(tmp_path / "env")
    site = Path(sysconfig.get_path("purelib", vars={"base": base, "platbase": base}))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "PYSPARK_", "SPARK_"))
    } | {"PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}

    def run(text: str, *command: str) -> str:
        script = tmp_path / "script.py"
        script.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [*command, str(script), cluster.bootstrap_servers],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with running_cluster("script", brokers=1) as cluster:
        producer = Producer({"bootstrap.servers": cluster.bootstrap_servers})
        for number in range(LINES):
            producer.produce("web", b"line %d" % number)
        assert producer.flush(60) == 0
        assert f"lines: {LINES}" in run(BY_PYTHON, str(python))
        try:
            java = find_java(least=OLDEST_JAVA)
        except NoJavaError as error:
            missing(str(error))
        if VECTOR not in java.modules:
            missing(f"spark-submit needs a full Java {OLDEST_JAVA} or newer with {VECTOR}")
        environment["JAVA_HOME"] = str(java.program.resolve().parents[1])
        submit = [str(find_spark_home() / "bin" / "spark-submit"), "--master", "local[1]"]
        assert f"lines: {LINES}" in run(BY_SUBMIT, *submit)
