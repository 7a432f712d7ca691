"""Download Java programs of other projects with Maven, once, into the user's cache.

This project itself contains no files of these programs.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path


class PeerMissing(Exception):
    """A Java program of another project cannot run on this machine.

    The text says what to install.
    """


def require_java() -> None:
    if shutil.which("java") is None:
        raise PeerMissing(
            "Apache Kafka and Maven need Java 8 or later on the PATH (Debian: apt-get install"
            " default-jre-headless)"
        )


def maven_jars(name: str, artifacts: Sequence[str], without: Sequence[str] = ()) -> Path:
    """Return a folder with these artifacts (group:artifact:version) and all their dependencies.

    `without` names dependencies to leave out, as group:artifact, where * stands for any name. Maven
    downloads the jars the first time (Apache Kafka's are 40 MB). Raises PeerMissing if there is no
    Java or no Maven, or if Maven cannot download a jar.
    """
    require_java()
    cache = _cache(name)
    if not _is_complete(cache):
        if shutil.which("mvn") is None:
            raise PeerMissing(
                f"{', '.join(artifacts)} are fetched by Maven (mvn), which is not installed"
                " (Debian: apt-get install maven)"
            )
        with _alone():
            if not _is_complete(cache):  # another process may have downloaded them meanwhile
                _fetch(cache, artifacts, without)
    return cache / "jars"


def _fetch(cache: Path, artifacts: Sequence[str], without: Sequence[str]) -> None:
    exclusions = "".join(
        "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(
            *one.split(":")
        )
        for one in without
    )
    wanted = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version>".format(
            *artifact.split(":")
        )
        + f"<exclusions>{exclusions}</exclusions></dependency>"
        for artifact in artifacts
    )
    head = "<modelVersion>4.0.0</modelVersion><groupId>peer</groupId><artifactId>peer</artifactId><version>1</version>"  # noqa: E501
    cache.mkdir(parents=True, exist_ok=True)
    (cache / "pom.xml").write_text(
        "<project"
        f' xmlns="http://maven.apache.org/POM/4.0.0">{head}<dependencies>{wanted}</dependencies></project>'
    )
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        str(cache / "pom.xml"),
        "dependency:copy-dependencies",
        f"-DoutputDirectory={cache / 'jars'}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PeerMissing(
            f"Maven cannot fetch {', '.join(artifacts)}: {first_error(done.stdout + done.stderr)}"
        )
    (cache / "complete").touch()


def first_error(output: str) -> str:
    """Return the first error that Maven printed, as one line of at most 300 characters."""
    errors = [
        line.partition("[ERROR]")[2].strip() for line in output.splitlines() if "[ERROR]" in line
    ]
    found = next(filter(None, errors), " ".join(output.split()) or "it said nothing")
    return found if len(found) <= 300 else f"{found[:297]}..."


def compiled(source: Path, jars: Path) -> Path:
    """Compile one Java source with the classes in `jars`.

    Return the folder with its compiled classes. The folder is in the user's cache. The source is
    compiled again only if it has changed. Raises PeerMissing.
    """
    if shutil.which("javac") is None:
        raise PeerMissing(
            f"{source.name} needs a Java compiler, javac, on the PATH (Debian: apt-get install"
            " default-jdk-headless)"
        )
    digest = hashlib.sha256(source.read_bytes() + str(jars).encode()).hexdigest()[:12]
    folder = _cache(f"{source.stem.lower()}-{digest}")
    if not _is_complete(folder):
        with _alone():
            if not _is_complete(folder):
                subprocess.run(
                    ["javac", "-nowarn", "-cp", f"{jars}/*", "-d", str(folder), str(source)],
                    check=True,
                )
                (folder / "complete").touch()
    return folder


def _cache(name: str) -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-edu" / name


def is_fetched(name: str) -> bool:
    """Return whether the jars of this name are in the cache."""
    return _is_complete(_cache(name))


def _is_complete(folder: Path) -> bool:
    return (folder / "complete").exists()


@contextlib.contextmanager
def _alone() -> Iterator[None]:
    """Let only one process at a time run the block, because two processes cannot share Maven's
    store.
    """
    lock = _cache("lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield
