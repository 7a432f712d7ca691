"""Delete the records of partitions below given offsets (Kafka: kafka-delete-records.sh).

(Kafka: DeleteRecordsCommand.scala)
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from kafka_edu.common.errors import Errors, KafkaException
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
    text_of,
)

PURPOSE: Final = (
    "This tool helps to delete records of the given partitions down to the specified offset."
)
_TIMEOUT_MS: Final = 30_000


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
    servers: str, client_id: str, offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int | Exception]:
    """Send a request to each partition's leader.

    Return each partition's new low watermark or error.
    """
    from kafka_edu.protocol.messages.delete_records import (
        DeleteRecordsPartition,
        DeleteRecordsRequest,
        DeleteRecordsResponse,
        DeleteRecordsTopic,
    )
    from kafka_edu.tools.tool import connect_brokers

    results: dict[TopicPartition, int | Exception] = {}
    async with connect_brokers(servers, client_id) as brokers:
        by_leader: defaultdict[int, list[TopicPartition]] = defaultdict(list)
        leaders = await brokers.leaders({tp.topic for tp in offsets})
        for tp in offsets:
            leader = leaders.get(tp, Errors.UNKNOWN_TOPIC_OR_PARTITION)
            if isinstance(leader, Errors):
                results[tp] = KafkaException(leader)
            else:
                by_leader[leader].append(tp)
        for leader_id, partitions in by_leader.items():
            topics: defaultdict[str, list[DeleteRecordsPartition]] = defaultdict(list)
            for tp in partitions:
                topics[tp.topic].append(
                    DeleteRecordsPartition(partition_index=tp.partition, offset=offsets[tp])
                )
            listed = [
                DeleteRecordsTopic(name=name, partitions=parts) for name, parts in topics.items()
            ]
            request = DeleteRecordsRequest(topics=listed, timeout_ms=_TIMEOUT_MS)
            answer = await brokers.ask(brokers.nodes[leader_id], request, DeleteRecordsResponse)
            for topic in answer.topics:
                for part in topic.partitions:
                    failed = KafkaException(Errors.of(part.error_code)) if part.error_code else None
                    results[TopicPartition(topic.name, part.partition_index)] = (
                        failed or part.low_watermark
                    )
    return results


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
        results = asyncio.run(
            delete_records(
                given.one(bootstrap_server), properties.get("client.id", "adminclient-1"), offsets
            )
        )
        print("Records delete operation completed:")
        for tp in offsets:
            result = results[tp]
            told = (
                f"error: {java_class(result)}: {text_of(result)}"
                if isinstance(result, Exception)
                else f"low_watermark: {result}"
            )
            print(f"partition: {tp.topic}-{tp.partition}\t{told}")
        return 0

    return run_tool(parser, words, run, PURPOSE)


delete_records_command = ToolCommand("delete-records", main, PURPOSE)
