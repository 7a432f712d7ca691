"""Show the contents of brokers' log directories (Kafka: kafka-log-dirs.sh).

(Kafka: LogDirsCommand.scala; KIP-113)
"""

import asyncio
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from kafka_edu.common.errors import KafkaException
from kafka_edu.tools.options import OptionParser, check_required, java_integer
from kafka_edu.tools.tool import ToolCommand, ToolError, java_class, run_tool

if TYPE_CHECKING:
    from kafka_edu.clients.admin.log_dir_calls import LogDirDescription

PURPOSE: Final = "This tool helps to query log directory usage on the specified brokers."
CLIENT_ID: Final = "log-dirs-tool"
#: How long the brokers may take to answer, in ms.
TIMEOUT_MS: Final = 30_000
#: The version number in the tool's JSON output. There is only this version.
FORMAT_VERSION: Final = 1


def parse_brokers(text: str) -> list[int]:
    """Parse broker ids such as `0,1,2`. Empty parts are ignored. Raises NumberError."""
    return [java_integer(word) for word in text.split(",") if word]


def described(path: str, found: "LogDirDescription", topics: Collection[str]) -> dict[str, object]:
    """Return one log directory in the form of the tool's JSON output.

    The result contains only partitions of `topics`, or all partitions if `topics` is empty.
    """
    error = java_class(KafkaException(found.error)) if found.error else None
    partitions = [
        {
            "partition": str(tp),
            "size": replica.size,
            "offsetLag": replica.offset_lag,
            "isFuture": replica.is_future,
        }
        for tp, replica in found.replicas.items()
        if not topics or tp.topic in topics
    ]
    return {"logDir": path, "error": error, "partitions": partitions}


def _unanswered(words: str) -> ToolError:
    return ToolError(
        "java.util.concurrent.ExecutionException",
        f"org.apache.kafka.common.errors.TimeoutException: {words}",
    )


async def _describe(servers: str, topics: Collection[str], wanted: list[int] | None) -> None:
    from kafka_edu.tools.admin_client import open_admin

    async with open_admin(servers, {}, CLIENT_ID) as admin:
        known = [node.id for node in (await admin.describe_cluster()).nodes]
        ids = known if wanted is None else wanted
        print("Querying brokers for log directories information", flush=True)
        if strangers := [broker_id for broker_id in ids if broker_id not in known]:
            raise _unanswered(
                f"broker {strangers[0]} is not in the cluster, which has"
                f" {','.join(map(str, known))}"
            )
        answers = await admin.describe_log_dirs(ids, timeout_ms=TIMEOUT_MS)
    for broker_id, failed in answers.errors.items():  # the broker is paused or has just ended
        raise _unanswered(f"broker {broker_id} does not answer: {failed.message}")
    print(f"Received log directory information from brokers {','.join(map(str, ids))}")
    described_brokers = [
        {
            "broker": broker_id,
            "logDirs": [
                described(path, found, topics) for path, found in answers[broker_id].items()
            ],
        }
        for broker_id in ids
    ]
    print(
        json.dumps(
            {"version": FORMAT_VERSION, "brokers": described_brokers},
            separators=(",", ":"),
            ensure_ascii=False,
        )
    )


def main(words: Sequence[str]) -> int:
    parser = OptionParser()
    bootstrap_server = parser.text(
        "bootstrap-server",
        "REQUIRED: The broker to ask first.",
        "The server(s) to use for bootstrapping",
    )
    describe = parser.flag("describe", "Show the log dirs of the brokers.")
    topic_list = parser.text(
        "topic-list",
        "Only these topics, as in topic1,topic2; all if it is empty.",
        "Topic list",
        default="",
    )
    broker_list = parser.text(
        "broker-list", "Only these brokers, as in 0,1,2; all if it is left out.", "Broker list"
    )

    def run() -> int:
        given = parser.parse(words)
        check_required(given, bootstrap_server, describe)
        brokers = given.value(broker_list)
        topics = set(filter(None, given.one(topic_list).split(",")))
        wanted = None if brokers is None else parse_brokers(brokers)
        asyncio.run(_describe(given.one(bootstrap_server), topics, wanted))
        return 0

    return run_tool(parser, words, run, PURPOSE)


log_dirs = ToolCommand("log-dirs", main, PURPOSE)
