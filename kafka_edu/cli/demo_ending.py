"""Explain the end of a demo that cannot continue: what happened, why, and what the user can do.

`ends_in_sentences` handles the errors that do not come from a bug: a cluster that does not start, a
client that gives up, a full disk, Ctrl-C. Every other error is a bug of the demo. It is not caught,
and its traceback shows where the bug is.
"""

import contextlib
import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Final, NamedTuple

import click

from kafka_edu.cli.progress import Standstill
from kafka_edu.clients.admin import AdminTimeoutError
from kafka_edu.clients.client_errors import TimeoutException
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.java import NoJavaError
from kafka_edu.common.maven_jars import PeerMissing
from kafka_edu.common.package_group import PackageGroupError
from kafka_edu.common.python_process import command_line
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.wire_format import TraceFormatError

HEADINGS: Final = ("What happened", "Why", "What to do")
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_TOO_MANY_FILES: Final = frozenset({errno.EMFILE, errno.ENFILE})


class Failure(NamedTuple):
    """The reason why a demo could not continue, and what the user can do about it."""

    why: str
    what_to_do: str


def _known_errors() -> tuple[type[BaseException], ...]:
    """Return the exception classes that are not bugs of the demo.

    Classes of client libraries are included only if the library has been imported.
    """
    found: list[type[BaseException]] = [
        ClusterError,
        AdminTimeoutError,
        KafkaException,
        OSError,
        subprocess.SubprocessError,
        PackageGroupError,
        NoJavaError,
        PeerMissing,
        TraceFormatError,
    ]
    for module, name in (
        ("confluent_kafka", "KafkaException"),
        ("kafka.errors", "KafkaError"),
        ("kafka_edu.spark.java_gateway", "SparkStartError"),
        ("kafka_edu.spark.web_log_topic", "TopicNotFilled"),
        ("pyspark.errors", "PySparkException"),
        ("py4j.protocol", "Py4JError"),
    ):
        error = vars(sys.modules[module]).get(name) if module in sys.modules else None
        if isinstance(error, type) and issubclass(error, BaseException):
            found.append(error)
    return tuple(found)


def failure_of(error: BaseException, name: str) -> Failure:
    """Return why the demo `name` ended with this error, and what the user can do.

    The error has one of the types that `_known_errors` returns.
    """
    again = command_line(f"demo {name}")
    match error:
        case Standstill(full_disk=folder) if folder:
            return _no_space(folder, again)
        case ClusterError() if os.strerror(errno.ENOSPC) in str(error):
            return _no_space(tempfile.gettempdir(), again)
        case Standstill():
            return Failure(
                "A step of the demo made no progress: a process hangs, or something was lost. A"
                " busy machine is not the reason, because the time without a core does not count.",
                f"Run it again: {again}. If it ends at the same place, it is a fault of kafka-edu:"
                " please report it with these lines.",
            )
        case OSError() if error.errno in _FULL:
            return _no_space(str(error.filename or tempfile.gettempdir()), again)
        case OSError() if error.errno in _TOO_MANY_FILES:
            return Failure(
                "A process has reached its limit of open files.",
                f"Raise the limit with `ulimit -n 4096`, and run {again} in the same terminal.",
            )
        case PackageGroupError() | PeerMissing() | NoJavaError():
            return Failure(
                "The demo needs a program that is not installed here.",
                f"{command_line('doctor')} shows what is missing. Then run {again}.",
            )
        case TimeoutError() | AdminTimeoutError() | TimeoutException():
            return Failure(
                "A process did not answer in time. It hangs, or the machine is very busy.",
                f"Stop other programs on this machine, and run {again}.",
            )
        case subprocess.SubprocessError():
            return Failure(
                "A program that the demo runs failed or did not end.",
                f"{command_line('doctor')} checks this machine. Then run {again}.",
            )
        case ClusterError():
            return Failure(
                "The demo's cluster or one of its clients did not do what the demo needs.",
                f"{command_line('doctor')} checks this machine. Then run {again}.",
            )
    return Failure(
        f"A client or a system call failed with a {type(error).__name__}.",
        f"Run it again: {again}. {command_line('doctor')} checks this machine.",
    )


def _no_space(place: str, again: str) -> Failure:
    return Failure(
        f"There is no space left on the disk of {place}.",
        f"Free some space there, or set TMPDIR to a folder on another disk. Then run {again}.",
    )


@contextlib.contextmanager
def ends_in_sentences(name: str) -> Iterator[None]:
    """If the block fails with a known error, end the demo `name` with three sentences and exit code
    1.

    After Ctrl-C the sentences are printed too. After them, KeyboardInterrupt is raised again,
    because the command line has its own exit code for Ctrl-C.
    """
    try:
        yield
    except KeyboardInterrupt:
        _say(
            f"You stopped the demo {name} before its end.",
            "Ctrl-C ends a demo with all its processes, and removes their files.",
            f"Run it again when you like: {command_line(f'demo {name}')}.",
        )
        raise
    except _known_errors() as error:
        text = str(error) or type(error).__name__
        _say(f"The demo {name} could not continue: {text}", *failure_of(error, name))
        raise SystemExit(1) from error


def _say(*sentences: str) -> None:
    for heading, text in zip(HEADINGS, sentences, strict=True):
        click.echo(f"{heading}: {text}", err=True)
