"""Other people's programs that the tests need: Apache's, and clients that are built once from this
folder, in the user's cache. A test is skipped where its program is missing.
"""

import fcntl
import hashlib
import importlib
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NoReturn

import pytest

from benchmarks.apache_kafka import VERSION, kafka_jars
from kafka_edu.common.maven_jars import PeerMissing, maven_jars
from kafka_edu.zk.apache import ApacheZooKeeperError, check_installed

HERE: Final = Path(__file__).parent
BUILD_S: Final = 500


def missing(why: str) -> NoReturn:
    """Skip a test or a module because a program is missing. With KAFKA_EDU_REQUIRE_CLIENTS (in CI)
    fail instead.
    """
    if os.environ.get("KAFKA_EDU_REQUIRE_CLIENTS"):
        pytest.fail(why)
    pytest.skip(why, allow_module_level=True)


def python_package(module: str) -> None:
    """Skip a test or module where a Python package of the dependency group dev is missing."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        missing(f"{module} is not installed; it comes with the group dev: ./kafka-edu setup dev")


def tool(name: str, debian: str) -> str:
    """Return the path of a program, or skip the test."""
    found = shutil.which(name)
    if found is None:
        missing(f"needs {name} (Debian: apt-get install {debian})")
    return found


def apache_kafka_jars(version: str = VERSION) -> Path:
    """Return the folder of Apache Kafka's jars of this version, or skip the test."""
    try:
        return kafka_jars(version)
    except PeerMissing as error:
        missing(str(error))


def java_program(
    folder: str,
    main: str,
    version: str,
    artifact: str = "kafka-clients",
    without: Sequence[str] = (),
) -> tuple[str, ...]:
    """Return the command that runs `folder`/`main`.java, built with Kafka's Java client of this
    version, or with another `artifact` of Kafka. Skips the test where that is not possible.

    `without` names dependencies to leave out, as in `maven_jars`. Maven fetches the jars into a
    cache, unless KAFKA_EDU_JAVA_CLIENTS names a folder that holds a folder of jars for each
    version.
    """
    java, javac = tool("java", "default-jdk-headless"), tool("javac", "default-jdk-headless")
    given = os.environ.get("KAFKA_EDU_JAVA_CLIENTS")
    try:
        artifacts = [f"org.apache.kafka:{artifact}:{version}", "org.slf4j:slf4j-nop:1.7.36"]
        name = f"java-{artifact.removeprefix('kafka-')}-{version}"
        jars = Path(given) / version if given else maven_jars(name, artifacts, without)
    except PeerMissing as error:
        missing(str(error))
    build = built(
        folder, (javac, "-nowarn", "-cp", f"{jars}/*", "-d", version, f"{main}.java"), version
    )
    return java, "-XX:TieredStopAtLevel=1", "-cp", f"{build / version}:{jars}/*", main


def require_apache_zookeeper() -> None:
    """Skip the test where Java or ZooKeeper's jars are missing."""
    try:
        check_installed()
    except ApacheZooKeeperError as error:
        missing(str(error))


def built(folder: str, command: Sequence[str], variant: str = "") -> Path:
    """Copy the sources of `folder` into the cache, build them there with `command`, and return the
    path. The build of each variant is kept until a source changes.
    """
    sources = sorted(path for path in (HERE / folder).iterdir() if path.is_file())
    digest = hashlib.sha256(
        b"".join(path.name.encode() + path.read_bytes() for path in sources)
    ).hexdigest()[:12]
    cache = (
        Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        / "kafka-edu"
        / f"{folder}{variant}-{digest}"
    )
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another run may be building it
        if not (cache / "complete").exists():
            for path in sources:
                shutil.copy(path, cache)
            done = subprocess.run(
                command, cwd=cache, capture_output=True, text=True, timeout=BUILD_S, check=False
            )
            if done.returncode != 0:
                missing(
                    f"{' '.join(command)} in {cache} ended with {done.returncode}:"
                    f" {done.stderr[-2000:]}"
                )
            (cache / "complete").touch()
    return cache
