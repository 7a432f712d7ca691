"""The jobs of chapter 09: take broker 2's log dir away, and put it back.

    lose-dir    renames the log dir, and puts a file in its place
    repair      removes the file, and gives the log dir its name again

Both may be repeated. They change nothing but these two names.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kafka_edu.supervisor.cluster import attach
from kafka_edu.trace.events.spark import JobStarted

from ..chapter import JobPlace

JOBS: Final[Mapping[str, str]] = {
    "lose-dir": "replace the log dir of broker 2 by a file",
    "repair": "put broker 2's log dir back",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()

BROKER: Final = 2


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    (log_dir,) = attach(place.cluster).log_dirs(BROKER)
    jobs: Mapping[str, Callable[[Path], None]] = {"lose-dir": lose, "repair": repair}

    def run(name: str) -> None:
        jobs[name](log_dir)
        place.emit(JobStarted(job=name))  # now broker 2 may start

    yield run


def aside(log_dir: Path) -> Path:
    """Return the name that a log dir has while a file replaces it."""
    return log_dir.with_name(f"{log_dir.name}-aside")


def lose(log_dir: Path) -> None:
    """Rename the log dir, and put a file in its place."""
    if log_dir.is_dir():
        log_dir.rename(aside(log_dir))
        log_dir.write_text("a file where a log dir should be\n", encoding="utf-8")


def repair(log_dir: Path) -> None:
    """Remove the file, and give the log dir its old name back."""
    if aside(log_dir).is_dir():
        log_dir.unlink(missing_ok=True)
        aside(log_dir).rename(log_dir)
