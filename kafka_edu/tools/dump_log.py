"""Show the contents of a log's files (Kafka: kafka.tools.DumpLogSegments).

The files are segments, indexes and producer snapshots.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from kafka_edu.common.errors import KafkaException
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.tools.dump_log_decoders import (
    STRING_DECODER,
    decoder,
    parse_by,
    parse_offsets,
    parse_transaction_log,
)
from kafka_edu.tools.dump_log_segments import (
    DEFAULT_MAX_MESSAGE_BYTES,
    CannotDump,
    DumpError,
    DumpLogSegments,
    DumpOptions,
    ParseRecord,
    mapped,
)
from kafka_edu.tools.explain_log import ExplainError, size_or_null, text_or_null
from kafka_edu.tools.explain_log import explain as explain_file
from kafka_edu.tools.explained_lines import text_of


def _parser(
    key_decoder: str | None, value_decoder: str | None, offsets: bool, transaction_log: bool
) -> ParseRecord:
    if offsets:
        return parse_offsets
    if transaction_log:
        return parse_transaction_log
    return parse_by(
        decoder(key_decoder or STRING_DECODER), decoder(value_decoder or STRING_DECODER)
    )


def _lines(dump: DumpLogSegments, files: list[str]) -> Iterator[str]:
    for path in files:
        try:
            yield from dump.dump(path)
        except CannotDump as error:
            sys.stdout.flush()
            click.echo(str(error), err=True)


def _explained(
    options: DumpOptions, show: bool, files: list[str], offset: int | None
) -> Iterator[str]:
    """Yield the lines of --explain."""
    for path in files:
        yield f"Explaining {path}"
        try:
            with mapped(path) as data:
                for line in explain_file(
                    path,
                    data,
                    deep=options.deep,
                    show=text_or_null if show else size_or_null,
                    offset=offset,
                ):
                    yield from text_of(line)
        except ExplainError as error:
            sys.stdout.flush()
            click.echo(str(error), err=True)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Turn errors about the files into a ClickException."""
    try:
        yield
    except (DumpError, CorruptIndexError) as error:
        raise click.ClickException(str(error)) from error
    except KafkaException as error:
        raise click.ClickException(error.message) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename} ({error.strerror})") from error


def _checked(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines. If a line cannot be made, raise an error with a message for the user. An
    OSError of the caller, when it writes a line, is not changed.
    """
    with _errors_as_messages():
        yield from lines


@click.command()
@click.option(
    "--files",
    metavar="FILE1,FILE2,...",
    help="REQUIRED: The comma separated list of data and index log files to be dumped.",
)
@click.option(
    "--print-data-log", is_flag=True, help="Show keys and values too. Any decoder option sets it."
)
@click.option(
    "--deep-iteration",
    is_flag=True,
    help="A line for each record, not for each batch. --print-data-log sets it.",
)
@click.option(
    "--verify-index-only", is_flag=True, help="Check indexes against the log, without showing them."
)
@click.option(
    "--index-sanity-check",
    is_flag=True,
    help="Check indexes as a broker does when it starts, without showing them.",
)
@click.option(
    "--max-message-size",
    type=int,
    default=DEFAULT_MAX_MESSAGE_BYTES,
    show_default=True,
    help="Size of the largest message.",
)
@click.option(
    "--key-decoder-class",
    metavar="CLASS",
    is_flag=False,
    flag_value=STRING_DECODER,
    help=f"How keys are read; default {STRING_DECODER}.",
)
@click.option(
    "--value-decoder-class",
    metavar="CLASS",
    is_flag=False,
    flag_value=STRING_DECODER,
    help=f"How values are read; default {STRING_DECODER}.",
)
@click.option("--offsets-decoder", is_flag=True, help="The log is one of __consumer_offsets.")
@click.option(
    "--transaction-log-decoder", is_flag=True, help="The log is one of __transaction_state."
)
@click.option("--skip-record-metadata", is_flag=True, help="Of each record only key and value.")
@click.option(
    "--explain",
    is_flag=True,
    help="Say what each byte is. --deep-iteration explains records too, --print-data-log shows"
    " their keys and payloads as text. Not in Kafka.",
)
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    metavar="N",
    help="With --explain: only the batch, or the index entry, for this offset.",
)
def dump_log(
    files: str | None,
    print_data_log: bool,
    deep_iteration: bool,
    verify_index_only: bool,
    index_sanity_check: bool,
    max_message_size: int,
    key_decoder_class: str | None,
    value_decoder_class: str | None,
    offsets_decoder: bool,
    transaction_log_decoder: bool,
    skip_record_metadata: bool,
    explain: bool,
    offset: int | None,
) -> None:
    """Show the contents of a log's files, as kafka.tools.DumpLogSegments does.

    With --explain it says what each byte is. Nothing is written.
    """
    if offset is not None and not explain:
        raise click.UsageError("--offset needs --explain: the other lines are those of all offsets")
    if explain and (verify_index_only or index_sanity_check):
        raise click.UsageError("--explain shows a file; the two index checks show nothing of it")
    if not files:
        raise click.UsageError('Missing required argument "[files]"')
    contents = (
        print_data_log
        or offsets_decoder
        or transaction_log_decoder
        or key_decoder_class is not None
        or value_decoder_class is not None
    )
    options = DumpOptions(
        contents,
        deep_iteration or contents,
        verify_index_only,
        index_sanity_check,
        skip_record_metadata,
        max_message_size,
    )
    with _errors_as_messages():
        parser = _parser(
            key_decoder_class, value_decoder_class, offsets_decoder, transaction_log_decoder
        )
    dump = DumpLogSegments(options, parser)
    names = files.split(",")
    lines = _explained(options, contents, names, offset) if explain else _lines(dump, names)
    for line in _checked(lines):
        sys.stdout.write(line + "\n")
    sys.stdout.flush()
    for line in dump.errors():
        click.echo(line, err=True)
