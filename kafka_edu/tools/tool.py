"""The common part of all tools: calls, failures, and log lines.

A tool is a function from the words of its command line to an exit code. It is also a Click command,
but only so that `kafka-edu` can find it. `kafka_edu.tools.options` parses its words, as Kafka's
tools do.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, NoReturn

import click

from kafka_edu.clients.admin import AdminTimeoutError, BootstrapAddressError
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.words import cause_of
from kafka_edu.tools.exception_names import exception_name
from kafka_edu.tools.options import (
    InvalidPropertiesError,
    NumberError,
    Option,
    OptionError,
    OptionParser,
    OptionSet,
    UsageError,
)
from kafka_edu.tools.usage import usage

#: The Java exceptions for some Python exceptions, by the Python exception's name.
#:
#: Names are used because a tool imports the modules with these exceptions only when it needs them.
_OTHER_JAVA_CLASSES: Final = {
    "AdminOperationError": "kafka.admin.AdminOperationException",
    "ConfigException": "org.apache.kafka.common.config.ConfigException",
}


class ToolError(Exception):
    """A failure of a tool, with the Java exception that Kafka's tool would show for it.

    An example of such an exception is `kafka.admin.AdminOperationException`.
    """

    def __init__(self, java_class: str, message: str) -> None:
        super().__init__(message)
        self.java_class = java_class


def illegal_argument(message: str) -> ToolError:
    return ToolError("java.lang.IllegalArgumentException", message)


def admin_operation(message: str) -> ToolError:
    return ToolError("kafka.admin.AdminOperationException", message)


def command_failed(message: str) -> ToolError:
    return ToolError("kafka.common.AdminCommandFailedException", message)


#: The exceptions for failures between a tool and brokers.
BROKER_FAILURES: Final = (AdminTimeoutError, BootstrapAddressError, KafkaException, OSError)


def failures() -> tuple[type[Exception], ...]:
    """Return the exceptions that a tool for ZooKeeper and brokers reports as failures."""
    from kafka_edu.common.config_def import ConfigException
    from kafka_edu.server.admin.admin_zk_client import AdminOperationError
    from kafka_edu.zk.zk_client import ZkError

    return (
        ToolError,
        AdminTimeoutError,
        BootstrapAddressError,
        NumberError,
        OptionError,
        KafkaException,
        ConfigException,
        AdminOperationError,
        ZkError,
        OSError,
    )


def java_class(error: Exception) -> str:
    """Return the name of the Java exception that corresponds to `error`."""
    from kafka_edu.zk.zk_client import ZkError

    match error:
        case ToolError():
            return error.java_class
        case AdminTimeoutError():
            return "org.apache.kafka.common.errors.TimeoutException"
        case BootstrapAddressError():
            return "org.apache.kafka.common.config.ConfigException"
        case KafkaException():
            return exception_name(error.error)
        case OptionError():
            return f"joptsimple.{error.kind}Exception"
        case NumberError():
            return "java.lang.NumberFormatException"
        case TimeoutError():
            return exception_name(Errors.REQUEST_TIMED_OUT)
        case ZkError():
            from kafka_edu.tools.keeper_exceptions import exception_class

            return exception_class(error)
        case _:
            return _OTHER_JAVA_CLASSES.get(type(error).__name__, "java.io.IOException")


def text_of(error: Exception) -> str:
    """Return the error's message without its error code."""
    from kafka_edu.zk.zk_client import ZkError

    match error:
        case KafkaException():
            return error.message
        case ZkError():
            from kafka_edu.tools.keeper_exceptions import message

            return message(error)
        case OSError(filename=str(name)):
            return f"{name}: {cause_of(error)}"
        case OSError():
            return cause_of(error)
        case _:
            return str(error)


def log_error(message: str, logger: str) -> None:
    log_line("ERROR", message, logger)


def log_line(level: str, message: str, logger: str) -> None:
    """Write a log line to standard error in the form of Kafka's tools.

    As with config/tools-log4j.properties, only levels from WARN on are written.
    """
    now = datetime.now()
    sys.stderr.write(
        f"[{now:%Y-%m-%d %H:%M:%S},{now.microsecond // 1000:03}] {level} {message} ({logger})\n"
    )


def warn_of_gaps(found: Iterable[object]) -> None:
    """Print the settings that do not have their full effect.

    The lines go to standard error, because Kafka's tools do not print them.
    """
    for met in found:
        sys.stderr.write(f"WARNING: on kafka-edu's brokers {met}.\n")


class ToolCommand(click.Command):
    """A Click command that passes the words after its name to `run` unchanged."""

    def __init__(self, name: str, run: Callable[[Sequence[str]], int], help_line: str) -> None:
        super().__init__(name, help=help_line, add_help_option=False)
        self._run = run

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.args = list(args)
        return []

    def invoke(self, ctx: click.Context) -> NoReturn:
        raise click.exceptions.Exit(self._run(ctx.args))


def run_tool(
    parser: OptionParser, words: Sequence[str], run: Callable[[], int], purpose: str
) -> int:
    """Run a tool and return its exit code.

    For a wrong command line, print the same as Kafka's tools and return 1. `--help` shows the
    options, as Kafka's tools do since 2.4.
    """
    if "--help" in words:
        sys.stdout.write(f"{purpose}\n{usage(parser)}")
        return 0
    try:
        return run()
    except UsageError as wrong:
        sys.stderr.write(f"{wrong}\n{usage(parser)}")
    except InvalidPropertiesError as wrong:
        sys.stderr.write(f"{wrong}\n")
    except (*BROKER_FAILURES, OptionError, NumberError, ToolError) as failed:
        sys.stderr.write(f'Exception in thread "main" {java_class(failed)}: {text_of(failed)}\n')
    return 1


def read_text_file(path: str) -> str:
    """Read a text file. Raises ToolError(FileNotFoundException).

    Bytes that are not UTF-8 become U+FFFD, as in Java.
    """
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise ToolError("java.io.FileNotFoundException", f"{path} ({error.strerror})") from None


def load_properties(path: str) -> dict[str, str]:
    """Read a .properties file. Raises ToolError.

    --command-config, --producer.config and --consumer.config name such files.
    """
    from kafka_edu.server.config.properties_file import parse_properties

    try:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        raise ToolError("java.nio.file.NoSuchFileException", path) from None
    except PermissionError:
        raise ToolError("java.nio.file.AccessDeniedException", path) from None
    except OSError as error:
        raise ToolError("java.io.IOException", f"{path}: {cause_of(error)}") from None
    return {key: setting.value for key, setting in parse_properties(text).items()}


def properties_of(given: OptionSet, file: Option[str]) -> dict[str, str]:
    """Return the contents of the .properties file that an option names. Raises ToolError.

    Without the option, return an empty dictionary.
    """
    path = given.value(file)
    return load_properties(path) if path else {}
