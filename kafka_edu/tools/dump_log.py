"""Show the contents of a log's files (Kafka: kafka.tools.DumpLogSegments).

The files are segments, indexes and producer snapshots.
"""

import sys
from collections.abc import Iterator

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
)


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
) -> None:
    """Show the contents of a log's files, as kafka.tools.DumpLogSegments does.

    The files are only read.
    """
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
    try:
        dump = DumpLogSegments(
            options,
            _parser(
                key_decoder_class, value_decoder_class, offsets_decoder, transaction_log_decoder
            ),
        )
        for line in _lines(dump, files.split(",")):
            sys.stdout.write(line + "\n")
    except (DumpError, CorruptIndexError) as error:
        raise click.ClickException(str(error)) from error
    except KafkaException as error:
        raise click.ClickException(error.message) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename} ({error.strerror})") from error
    sys.stdout.flush()
    for line in dump.errors():
        click.echo(line, err=True)
