"""Run the jobs of a chapter on its cluster, and emit events about them.

The command is `chapter NN --job NAME`. The presenter starts `chapter NN --jobs` once and writes the
names of the jobs to its standard input, because Spark takes seconds to start. A job ends when it is
done, or when the next name comes. The process ends when its standard input is closed.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Final

import click

from kafka_edu.cli.client_trace import NoClientNumber, client_trace
from kafka_edu.instruments.sentences import sentence
from kafka_edu.supervisor.cluster import attach
from kafka_edu.trace.event import Event

from .chapter import Chapter, JobPlace

#: How many seconds a job may take to end after the presentation has ended.
END_S: Final = 10.0


def run_job(chosen: Chapter, name: str, cluster: str) -> None:
    """Run one job by hand, and print what happens.

    The first Ctrl-C stops the job; a second Ctrl-C ends the process at once.
    """
    stop = threading.Event()

    def interrupted(number: int, frame: FrameType | None) -> None:
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, interrupted)
    with _opened(chosen, cluster, stop.is_set, aloud=True) as run:
        if not stop.is_set():
            run(name)


def run_jobs(chosen: Chapter, cluster: str) -> None:
    """Run the jobs whose names come on standard input, until it is closed."""
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    ended = threading.Event()
    threading.Thread(target=_read_names, args=(names, ended), daemon=True).start()
    with _opened(chosen, cluster, lambda: not names.empty(), aloud=False) as run:
        while name := names.get():
            run(name)
    ended.set()


def _read_names(names: "queue.SimpleQueue[str]", ended: threading.Event) -> None:
    """Put the job names from standard input into the queue, and an empty name at the end.

    The current job ends at the empty name. A job that waits for a cluster that is gone would
    never end: after END_S seconds the process ends, and the JVM with it.
    """
    for line in sys.stdin:
        names.put(line.strip())
    names.put("")
    if not ended.wait(END_S):
        os._exit(1)


@contextlib.contextmanager
def _opened(
    chosen: Chapter, cluster: str, another_waits: Callable[[], bool], *, aloud: bool
) -> Iterator[Callable[[str], None]]:
    with contextlib.closing(attach(cluster)) as attached:
        servers, folder = attached.bootstrap_servers, attached.folder
    with contextlib.ExitStack() as stack:
        try:
            trace = stack.enter_context(client_trace(folder))
        except NoClientNumber as error:
            raise click.ClickException(str(error)) from error

        def say(event: Event) -> None:
            trace.emit(event)
            if aloud:
                click.echo(sentence(event).line)

        place = JobPlace(servers, folder.path / "jobs", say, another_waits, cluster, trace.run)
        yield stack.enter_context(chosen.open_jobs(place))
