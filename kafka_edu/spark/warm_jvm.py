"""Keep a JVM for Spark's labs, and clean it between two users.

A user is a Python process that attaches to the JVM by PYSPARK_GATEWAY_PORT and
PYSPARK_GATEWAY_SECRET, and makes a SparkContext in it. The process is usually killed at its end, so
its SparkContext is left in the JVM. `clean` stops it, from a connection of our own. It also sets
back all that a job can change in a JVM for later jobs: Java's system properties (from which a new
SparkConf gets its settings), the time zone, the language, and the file systems that Hadoop keeps
open. A setting of a session or of a SparkContext ends with that SparkContext.

The JVM's compiled code stays, and this is what makes the next job fast.
"""

import os
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


class JavaDefaults:
    """The settings of a whole JVM: its system properties, its time zone and its language."""

    def __init__(self, jvm: Any) -> None:
        """Remember them. `jvm` is py4j's view of the JVM, which has no types."""
        self._java = jvm.java
        self._properties = self._java.lang.System.getProperties().clone()
        self._time_zone = self._java.util.TimeZone.getDefault()
        self._locale = self._java.util.Locale.getDefault()

    def restore(self) -> None:
        """Set them as they were."""
        self._java.lang.System.setProperties(self._properties.clone())
        self._java.util.TimeZone.setDefault(self._time_zone)
        self._java.util.Locale.setDefault(self._locale)


class WarmJvm:
    """A running JVM, with a connection of our own to it."""

    def __init__(self, started: JavaProcess, gateway: Any) -> None:
        """`gateway` is py4j's JavaGateway, which has no types. It must not use its memory
        management: `clean` removes all that is not needed.
        """
        self.address = started
        self._gateway = gateway
        self._closing = threading.Lock()
        self._closed = False
        self._defaults = JavaDefaults(gateway.jvm)
        self._kept = list(self._bindings().keySet())

    @property
    def pid(self) -> int:
        return self.address.process.pid

    def clean(self) -> None:
        """Stop what a user has left in the JVM, and set back what it has changed.

        Raises py4j's errors if the JVM has ended or ends meanwhile. It may also wait for ever, if
        the JVM hangs: the caller ends the JVM then.
        """
        self._stop_context()
        while self._connections().size() > 1:  # a user's thread may be making a SparkContext
            self._stop_context()
            time.sleep(LOOK_EVERY_S)  # nothing would report its end
        self._stop_context()
        self._gateway.jvm.org.apache.hadoop.fs.FileSystem.closeAll()
        self._defaults.restore()
        self._bindings().keySet().retainAll(self._kept)

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
        """Return Java's map of the objects that Python processes refer to. Those of a killed
        process would stay for ever.
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


def start_warm_jvm(folder: Path) -> WarmJvm:
    """Start a JVM, and connect to it. Relative paths in it are below `folder`, unless a job sets
    the property user.dir.

    Raises SparkStartError if the JVM does not start.
    """
    from pyspark.java_gateway import GatewayParameters, JavaGateway

    os.chdir(folder)
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
    return WarmJvm(started, gateway)
