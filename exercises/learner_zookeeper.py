"""The project's own ZooKeeper, with one part replaced by the learner's code.

    python -m exercises.learner_zookeeper 05-2=/home/me/lab/05-2/session_tracker.py --port 0 …

The other arguments are those of `kafka_edu.zk.embedded.main`.
"""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import ZOOKEEPER, LearnerError, install
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.trace_client import EventsAddress


@contextmanager
def learner_zookeeper(exercise: str, file: Path | None) -> Iterator[tuple[str, EventsAddress]]:
    """Run a ZooKeeper for the length of a `with` block, with the learner's `file`.

    If `file` is None, it runs the course's own code. Yield the ZooKeeper's address, and the address
    of its events. Raises ClusterError.
    """
    with tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as folder:
        events = Path(folder) / "events"
        process = subprocess.Popen(
            python_command(
                __spec__.name if __spec__ is not None else __name__,
                f"{exercise}={file.absolute()}" if file is not None else "",
                *("--port", "0", "--data-dir", folder, "--no-fsync", "--events-file", str(events)),
            ),
            env=python_environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            ready = process.stdout.readline().split()
            if ready[:1] != ["ready"]:
                assert process.stderr is not None
                raise ClusterError(process.stderr.read().strip() or "ZooKeeper did not start")
            yield f"127.0.0.1:{ready[1]}", EventsAddress.read(str(events))
        finally:
            process.kill()
            process.communicate()


def main() -> int:
    """Install the learner's code, and then run ZooKeeper. Return the exit code."""
    spec, *arguments = sys.argv[1:]
    try:
        codes = install(spec, ZOOKEEPER)
    except (ValueError, LearnerError) as error:
        print(f"ZooKeeper cannot start: {error}", file=sys.stderr)
        return 1
    from kafka_edu.zk.embedded.main import main as serve  # only now: its modules are replaced

    try:
        return serve(arguments, lambda tracer: trace_learner(codes, tracer))
    finally:
        for code in codes:
            code.close()


if __name__ == "__main__":
    sys.exit(main())
