"""The classes of Kafka's tools in an archive that Java maps at its start.

The interop suites start Kafka's Java tools some hundred times. A start spends nearly all of its
time on loading classes. Java 13 and later can write the classes of one run to a file, and map that
file in later runs (JEP 350): a start with such a file needs only about two thirds of the processor
time.
"""

import functools
import hashlib
import os
import subprocess
from pathlib import Path
from typing import Final

_TIMEOUT_S: Final = 120
#: A tool that uses most of what the tools share. Nobody listens at port 9, so it soon gives up.
_TOOL: Final = (
    "kafka.admin.ConsumerGroupCommand",
    "--bootstrap-server",
    "127.0.0.1:9",
    "--list",
    "--timeout",
    "100",
)


@functools.cache
def archive_options(java: tuple[str, ...], jars: Path) -> tuple[str, ...]:
    """Return the options that map the archive of these jars, for the Java of the command `java`.

    The first call makes the archive next to the folder of the jars, and later calls find it. For a
    Java that cannot make an archive, no options are returned.
    """
    version = subprocess.run(
        [*java, "-Xinternalversion"], capture_output=True, text=True, timeout=_TIMEOUT_S, check=True
    ).stdout
    name = hashlib.sha256(f"{version}{java}{sorted(jars.iterdir())}".encode()).hexdigest()[:12]
    archive = jars.parent / f"classes-{name}.jsa"
    if not archive.exists():
        made = archive.with_suffix(f".{os.getpid()}")
        # the tool itself fails, and a Java before 13 does not know the option
        subprocess.run(
            [
                *java,
                "-Xlog:disable",
                f"-XX:ArchiveClassesAtExit={made}",
                "-cp",
                f"{jars}/*",
                *_TOOL,
            ],
            capture_output=True,
            timeout=_TIMEOUT_S,
        )
        if not made.exists():
            return ()
        made.replace(archive)
    return ("-Xlog:disable", f"-XX:SharedArchiveFile={archive}")
