"""Keep a JVM for Spark's labs, and clean it between two users.

A user is a Python process that attaches to the JVM by PYSPARK_GATEWAY_PORT and
PYSPARK_GATEWAY_SECRET, and makes a SparkContext in it. The process is usually killed at its end, so
its SparkContext is left in the JVM. `clean` stops this SparkContext, over its own connection. It
also resets everything that a job can change in a JVM for later jobs: Java's system properties (from
which a new SparkConf gets its settings), the time zone, the language, and the file systems that
Hadoop keeps open. Settings of a session or a SparkContext need no reset, because they end with the
SparkContext. The Python workers of the JVM run in a separate folder, and `clean` empties it.

The JVM's compiled code stays, and this is what makes the next job fast.
"""

import os
import shutil
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from kafka_edu.common.busy_machine import Allowance
from kafka_edu.spark.java_gateway import JavaProcess, start_java_process
from kafka_edu.spark.start_limit import StartLimit

CLEANING: Final = Allowance(processor_s=60.0, idle_s=15.0, clock_s=60.0)
"""The limits of one cleaning. A quiet machine needs 0.3 s."""
LOOK_EVERY_S: Final = 0.02
LOADED_ONCE: Final = "spark.kafka.producer.cache.timeout"
"""A setting that Spark's own Kafka connector declares when its classes are loaded. Each
SparkContext loads the jars of its job again. A second declaration of the same setting would be an
error in Spark.
"""
WORK: Final = "work"
"""The folder in which the JVM and its Python workers run. It has no files of the service."""


class JavaDefaults:
    """The settings of a whole JVM: its system properties, its time zone and its language."""

    def __init__(self, jvm: Any) -> None:
        """Remember the current settings. `jvm` is py4j's view of the JVM, which has no types."""
        self._java = jvm.java
        self._properties = self._java.lang.System.getProperties().clone()
        self._time_zone = self._java.util.TimeZone.getDefault()
        self._locale = self._java.util.Locale.getDefault()

    def restore(self) -> None:
        """Restore the remembered settings."""
        self._java.lang.System.setProperties(self._properties.clone())
        self._java.util.TimeZone.setDefault(self._time_zone)
        self._java.util.Locale.setDefault(self._locale)


class UsedUpError(Exception):
    """A part of the JVM's state cannot be removed, and would make a later job fail."""


class WarmJvm:
    """A running JVM, with this process's own connection to it."""

    def __init__(self, started: JavaProcess, gateway: Any, work: Path) -> None:
        """`gateway` is py4j's JavaGateway, which has no types. Its memory management must be off,
        because `clean` removes all objects that are not needed. `work` is the folder in which the
        JVM runs.
        """
        self.address = started
        self._gateway = gateway
        self._work = work
        self._closing = threading.Lock()
        self._closed = False
        self._defaults = JavaDefaults(gateway.jvm)
        self._kept = list(self._bindings().keySet())

    @property
    def pid(self) -> int:
        return self.address.process.pid

    def clean(self) -> None:
        """Stop everything that a user has left in the JVM, and reset everything that the user has
        changed.

        Raises UsedUpError if a job has loaded Spark's own connector for Kafka: a second job with
        this connector would fail in this JVM. Raises py4j's errors if the JVM has ended or ends
        now, and OSError if its folder cannot be emptied. If the JVM hangs, this method waits for
        ever, and the caller must end the JVM.
        """
        self._stop_context()
        while self._connections().size() > 1:  # a user's thread may be making a SparkContext
            self._stop_context()
            time.sleep(LOOK_EVERY_S)  # nothing would report its end
        self._stop_context()
        settings = getattr(self._gateway.jvm.org.apache.spark.internal.config, "ConfigEntry$")
        if getattr(settings, "MODULE$").findEntry(LOADED_ONCE) is not None:
            raise UsedUpError("a job has loaded Spark's own connector, which can be done only once")
        self._gateway.jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        self._defaults.restore()
        self._bindings().keySet().retainAll(self._kept)
        empty(self._work)

    def _stop_context(self) -> None:
        companion = getattr(self._gateway.jvm.org.apache.spark, "SparkContext$")
        active = getattr(companion, "MODULE$").getActive()
        if active.isDefined():
            active.get().stop()

    def _connections(self) -> Any:
        """Return Java's list of py4j's connections. Ours is one of them."""
        server = self._gateway.java_gateway_server
        field = server.getClass().getSuperclass().getDeclaredField("connections")
        field.setAccessible(True)
        return field.get(server)

    def _bindings(self) -> Any:
        """Return Java's map of the objects that Python processes refer to. Objects of a killed
        process would stay in this map for ever.
        """
        return self._gateway.java_gateway_server.getGateway().getBindings()

    def limit(self) -> StartLimit:
        """Return a limit for one cleaning, from now on."""
        return StartLimit([self.pid], CLEANING)

    def lent(self) -> Mapping[str, object]:
        """Return what a user needs to reach the JVM."""
        return {"jvm": self.pid, "port": self.address.port, "secret": self.address.secret}

    def wait(self) -> int:
        """Wait until the JVM has ended, and return its exit code."""
        return self.address.process.wait()

    def kill(self) -> None:
        """End the JVM at once. It may have ended already."""
        self.address.process.kill()
        self.address.process.wait()
        with self._closing:
            if not self._closed:
                self._closed = True
                os.close(self.address.pipe)


def empty(folder: Path) -> None:
    """Remove everything in the current folder of this process, which must be `folder`. Raises
    OSError if a job has moved or deleted that folder, because the JVM cannot run in it any more.
    """
    if not os.path.samefile(folder, "."):
        raise FileNotFoundError(f"{folder} is not the folder any more in which the JVM runs")
    folder.chmod(0o700)
    for found in list(folder.iterdir()):
        remove(found)


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content, even if the owner has no right to read it now.
    Raises OSError.
    """
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    path.chmod(0o700)
    for place, names, _ in os.walk(path):
        for inner in (Path(place, name) for name in names):
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(path)


def start_warm_jvm(folder: Path) -> WarmJvm:
    """Start a JVM, and connect to it. The JVM runs in `folder`/work, which is created again for
    each JVM. Relative paths are below it, unless a job sets the property user.dir.

    Raises SparkStartError if the JVM does not start, and OSError.
    """
    from pyspark.java_gateway import GatewayParameters, JavaGateway

    work = folder / WORK
    remove(work)
    work.mkdir(mode=0o700)
    os.chdir(work)
    started = start_java_process(with_home=False)
    gateway = JavaGateway(
        gateway_parameters=GatewayParameters(
            address="127.0.0.1",
            port=started.port,
            auth_token=started.secret,
            auto_convert=True,
            enable_memory_management=False,
        )
    )
    return WarmJvm(started, gateway, work)
