"""Run the jobs of a chapter on its cluster, and emit events of them: `chapter NN --job NAME`.

The presenter starts `chapter NN --jobs` once and writes the names of the jobs to it, because what
they need (Spark) takes seconds to start. A job ends when it is done, or when the next name comes.
The process ends with its standard input.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Iterator

import click

from kafka_edu.cli.client_trace import TooManyClients, client_trace
from kafka_edu.instruments.sentences import sentence
from kafka_edu.supervisor.cluster import attach
from kafka_edu.trace.event import Event

from .chapter import Chapter, JobPlace


def run_job(chosen: Chapter, name: str, cluster: str) -> None:
    """Run one job by hand, and say what happens. Ctrl-C ends it."""
    with _opened(chosen, cluster, lambda: False, aloud=True) as run:
        run(name)


def run_jobs(chosen: Chapter, cluster: str) -> None:
    """Run the jobs whose names come on standard input, until it is closed."""
    names: queue.SimpleQueue[str] = queue.SimpleQueue()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=_read_names, args=(names,), daemon=True).start()
    with (
        contextlib.suppress(KeyboardInterrupt),  # standard input was closed
        _opened(chosen, cluster, lambda: not names.empty(), aloud=False) as run,
    ):
        while True:
            run(names.get())


def _read_names(names: "queue.SimpleQueue[str]") -> None:
    for line in sys.stdin:
        names.put(line.strip())
    os.kill(os.getpid(), signal.SIGINT)  # Spark's driver stops its job at Ctrl-C


@contextlib.contextmanager
def _opened(
    chosen: Chapter, cluster: str, another_waits: Callable[[], bool], *, aloud: bool
) -> Iterator[Callable[[str], None]]:
    with contextlib.closing(attach(cluster)) as attached:
        servers, folder = attached.bootstrap_servers, attached.folder
    with contextlib.ExitStack() as stack:
        try:
            emit = stack.enter_context(client_trace(folder))
        except (TooManyClients, OSError) as error:
            raise click.ClickException(str(error)) from error

        def say(event: Event) -> None:
            emit(event)
            if aloud:
                click.echo(sentence(event).line)

        place = JobPlace(servers, folder.path / "jobs", say, another_waits)
        yield stack.enter_context(chosen.open_jobs(place))
