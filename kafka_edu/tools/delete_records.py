"""Delete the records of partitions below given offsets (Kafka: kafka-delete-records.sh).

(Kafka: DeleteRecordsCommand.scala)
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.tools.json_files import (
    LONG_BITS,
    as_list,
    as_object,
    duplicates,
    integer_field,
    parse_version_1,
    partition_of,
)
from kafka_edu.tools.options import OptionParser, check_required
from kafka_edu.tools.tool import (
    ToolCommand,
    admin_operation,
    command_failed,
    java_class,
    properties_of,
    read_text_file,
    run_tool,
)

if TYPE_CHECKING:
    from kafka_edu.clients.admin.admin_call import Results

PURPOSE: Final = (
    "This tool helps to delete records of the given partitions down to the specified offset."
)


def parse_offsets(text: str) -> dict[TopicPartition, int]:
    """Parse the tool's JSON file into an offset for each partition. Raises ToolError.

    `{"partitions":[{"topic":"web","partition":0,"offset":5}],"version":1}`
    """
    document = parse_version_1(text)
    if "partitions" not in document:
        raise admin_operation("Missing partitions field")
    offsets = [
        (partition_of(entry), integer_field(entry, "offset", LONG_BITS))
        for entry in map(as_object, as_list(document["partitions"]))
    ]
    if twice := duplicates(tp for tp, _ in offsets):
        raise command_failed(
            "Offset json file contains duplicate topic partitions:"
            f" {','.join(sorted(map(str, twice)))}"
        )
    return dict(offsets)


async def delete_records(
    servers: str, properties: Mapping[str, str], offsets: Mapping[TopicPartition, int]
) -> "Results[TopicPartition, int]":
    """Let the leaders delete the records. Return each partition's new low watermark or its
    error.
    """
    from kafka_edu.tools.admin_client import open_admin

    async with open_admin(servers, properties) as admin:
        return await admin.delete_records(offsets)


def main(words: Sequence[str]) -> int:
    parser = OptionParser()
    bootstrap_server = parser.text(
        "bootstrap-server",
        "REQUIRED: The broker to ask first.",
        "server(s) to use for bootstrapping",
    )
    offset_file = parser.text(
        "offset-json-file",
        'REQUIRED: A file that says below which offset, as in\n{"partitions":\n  [{"topic": "foo",'
        ' "partition": 1, "offset": 1}],\n "version":1\n}',
        "Offset json file path",
    )
    command_config = parser.text(
        "command-config", "A file of the client's properties.", "command config property file path"
    )

    def run() -> int:
        given = parser.parse(words)
        check_required(given, bootstrap_server, offset_file)
        properties = properties_of(given, command_config)
        offsets = parse_offsets(read_text_file(given.one(offset_file)))
        print("Executing records delete operation", flush=True)
        results = asyncio.run(delete_records(given.one(bootstrap_server), properties, offsets))
        print("Records delete operation completed:")
        for tp in offsets:
            error = results.errors.get(tp)
            outcome = (
                f"low_watermark: {results[tp]}"
                if error is None
                else f"error: {java_class(error)}: {error.error.message}"
            )
            print(f"partition: {tp.topic}-{tp.partition}\t{outcome}")
        return 0

    return run_tool(parser, words, run, PURPOSE)


delete_records_command = ToolCommand("delete-records", main, PURPOSE)
